"""Checks what a training recorded and left."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from mosaic_contracts.wire import (
    Artifact,
    ArtifactPruned,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Lifecycle,
    Record,
    Step,
)
from mosaic_workerkit.artifacts import inside_run, measure, read_manifest
from mosaic_workerkit.check_worker.report import Report
from mosaic_workerkit.check_worker.trial_run import TrialOutcome
from mosaic_workerkit.errors import ArtifactPathRefused

OF_EVENTS = [
    *("train.readable", "train.config_first", "train.config_whole", "train.contiguous"),
    *("train.one_terminal", "train.truth", "train.steps_in_order", "train.tells"),
    *("train.files", "train.manifest"),
]
_CONFIG_KEYS = ("algorithm", "environment", "arguments", "spaces", "record")


def check_events(
    outcome: TrialOutcome, report: Report, subject: str, families: Sequence[str] = ()
) -> None:
    """Check the events of a training that was left to its end.

    Args:
        families: the families of namespaced events that `describe` promised.
    """
    records = outcome.records
    if not report.rule("train.events", None if records or outcome.fault else "none", subject):
        report.skip(OF_EVENTS, "there are no events", subject)
        return
    report.rule("train.readable", outcome.fault, subject)
    report.rule("train.config_first", config_fault(records), subject)
    report.rule("train.config_whole", _config_gap(records), subject)
    report.rule("train.contiguous", seq_fault(records), subject)
    report.rule("train.one_terminal", terminal_fault(outcome), subject)
    report.rule("train.truth", truth_fault(outcome), subject)
    report.rule("train.steps_in_order", steps_fault(records), subject)
    report.rule("train.tells", missing_family_fault(records, families), subject)
    report.rule("train.files", next(_file_faults(outcome.run_dir, records), None), subject)
    report.rule("train.manifest", next(_manifest_faults(outcome.run_dir, records), None), subject)


def config_fault(records: list[Record]) -> str | None:
    """Return what is wrong with the position of the config event."""
    count = sum(isinstance(record, Config) for record in records)
    if count != 1:
        return f"there are {count} config events"
    if not isinstance(records[0], Config):
        return f"the first event is a {type(records[0]).__name__.lower()}"
    return None


def seq_fault(records: list[Record]) -> str | None:
    """Return where the seqs are not contiguous."""
    for place, record in enumerate(records, 1):
        if record.seq != place:
            return f"event number {place} has seq {record.seq}"
    return None


def terminal_fault(outcome: TrialOutcome) -> str | None:
    """Return what is wrong with the terminal lifecycle event."""
    if len(outcome.terminals) != 1:
        reported = ", ".join(outcome.terminals) or "none"
        return f"there are {len(outcome.terminals)} terminal events: {reported}"
    last = outcome.records[-1]
    if not (isinstance(last, Lifecycle) and last.phase == outcome.terminals[0]):
        return f"a {type(last).__name__.lower()} comes after the terminal {outcome.terminals[0]!r}"
    return None


def truth_fault(outcome: TrialOutcome) -> str | None:
    """Return how the reported end differs from the exit code."""
    end = outcome.exit
    if end is None or not outcome.terminals:
        return "one of the two is missing"
    reported = outcome.terminals[-1]
    if (reported == "error") == (end.code == 0):
        how = f"exit code {end.code}" if end.code is not None else f"signal {end.signal}"
        return f"the terminal event says {reported!r}, and it ended with {how}"
    return None


def steps_fault(records: list[Record]) -> str | None:
    """Return where steps and episodes contradict each other."""
    at: dict[int, tuple[int, int]] = {}
    for record in records:
        if isinstance(record, EpisodeStart):
            at[record.env] = (record.episode, 0)
        elif isinstance(record, Step):
            expected = at.get(record.env)
            if expected is None or expected[0] != record.episode:
                return f"a step of episode {record.episode} (env {record.env}) without its episode_start"
            if record.step != expected[1] + 1:
                return f"step {record.step} follows step {expected[1]} in episode {record.episode}"
            at[record.env] = (record.episode, record.step)
        elif isinstance(record, Episode):
            known = at.pop(record.env, None)
            if known is not None and known[0] == record.episode and known[1] != record.length:
                return f"episode {record.episode} has length {record.length} and {known[1]} steps"
    return None


def missing_family_fault(records: list[Record], families: Sequence[str]) -> str | None:
    """Return a promised family of namespaced events that was never recorded."""
    reported = {record.type.partition(".")[0] for record in records if isinstance(record, Extra)}
    missing = [family for family in families if family not in reported]
    return (
        f"`tells` names {', '.join(missing)}, and no such event was recorded" if missing else None
    )


def _config_gap(records: list[Record]) -> str | None:
    config = next((record for record in records if isinstance(record, Config)), None)
    if config is None:
        return "there is no config"
    missing = [key for key in _CONFIG_KEYS if key not in config.data]
    return f"it lacks {', '.join(missing)}" if missing else None


def _file_faults(run_dir: Path, records: list[Record]) -> Iterator[str]:
    last: dict[str, Checkpoint | Artifact] = {}
    for record in records:
        if isinstance(record, ArtifactPruned):
            last.pop(record.path, None)
        elif isinstance(record, Checkpoint | Artifact):
            last[record.path] = record
    for name, reported in last.items():
        try:
            size, digest = measure(run_dir, inside_run(run_dir, name))
        except ArtifactPathRefused as error:
            yield f"a file was announced that cannot be used: {error}"
            continue
        if reported.sha256 is not None and (size, digest) != (reported.bytes, reported.sha256):
            yield f"{name} is not what was announced ({reported.bytes} bytes then, {size} now)"


def _manifest_faults(run_dir: Path, records: list[Record]) -> Iterator[str]:
    try:
        listed = {str(entry["path"]) for entry in read_manifest(run_dir)}
    except (ValueError, KeyError, TypeError, OSError) as error:
        yield f"manifest.json cannot be read: {error}"
        return
    pruned = {record.path for record in records if isinstance(record, ArtifactPruned)}
    for name in sorted(listed - pruned):
        if not (run_dir / name).exists():
            yield f"manifest.json lists {name}, which does not exist"
    for record in records:
        if isinstance(record, Checkpoint | Artifact) and record.path not in listed | pruned:
            yield f"{record.path} was announced and is not in manifest.json"
