"""Sweeps in the terminal: reading a spec, following, tables, and files of an export."""

import csv
import io
import time
from collections.abc import Iterable, Sequence
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text
from ruamel.yaml import YAML

from mosaic_base.atomic import atomic_file
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.exit_code import code_of_state
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import did_you_mean
from mosaic_cli.spec_source import read_spec_file
from mosaic_cli.wording import number, one_line
from mosaic_client import Client
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SweepSpec, SweepView, TrialRecord, TrialState

if TYPE_CHECKING:
    from mosaic_client.light import RunFields
    from mosaic_client.run_view import Run

_LOOK_S = 1.0
_PAGE = 2_000
_DIGITS = 2
_REASON_CHARS = 240
"""Maximum length of a reason in a table; --json and an export have all of it."""
_STYLE = {
    TrialState.COMPLETE: "green",
    TrialState.RUNNING: "cyan",
    TrialState.FAILED: "red",
    TrialState.CRASHED: "red",
}


def read_sweep(path: Path) -> SweepSpec:
    """The sweep in a YAML or JSON file.

    Raises:
        FileProblem: it cannot be read.
        ValueRefused: it is no sweep; every wrong field is named.
    """
    fields = read_spec_file(
        path, "run: {worker: cleanrl, algorithm: ppo, environment: CartPole-v1}"
    )
    try:
        return SweepSpec.model_validate(fields)
    except ValidationError as error:
        words = []
        for found in error.errors():
            where = fault_place(found)
            hint = did_you_mean(where, SweepSpec.model_fields)
            is_unknown = found["type"] == "extra_forbidden"
            text = f"{fault_text(found)}. {hint if is_unknown else ''}".rstrip()
            words.append(f"{where}: {text}" if where else text)
        raise ValueRefused(f"{path} is no sweep.\n  " + "\n  ".join(words)) from error


def all_trials(client: Client, sweep_id: str) -> list[TrialRecord]:
    """The trials of a sweep by number."""
    found: dict[int, TrialRecord] = {}
    cursor, has_more = "", True
    while has_more:
        page = client.trials(sweep_id, cursor, _PAGE)
        found |= {trial.number: trial for trial in page.trials}
        cursor, has_more = page.cursor, page.has_more
    return [found[number] for number in sorted(found)]


def follow_sweep(client: Client, run: "Run", json: bool) -> None:
    """Show each trial as it ends, and the best at the end.

    Raises:
        typer.Exit: with the code of the sweep's end.
    """
    say(f"Sweep {run.run_id} ({one_line(run.name)}). Ctrl-C ends this, and the sweep goes on.")
    cursor = ""
    known: set[tuple[int, TrialState]] = set()
    try:
        while True:
            has_ended = run.state.is_final and not run.telemetry_pending
            page = client.trials(run.run_id, cursor, _PAGE)
            for trial in page.trials:
                if trial.state.is_final and (trial.number, trial.state) not in known:
                    known.add((trial.number, trial.state))
                    err.print(trial_line(trial), highlight=False, soft_wrap=True)
            cursor = page.cursor
            if has_ended and not page.has_more:
                break
            if not page.has_more:
                time.sleep(_LOOK_S)
            run = client.run(run.run_id)
    except KeyboardInterrupt:
        say(f"\nThe sweep goes on.\n  ./mosaic sweep show {run.run_id}")
        return
    view = client.sweep(run.run_id)
    if json:
        emit(view)
    else:
        print_sweep(run, view, [], 0)
    raise typer.Exit(code_of_state(run.state))


def trial_line(trial: TrialRecord) -> str:
    """`#3 complete 21.4  gamma=0.97 lr=0.001`."""
    reason = f"  {_reason(trial)}" if trial.reason else ""
    return f"#{trial.number} {trial.state} {_values(trial)}  {_parameters(trial)}{reason}"


def print_sweep(
    run: "RunFields | Run", view: SweepView, trials: Sequence[TrialRecord], limit: int
) -> None:
    """A sweep as text."""
    total = view.sweep.most_trials
    states = ", ".join(f"{found:,} {state}" for state, found in view.counts.items())
    out.print(f"{one_line(run.name)}  {view.run_id}", style="bold", highlight=False)
    out.print(f"{run.state}; {sum(view.counts.values()):,} of {total:,} trials: {states or 'none'}")
    objectives = ", ".join(f"{one.direction} {one.metric}" for one in view.sweep.objectives)
    out.print(f"{objectives}; {view.steps:,} steps", highlight=False)
    if run.end is not None:
        say(run.end.message)
        if run.state is RunState.FAILED and run.end.last_lines:
            say(one_line(run.end.last_lines[-1]))
    if trials:
        out.print()
        out.print(trials_table(trials[-limit:]))
        if len(trials) > limit:
            say(f"The last {limit} of {len(trials):,}; more with --limit.")
    if view.best:
        title = "Best" if len(view.best) == 1 else "Best: no other trial beats one of these in both"
        out.print(f"\n{title}", style="bold")
        for trial in view.best:
            out.print(f"  {trial_line(trial)}", highlight=False, soft_wrap=True)
        say(f"`./mosaic sweep best {view.run_id} --run` starts it with fresh seeds.")
    if view.importance is not None:
        out.print("\nImportance (fANOVA)", style="bold")
        shares = sorted(view.importance.importances.items(), key=lambda one: -one[1])
        for name, share in shares:
            out.print(f"  {name:<24} {share:6.1%}", highlight=False)


def trials_table(trials: Sequence[TrialRecord]) -> Table:
    """A row for each trial, with a column for each parameter."""
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    table = Table(box=None, pad_edge=False, header_style="dim")
    for heading in ("TRIAL", "STATE", "VALUE", *names, "STEPS", "RUNS", "REASON"):
        table.add_column(heading)
    for trial in trials:
        table.add_row(
            str(trial.number),
            Text(trial.state, _STYLE.get(trial.state, "yellow")),
            _values(trial),
            *(_shown(trial.parameters.get(name)) for name in names),
            f"{trial.steps:,}",
            str(len(trial.runs)),
            _reason(trial),
        )
    return table


def best_specs(spec: RunSpec, view: SweepView, seeds: int, first_seed: int) -> Iterable[RunSpec]:
    """Runs of a spec in every environment of the sweep, each with seeds that the sweep does not use."""
    used = {*view.sweep.seeds, spec.seed}
    fresh = list(islice((seed for seed in count(first_seed) if seed not in used), seeds))
    for environment in view.sweep.environments or [spec.environment]:
        for seed in fresh:
            changes = {"environment": environment, "seed": seed, "parent": view.run_id}
            name = f"{spec.name} seed {seed}"[:200] if spec.name else None
            yield RunSpec.model_validate(
                {**spec.model_dump(exclude_unset=True), **changes, "name": name}
            )


def yaml_of(spec: RunSpec) -> str:
    """The fields of a spec that were set, as YAML."""
    text = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # ruamel's own type is too narrow
    yaml.dump(spec.model_dump(mode="json", exclude_defaults=True), text)
    return text.getvalue()


def write_export(client: Client, sweep_id: str, folder: Path) -> list[Path]:
    """Write trials, the best spec and the study to a folder. Return the files.

    Raises:
        FileProblem: the folder cannot be written.
        ClientError: the stack does not answer, or the sweep has no study yet.
    """
    trials = all_trials(client, sweep_id)
    view = client.sweep(sweep_id)
    texts = {"trials.csv": _csv(trials), "trials.json": _json(view, trials)}
    if view.best:
        texts["best.yaml"] = yaml_of(client.best_of_sweep(sweep_id))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            with atomic_file(folder / name) as draft:
                draft.write_text(text, "utf-8")
        client.download_study(sweep_id, folder / "study.db")
    except OSError as error:
        raise FileProblem(f"{folder} cannot be written ({error.strerror}).") from error
    return [*(folder / name for name in texts), folder / "study.db"]


def _csv(trials: Sequence[TrialRecord]) -> str:
    names = list(dict.fromkeys(name for trial in trials for name in trial.parameters))
    values = max((len(trial.values or ()) for trial in trials), default=1)
    text = io.StringIO()
    writer = csv.writer(text)
    heads = [f"value_{place}" for place in range(max(values, 1))]
    fixed = ["number", "state", *heads, "steps", "started", "ended", "reason", "runs"]
    writer.writerow([*fixed, *(f"parameter_{name}" for name in names)])
    for trial in trials:
        of_trial = [*(trial.values or ()), *[""] * len(heads)][: len(heads)]
        writer.writerow(
            [
                *(trial.number, trial.state.value, *of_trial, trial.steps, trial.started),
                *("" if trial.ended is None else trial.ended, trial.reason),
                " ".join(trial.runs.values()),
                *(trial.parameters.get(name, "") for name in names),
            ]
        )
    return text.getvalue()


def _json(view: SweepView, trials: Sequence[TrialRecord]) -> str:
    from mosaic_cli.output import json_line

    return json_line(
        {**view.model_dump(mode="json"), "trials": [one.model_dump(mode="json") for one in trials]}
    )


def _values(trial: TrialRecord) -> str:
    return ", ".join(number(value, _DIGITS) for value in trial.values or ()) or "-"


def _reason(trial: TrialRecord) -> str:
    reason = one_line(trial.reason)
    return reason if len(reason) <= _REASON_CHARS else f"{reason[: _REASON_CHARS - 1]}…"


def _parameters(trial: TrialRecord) -> str:
    return " ".join(f"{name}={_shown(value)}" for name, value in trial.parameters.items())


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "-" if value is None else one_line(str(value))
