"""`run` and `check`: ask for a run, or only for its plan."""

from typing import Annotated, Any

import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.exit_code import ExitCode, code_of_state
from mosaic_cli.follow import follow_run
from mosaic_cli.output import emit, err, out, plain, say
from mosaic_cli.reference import nearest_hint, parse_duration, parse_parameters
from mosaic_cli.stack.layout import Layout
from mosaic_cli.summary import print_summary, run_result
from mosaic_client import Client, connect
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.worker import CheckReport

LEVEL_STYLE = {"ok": "green", "warning": "yellow", "blocking": "red"}

Worker = Annotated[str, typer.Argument(help="Id of a worker, e.g. cleanrl (`./mosaic describe`).")]
Algorithm = Annotated[str, typer.Argument(help="One of its algorithms, e.g. ppo.")]
Environment = Annotated[str, typer.Argument(help="Environment id, e.g. CartPole-v1.")]
Seed = Annotated[int | None, typer.Option("--seed", "-s", help="Seed; default 1.")]
Steps = Annotated[
    int | None, typer.Option("--steps", help="Environment steps; default: the algorithm's.")
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param", "-p", metavar="KEY=VALUE", help="An argument of the algorithm; may be repeated."
    ),
]
Record = Annotated[
    RecordLevel | None,
    typer.Option(
        "--record",
        help="How much is kept. metrics: curves only; episodes: and each episode's return and length; replay "
        "(default): and every step's action, reward and hash, so that episodes can be replayed; full: and every "
        "observation. Configuration, checkpoints and the log are always kept.",
    ),
]
WallTime = Annotated[
    str | None,
    typer.Option("--wall-time", metavar="TIME", help="Stop after this long, e.g. 30m or 2h."),
]
Name = Annotated[str | None, typer.Option("--name", help="Display name.")]
Cpus = Annotated[int | None, typer.Option("--cpus", help="Cores to reserve; default 1.")]


def run(
    worker: Worker,
    algorithm: Algorithm,
    environment: Environment,
    seed: Seed = None,
    steps: Steps = None,
    param: Parameters = None,
    record: Record = None,
    wall_time: WallTime = None,
    name: Name = None,
    cpus: Cpus = None,
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Print the id and return.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, start nothing.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Start a run and follow it.

    Ctrl-C detaches: the run goes on, and the exit code is 0.
    """
    spec = make_spec(
        worker, algorithm, environment, seed=seed, steps=steps, param=param, record=record,
        wall_time=wall_time, name=name, cpus=cpus,
    )  # fmt: skip
    with connect() as client:
        if dry_run:
            _check(client, spec, json)
            return
        view = client.submit(spec)
        if detach:
            emit(view) if json else out.print(view.run_id)
            return
        _follow(client, view, json)


def check(
    worker: Worker,
    algorithm: Algorithm,
    environment: Environment,
    seed: Seed = None,
    steps: Steps = None,
    param: Parameters = None,
    record: Record = None,
    wall_time: WallTime = None,
    name: Name = None,
    cpus: Cpus = None,
    json: option.Json = False,
) -> None:
    """Show what `run` would start and what is missing; starts nothing."""
    spec = make_spec(
        worker, algorithm, environment, seed=seed, steps=steps, param=param, record=record,
        wall_time=wall_time, name=name, cpus=cpus,
    )  # fmt: skip
    with connect() as client:
        _check(client, spec, json)


def make_spec(
    worker: str,
    algorithm: str,
    environment: str,
    *,
    param: list[str] | None = None,
    wall_time: str | None = None,
    **given: Any,
) -> RunSpec:
    """The spec of a command line; options that were not given are left to the defaults.

    Raises:
        ValueRefused: a value that no spec may have.
    """
    fields: dict[str, Any] = {"worker": worker, "algorithm": algorithm, "environment": environment}
    fields |= {key: value for key, value in given.items() if value is not None}
    if param:
        fields["parameters"] = parse_parameters(param)
    if wall_time is not None:
        fields["wall_time_s"] = parse_duration(wall_time)
    try:
        return RunSpec(**fields)
    except ValidationError as error:
        words = [
            f"{'.'.join(map(str, e['loc']))}: {e['msg']} (given: {e['input']!r})"
            for e in error.errors()
        ]
        raise ValueRefused("This cannot be run. " + "; ".join(words)) from error


def _follow(client: Client, run: RunView, json: bool) -> None:
    say(f"Run {run.run_id} ({run.name}). Ctrl-C detaches from it.")
    try:
        run = follow_run(client, run, err)
    except KeyboardInterrupt:
        say(
            f"\nDetached; the run goes on.\n  ./mosaic show {run.run_id}   how it is\n"
            f"  ./mosaic logs -f {run.run_id}   follow it again\n  ./mosaic stop {run.run_id}   stop it"
        )
        if json:
            emit(run_result(client.run(run.run_id)))
        return
    if json:
        emit(run_result(run))
    else:
        print_summary(out, run, client.artifacts(run.run_id), Layout.of_environment().home)
    raise typer.Exit(code_of_state(run.state))


def _check(client: Client, spec: RunSpec, json: bool) -> None:
    report = client.check(spec)
    if json:
        emit(report)
    else:
        _print_report(report)
    raise typer.Exit(ExitCode.DONE if report.ok else ExitCode.RUN_FAILED)


def _print_report(report: CheckReport) -> None:
    findings = Table(box=None, pad_edge=False, show_header=False)
    # of a plan that is refused only what stands in its way is of use
    shown = [f for f in report.findings if report.ok or f.level != "ok"]
    for finding in shown:
        hint = nearest_hint(finding.nearest, finding.message)
        findings.add_row(
            Text(finding.level, LEVEL_STYLE[finding.level]),
            Text(finding.where),
            Text(finding.message + hint),
        )
    out.print(findings)
    if report.plan and report.ok:
        out.print("\nPlan:")
        plan = Table.grid(padding=(0, 2))
        plan.add_column(style="dim")
        plan.add_column(overflow="fold")
        for key, value in report.plan.items():
            for inner, text in _flat(key, plain(value)):
                plan.add_row(Text(inner), Text(text))
        out.print(plan)
    out.print(
        "Nothing was started."
        if report.ok
        else "[red]It cannot be run like this.[/red] Change what is blocking, and check again."
    )


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(f"{key}.{name}", str(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [(key, " ".join(map(str, value)))]
    return [(key, str(value))]
