"""`run`, `check` and `preflight`: ask for a run, only for its plan, or whether it would start now."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, plain, say
from mosaic_cli.reference import nearest_hint
from mosaic_cli.spec_options import Algorithm, Environment, SpecFile, SpecOptions, Worker
from mosaic_cli.stack.layout import Layout
from mosaic_cli.target import open_client
from mosaic_cli.verbs.following import accompany
from mosaic_cli.wording import LEVEL_STYLE

if TYPE_CHECKING:
    from mosaic_cli.run_axes import RunAxes
    from mosaic_client import Client
    from mosaic_contracts.preflight import PreflightReport
    from mosaic_contracts.spec import RunSpec
    from mosaic_contracts.worker import CheckReport

NOTHING_STARTED = "Nothing was started."
REFUSED = Text.assemble(
    ("It cannot be run like this.", "red"), " Change what is blocking, and check again."
)

WOULD_NOT_START = Text.assemble(
    ("It would not start now.", "red"),
    " Each blocking line says what to do.",
)


def run(
    options: SpecOptions,
    worker: Worker = None,
    algorithm: Algorithm = None,
    environment: Environment = None,
    file: SpecFile = None,
    detach: option.Detach = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan, start nothing.")
    ] = False,
    from_rl_zoo: option.FromZoo = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- ARGUMENT...]",
            help="Arguments of a script of your own, given in WORKER's place.",
        ),
    ] = None,
    python: Annotated[
        Path | None,
        typer.Option(
            "--python",
            metavar="PATH",
            help="Interpreter of a script of your own; default: the shell's `python`.",
        ),
    ] = None,
    env_var: Annotated[
        list[str] | None,
        typer.Option(
            "--env-var",
            metavar="NAME=VALUE",
            help="An environment variable for a script of your own; NAME alone takes the value "
            "of your shell; may be repeated.",
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", "-y", help="Do not ask before a script of your own runs the first time."
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """Start a run and follow it: WORKER ALGORITHM ENVIRONMENT, or -f SPEC.yaml with further options.

    A training script of your own takes the place of the three: `./mosaic run ./train.py -- --env-id CartPole-v1`, and
    `./mosaic run script -- torchrun train.py` runs any command line. It runs unchanged, in your environment.

    Several seeds, environments or values of parameters start a group: one run for each combination, all or none.
    Ctrl-C detaches: the run goes on, and the exit code is 0.
    """
    from mosaic_cli.own_script import own_command, with_consent
    from mosaic_cli.spec_source import make_spec, spec_fields, with_algorithm

    axes = options.axes()
    command = own_command([worker, algorithm, environment, *(words or [])], python, env_var or [])
    if command is not None:
        worker = algorithm = environment = None
    elif env_var:
        raise ValueRefused("--env-var is for a script of your own, given in WORKER's place.")
    elif words:
        raise ValueRefused(f"`{words[0]}` is one word too many after WORKER ALGORITHM ENVIRONMENT.")
    environments = _environments(environment)
    first = environments[0] if environments else environment
    own = command.fields() if command is not None else {}
    fields = spec_fields(file, worker, algorithm, first, options, axes, own)
    with open_client() as client:
        fields = with_algorithm(client, fields)
        algorithm = str(fields["algorithm"])
        if axes.texts:
            described = client.worker(str(fields["worker"])).description
            axes = axes.with_texts(described, algorithm)
            fields = spec_fields(file, worker, algorithm, first, options, axes, own)
        if from_rl_zoo is not None:
            from mosaic_cli.rl_zoo import with_zoo, zoo_entry

            fields = with_zoo(fields, zoo_entry(client, from_rl_zoo, fields))
        spec, report = make_spec(client, fields), None
        if command is not None and spec.consent is None and not dry_run:
            report = client.check(spec)
            _refuse_blocked(report)
            agreed = Layout.of_environment().agreed_scripts
            spec = with_consent(client, spec, command, agreed, yes=yes)
        if not axes.is_one or len(environments) > 1:
            _run_group(client, spec, axes, environments, dry_run, detach, json)
            return
        if report is None:  # a check starts the worker
            report = client.check(spec)
            if dry_run:
                _check(report, json)
            _refuse_blocked(report)
        accompany(client, client.submit(spec), detach, json)


def _environments(text: str | None) -> list[str]:
    """Several environments, separated by commas; empty: none or one was named."""
    names = [name.strip() for name in (text or "").split(",")]
    return [name for name in names if name] if len(names) > 1 else []


def _run_group(
    client: "Client",
    spec: "RunSpec",
    axes: "RunAxes",
    environments: list[str],
    dry_run: bool,
    detach: bool,
    json: bool,
) -> None:
    from pydantic import ValidationError

    from mosaic_cli.grouping import follow_group, print_names, print_plan
    from mosaic_contracts.fault import fault_text
    from mosaic_contracts.groups import GroupSpec

    run = spec.model_dump(mode="json", exclude_unset=True)
    try:
        group = GroupSpec(
            run={name: value for name, value in run.items() if name != "name"},
            seeds=axes.seeds if len(axes.seeds) > 1 else [],
            environments=environments,
            parameters=axes.parameters,
            name=spec.name,
        )
    except ValidationError as error:
        words = "; ".join(fault_text(found) for found in error.errors())
        raise ValueRefused(f"These runs cannot be started: {words}.") from error
    plan = client.check_group(group)
    if dry_run and json:
        emit(plan)
        raise typer.Exit(ExitCode.DONE if plan.ok else ExitCode.RUN_FAILED)
    print_plan(plan)
    if dry_run:
        print_names(plan)
        say(NOTHING_STARTED)
        return
    view = client.start_group(group)
    if not detach:
        follow_group(client, view, json)
    emit(view) if json else out.print(view.group_id)
    if err.is_terminal:
        say(f"  ./mosaic ps --group {view.group_id}   how its runs are")


def check(
    options: SpecOptions,
    worker: Worker = None,
    algorithm: Algorithm = None,
    environment: Environment = None,
    file: SpecFile = None,
    json: option.Json = False,
) -> None:
    """Show what `run` would start and what is missing; starts nothing."""
    from mosaic_cli.spec_source import make_spec, spec_fields

    fields = spec_fields(file, worker, algorithm, environment, options)
    with open_client() as client:
        _check(client.check(make_spec(client, fields)), json)


def preflight(
    options: SpecOptions,
    worker: Worker = None,
    algorithm: Algorithm = None,
    environment: Environment = None,
    file: SpecFile = None,
    json: option.Json = False,
) -> None:
    """Show whether a run would start now, line by line: worker, plan, cores, disk, broker, secrets, consent.

    Exit code 1 when a line is blocking. To agree to what a run needs outside this machine, start it with
    `--consent` and the digest printed here.
    """
    from mosaic_cli.spec_source import make_spec, spec_fields

    fields = spec_fields(file, worker, algorithm, environment, options)
    with open_client() as client:
        report = client.preflight(make_spec(client, fields))
    emit(report) if json else _print_preflight(report)
    raise typer.Exit(ExitCode.DONE if report.ok else ExitCode.RUN_FAILED)


def _refuse_blocked(report: "CheckReport") -> None:
    """Show a plan that its worker refuses before anything is started, as a spec that is refused."""
    words = [
        f"{finding.where}: {finding.message}{nearest_hint(finding.nearest, finding.message)}"
        for finding in report.findings
        if finding.level == "blocking"
    ]
    if not report.ok:
        raise ValueRefused("This cannot be run. " + "\n  ".join(words))


def _check(report: "CheckReport", json: bool) -> NoReturn:
    emit(report) if json else _print_report(report)
    raise typer.Exit(ExitCode.DONE if report.ok else ExitCode.RUN_FAILED)


def _print_report(report: "CheckReport") -> None:
    findings = Table(box=None, pad_edge=False, show_header=False)
    # of a plan that is refused only what blocks it is of use
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
    out.print(NOTHING_STARTED if report.ok else REFUSED)


def _print_preflight(report: "PreflightReport") -> None:
    lines = Table(box=None, pad_edge=False, show_header=False)
    for line in report.lines:
        words = Text(line.message + nearest_hint(line.nearest, line.message))
        if line.todo:
            words.append(f"\n{line.todo}", "bold")
        lines.add_row(Text(line.level, LEVEL_STYLE[line.level]), Text(line.title), words)
    out.print(lines)
    if report.needs:
        out.print("\nIt needs your consent to:")
        for need in report.needs:
            out.print(f"  {need}")
        out.print(f"Agree by starting it with --consent {report.digest}", soft_wrap=True)
    out.print(f"It would start. {NOTHING_STARTED}" if report.ok else WOULD_NOT_START)


def _flat(key: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [(f"{key}.{name}", str(item)) for name, item in value.items()]
    if isinstance(value, list):
        return [(key, " ".join(map(str, value)))]
    return [(key, str(value))]
