"""`sweep`: search for good parameters, and look at, stop, resume and export a search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import LAST, find_run
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.verbs.runs import runs_table
from mosaic_client import reading
from mosaic_contracts.choices import RunKind

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_client.light import RunFields
    from mosaic_contracts.worker import CheckReport

_SWEEP_HELP = "A sweep's id, the beginning of one, its name, or `last` (default)."
OneSweep = Annotated[str, typer.Argument(metavar="[SWEEP]", help=_SWEEP_HELP, show_default=False)]
Follow = Annotated[
    bool, typer.Option("--follow", "-f", help="Show each trial as it ends, and the best.")
]
_FIRST_FRESH_SEED = 1_000
"""Seeds from here on are fresh, where the sweep itself does not use them."""


def sweep() -> None:
    """Search for good parameters with Optuna: `./mosaic sweep SPEC.yaml`, or one of the verbs below.

    SPEC.yaml has the fields of a SweepSpec: `run`, `parameters`, `objectives`, `budget` and so on. Each trial is a run
    of its own, whose parent is the sweep.
    """


def start_sweep(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="YAML or JSON; `-` is stdin.", show_default=False),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be started, start nothing.")
    ] = False,
    follow: Follow = False,
    from_rl_zoo: option.FromZoo = None,
    json: option.Json = False,
) -> None:
    """Start a sweep. The word `start` may be left out.

    Ctrl-C ends --follow; the sweep goes on.
    """
    from mosaic_cli.sweeping import follow_sweep, read_sweep

    asked = read_sweep(file)
    with open_client() as client:
        if from_rl_zoo is not None:
            from mosaic_cli.rl_zoo import sweep_with_zoo, zoo_entry

            asked = sweep_with_zoo(asked, zoo_entry(client, from_rl_zoo, asked.run))
        report = client.check_sweep(asked)
        if dry_run or not report.ok:
            _show_check(report, json and dry_run)
        made = client.start_sweep(asked)
        if not follow:
            emit(made) if json else out.print(made.run_id)
            if err.is_terminal:
                say(f"  ./mosaic sweep show {made.run_id}   its trials and the best")
            return
        follow_sweep(client, made, json)


def _show_check(report: "CheckReport", json: bool) -> None:
    if json:
        emit(report)
    elif report.ok:
        counts = {name: value for name, value in report.plan.items() if isinstance(value, int)}
        for name, value in counts.items():
            out.print(f"{name.replace('_', ' '):<16} {value:,}")
        say("Nothing was started.")
    else:
        words = [f"{one.where}: {one.message}" for one in report.findings if one.level != "ok"]
        raise ValueRefused("This cannot be searched. " + "\n  ".join(words))
    raise typer.Exit(ExitCode.DONE if report.ok else ExitCode.RUN_FAILED)


def list_sweeps(limit: option.Limit = 20, json: option.Json = False) -> None:
    """List sweeps, newest first; STEPS counts their trials."""
    with open_stack() as stack:
        asked = reading.each_run(stack, page=limit, kind=[RunKind.SWEEP.value])
        found = [run for run, _ in zip(asked, range(limit), strict=False)]
        now = stack.now()
    if json:
        emit(found)
    elif found:
        out.print(runs_table(found, now))
    else:
        say("No sweep yet. `./mosaic sweep SPEC.yaml` starts one.")


def show_sweep(
    sweep: OneSweep = LAST,
    limit: option.Limit = 20,
    follow: Follow = False,
    json: option.Json = False,
) -> None:
    """Show a sweep: its trials by state, the newest of them, the best, and how much each parameter matters.

    --json prints a SweepView with all trials.
    """
    from mosaic_cli.sweeping import all_trials, follow_sweep, print_sweep

    with open_client() as client:
        run = _find(client, sweep)
        if follow:
            follow_sweep(client, client.run(run.run_id), json)
            return
        view = client.sweep(run.run_id)
        trials = all_trials(client, run.run_id)
        if json:
            emit({**view.model_dump(mode="json"), "trials": trials})
        else:
            print_sweep(run, view, trials, limit)


def best(
    sweep: OneSweep = LAST,
    trial: Annotated[
        int | None, typer.Option("--trial", min=0, metavar="N", help="Another trial.")
    ] = None,
    run: Annotated[
        bool, typer.Option("--run", help="Start runs with it, each with a fresh seed.")
    ] = False,
    seeds: Annotated[
        int, typer.Option("--seeds", "-n", min=1, help="Number of runs for --run.")
    ] = 5,
    json: option.Json = False,
) -> None:
    """Print the spec of the best trial as YAML, for `./mosaic run -f FILE`; with --run start it.

    A fresh seed is one that the sweep has not used: results with the sweep's own seeds are too good.
    """
    from mosaic_cli.sweeping import best_specs, yaml_of

    with open_client() as client:
        found = _find(client, sweep)
        spec = client.best_of_sweep(found.run_id, trial)
        if run:
            specs = best_specs(spec, client.sweep(found.run_id), seeds, _FIRST_FRESH_SEED)
            started = [client.submit(one) for one in specs]
            if json:
                emit(started)
            for view in started if not json else ():
                out.print(view.run_id)
            return
    if json:
        emit(spec)
    else:
        out.print(yaml_of(spec), markup=False, highlight=False, soft_wrap=True, end="")


def stop_sweep(
    sweep: OneSweep = LAST,
    let_finish: Annotated[
        bool, typer.Option("--let-finish", help="Let running trials finish.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Stop a sweep and its trials; `./mosaic sweep resume` goes on with it later."""
    with open_client() as client:
        view = client.stop_sweep(_find(client, sweep).run_id, let_finish=let_finish)
    if json:
        emit(view)
    elif view.state.is_final:
        say(f"{view.run_id} has ended already ({view.state}).")
    else:
        say(f"{view.run_id} starts no more trials." if let_finish else f"Stopping {view.run_id}.")


def resume_sweep(
    sweep: OneSweep = LAST,
    trials: Annotated[
        int | None,
        typer.Option("--trials", min=1, help="Another number of trials, earlier ones included."),
    ] = None,
    parallel: Annotated[
        int | None, typer.Option("--parallel", min=1, help="Maximum number of trials at once.")
    ] = None,
    follow: Follow = False,
    json: option.Json = False,
) -> None:
    """Go on with a sweep that has ended, as a new run that takes over its study and trials."""
    from mosaic_cli.sweeping import follow_sweep

    with open_client() as client:
        found = _find(client, sweep)
        budget = None
        if trials is not None:
            budget = client.sweep(found.run_id).sweep.budget.model_copy(update={"trials": trials})
        made = client.resume_sweep(found.run_id, budget=budget, parallel=parallel)
        if follow:
            follow_sweep(client, made, json)
        else:
            emit(made) if json else out.print(made.run_id)


def export_sweep(
    sweep: OneSweep = LAST,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FOLDER", help="Folder to write; default: `sweep-ID`."),
    ] = None,
) -> None:
    """Write a sweep to a folder: trials.csv, trials.json, best.yaml and study.db.

    `optuna-dashboard sqlite:///FOLDER/study.db` shows the study.
    """
    from mosaic_cli.sweeping import write_export

    with open_client() as client:
        found = _find(client, sweep)
        folder = to or Path(f"sweep-{found.run_id}")
        written = write_export(client, found.run_id, folder)
    for path in written:
        out.print(str(path), soft_wrap=True)


def _find(client: "Client", text: str) -> "RunFields":
    """The sweep that a person names; `last` is the newest one.

    Raises:
        RunNotFound: there is none.
        ValueRefused: the run is no sweep.
    """
    from mosaic_cli.errors import RunNotFound

    if text.lower() == LAST:
        newest = next(reading.each_run(client, page=1, kind=[RunKind.SWEEP.value]), None)
        if newest is None:
            raise RunNotFound("There is no sweep yet. `./mosaic sweep SPEC.yaml` starts one.")
        return newest
    found = find_run(client, text)
    if found.spec.kind != RunKind.SWEEP:
        raise ValueRefused(f"{found.run_id} is no sweep. `./mosaic sweep list` lists the sweeps.")
    return found
