"""Texts about a checkpoint: its card, its facts, what can be done with it, and commands for the terminal."""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from mosaic_contracts.checkpoint_words import RECENT_EPISODES, CheckpointMark, CheckpointState
from mosaic_contracts.checkpoints import CheckpointEvaluation, CheckpointRow
from mosaic_contracts.file_names import checkpoint_zip_name
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state import wording
from mosaic_gui.state.checkpoint_list import address_of
from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.state.run_files import start_parameter

EVALUATED_EPISODES, EVALUATED_SEED = 20, 1
"""Episodes of an evaluation, and seed of the first one; each next one has the next. As on the command line."""
_FOLDER = "checkpoints/"
_MARKS = {
    CheckpointMark.BEST: (mark("Best"), "ok"),
    CheckpointMark.NEWEST: (mark("Newest"), "accent"),
}
_STATES = {
    CheckpointState.MISSING: (mark("Missing"), "bad"),
    CheckpointState.ALTERED: (mark("Altered"), "bad"),
    CheckpointState.PRUNED: (mark("Pruned"), "neutral"),
}
_REASONS = {
    "periodic": mark("saved at an interval"),
    "best": mark("best mean return so far"),
    "stop": mark("saved at a stop"),
    "final": mark("saved at the end"),
    "imported": mark("imported"),
}


@dataclass(frozen=True)
class CheckedFile:
    """What a comparison of a file's hash has found."""

    state: CheckpointState
    sha256: str | None
    at: datetime


class Tag(NamedTuple):
    """A word in a tone of the theme."""

    word: str
    tone: str


def state_of(row: CheckpointRow, checked: CheckedFile | None) -> CheckpointState:
    """The state of a file: as it is listed, unless its hash says more."""
    if is_current(row, checked) and checked is not None:
        return checked.state
    return row.state


def is_current(row: CheckpointRow, checked: CheckedFile | None) -> bool:
    """Whether a comparison still says something of this file: it is there, and was not replaced since."""
    present = row.state is CheckpointState.PRESENT
    return checked is not None and checked.sha256 == row.sha256 and present


def tags(row: CheckpointRow, checked: CheckedFile | None) -> list[Tag]:
    """Marks of a card: best, newest, and what is wrong with its file."""
    found = [Tag(tr_mark(word), tone) for one, (word, tone) in _MARKS.items() if one in row.marks]
    state = state_of(row, checked)
    if state in _STATES:
        word, tone = _STATES[state]
        found.append(Tag(tr_mark(word), tone))
    return found


def integrity(row: CheckpointRow, checked: CheckedFile | None) -> tuple[str, str]:
    """What is known of the file, and its tone."""
    match state_of(row, checked):
        case CheckpointState.MISSING:
            return tr("Missing: the file is gone, and nothing says why."), "bad"
        case CheckpointState.PRUNED:
            return tr("Pruned: its run deleted the file."), "neutral"
        case CheckpointState.ALTERED if is_current(row, checked):
            return tr("Altered: its hash is not the recorded one."), "bad"
        case CheckpointState.ALTERED:
            return tr("Altered: its size is not the recorded one."), "bad"
    if checked is not None and is_current(row, checked):
        when = wording.clock(checked.at.timestamp())
        return tr("Verified at {time}: its hash is the recorded one.", time=when), "ok"
    if row.sha256 is None:
        return tr("Its run recorded no hash."), "neutral"
    return tr("There, with the recorded size. Its hash was not checked."), "neutral"


def file_name(row: CheckpointRow) -> str:
    """The path without the folder that most have."""
    return row.path.removeprefix(_FOLDER)


def export_name(row: CheckpointRow) -> str:
    """Name of the zip that an export writes."""
    return checkpoint_zip_name(row.run_name, row.run_id, row.path)


def step_text(row: CheckpointRow) -> str:
    """At which step it was saved, else the file's name."""
    if row.step is None:
        return file_name(row)
    return tr("step {n}", n=wording.count(row.step))


def return_text(row: CheckpointRow) -> str:
    """Mean return of the last episodes before it."""
    return wording.NOTHING if row.mean_return_20 is None else wording.number(row.mean_return_20)


def return_label(row: CheckpointRow) -> str:
    """What that mean is of."""
    if row.mean_return_20 is None:
        return tr("no return recorded")
    n = row.mean_return_episodes
    return tr("mean of {n}", n=RECENT_EPISODES if n is None else n)


def evaluation_text(evaluation: CheckpointEvaluation | None) -> str:
    """`445.2 ± 7.6`; empty: it was not evaluated."""
    if evaluation is None:
        return ""
    mean = wording.number(evaluation.mean)
    error = evaluation.standard_error
    return mean if error is None else f"{mean} ± {wording.number(error, 2)}"


def evaluation_details(evaluation: CheckpointEvaluation) -> str:
    """The same with the number of episodes and how the policy acted."""
    acted = {True: tr("greedy"), False: tr("sampled"), None: ""}[evaluation.greedy]
    words = tr(
        "{result} in {n} episodes", result=evaluation_text(evaluation), n=evaluation.episodes
    )
    return f"{words}, {acted}" if acted else words


def saved_at(row: CheckpointRow) -> datetime | None:
    """When it was saved."""
    return None if row.t is None else datetime.fromtimestamp(row.t, UTC)


def card_foot(row: CheckpointRow, now: datetime) -> str:
    """Size, date and normaliser in one line."""
    parts = [wording.bytes_text(row.bytes)]
    if (saved := saved_at(row)) is not None:
        parts.append(wording.ago(saved, now))
    if row.normalizer:
        parts.append(tr("normaliser"))
    return " · ".join(parts)


def card_text(row: CheckpointRow, checked: CheckedFile | None) -> str:
    """A card in one sentence, for screen readers."""
    parts = [
        f"{row.algorithm} {row.environment}",
        step_text(row),
        f"{return_label(row)} {return_text(row)}",
        *(tag.word for tag in tags(row, checked)),
        row.run_name,
    ]
    return ", ".join(parts)


def card_tip(row: CheckpointRow) -> str:
    """The tool tip of a card."""
    return f"{row.run_name}\n{row.run_id}/{row.path}"


def facts(row: CheckpointRow) -> list[tuple[str, str]]:
    """Everything that is known of a checkpoint, by label; what its run did not record is unknown."""
    unknown = tr("unknown")
    saved = saved_at(row)
    mean = return_text(row) if row.mean_return_20 is not None else unknown
    count = row.mean_return_episodes
    evaluation = row.evaluation
    reason = row.reason or ""
    normalizer = {True: tr("in the file"), False: tr("none")}.get(row.normalizer, unknown)  # type: ignore[arg-type]
    built = row.image or row.worker_lock
    return [
        (tr("Run"), row.run_name),
        (tr("File"), row.path),
        (tr("Step"), unknown if row.step is None else wording.count(row.step)),
        (tr("Mean of {n}", n=RECENT_EPISODES if count is None else count), mean),
        (tr("Evaluated"), tr("not yet") if evaluation is None else evaluation_details(evaluation)),
        (tr("Normaliser"), normalizer),
        (tr("Size"), wording.bytes_text(row.bytes)),
        (tr("Saved"), unknown if saved is None else wording.moment(saved)),
        (tr("Reason"), tr_mark(_REASONS[reason]) if reason in _REASONS else reason or unknown),
        (tr("Worker"), " ".join(filter(None, (row.worker, row.worker_version)))),
        (tr("Image") if row.image else tr("Lock"), built or unknown),
        (tr("SHA-256"), row.sha256 or unknown),
    ]


def gone(row: CheckpointRow, checked: CheckedFile | None) -> str:
    """Why the file cannot be used, in words; empty: it is there."""
    state = state_of(row, checked)
    is_gone = state in (CheckpointState.MISSING, CheckpointState.PRUNED)
    return integrity(row, checked)[0] if is_gone else ""


def acting_obstacle(algorithm: Algorithm | None) -> str:
    """Why a checkpoint of this algorithm cannot act, in words; empty: it can."""
    if algorithm is None:
        return tr("This stack does not know its algorithm.")
    if not algorithm.play:
        return tr(
            "The worker does not say that checkpoints of {algorithm} can act without learning.",
            algorithm=algorithm.title,
        )
    return ""


def training_obstacle(algorithm: Algorithm | None) -> str:
    """Why no training can begin with it, in words; empty: one can."""
    if algorithm is None:
        return tr("This stack does not know its algorithm.")
    if not start_parameter(algorithm):
        return tr(
            "The worker does not say that {algorithm} can begin with a checkpoint.",
            algorithm=algorithm.title,
        )
    return ""


def start_words(algorithm: Algorithm) -> str:
    """What a training takes over from a checkpoint, and what not."""
    if algorithm.resumes:
        return tr("The training goes on where the checkpoint was saved, with its counters.")
    return tr(
        "Warm start: the training takes over what was learned: weights, optimizers, and statistics of the normaliser. "
        "It does not take over counters, schedules, the replay buffer, random generators, and the checkpoint's "
        "parameters: yours count."
    )


def left_words(algorithm: Algorithm) -> str:
    """The same in short: what a training does not take over."""
    if algorithm.resumes:
        return start_words(algorithm)
    return tr(
        "Train on is a warm start. Not taken over: counters, schedules, the replay buffer, random generators, and "
        "parameters."
    )


def commands(row: CheckpointRow, algorithm: Algorithm | None) -> list[tuple[str, str]]:
    """Commands for the terminal that do the same, by what they do."""
    reference = shlex.quote(address_of(row).reference)
    run, path = row.run_id, shlex.quote(row.path)
    found = []
    if not acting_obstacle(algorithm):
        found += [
            (tr("Play"), tr("./mosaic play {run} {path}", run=run, path=path)),
            (tr("Evaluate"), tr("./mosaic evaluate {run} {path}", run=run, path=path)),
        ]
    if name := start_parameter(algorithm):
        command = tr(
            "./mosaic run {worker} {algorithm} {environment} -p {name}={checkpoint}",
            worker=row.worker,
            algorithm=row.algorithm,
            environment=shlex.quote(row.environment),
            name=name,
            checkpoint=reference,
        )
        found.append((tr("Train on"), command))
    verify = tr("./mosaic checkpoints verify {checkpoint}", checkpoint=reference)
    found.append((tr("Verify"), verify))
    return found


class FileCheck(NamedTuple):
    """One request for a comparison of hashes."""

    run_id: str
    path: str | None
    """None: all checkpoints of the run."""
    files: int
    """Number of checkpoints that it is for."""


MOST_AT_ONCE_BYTES = 2**28
"""Bytes that one request may read, so that it is answered before it is given up."""


def file_checks(rows: list[CheckpointRow]) -> list[FileCheck]:
    """Requests that compare the hashes of some checkpoints: small ones of a run together, a large one alone."""
    by_run: dict[str, list[CheckpointRow]] = {}
    for row in rows:
        if row.state is CheckpointState.PRESENT:
            by_run.setdefault(row.run_id, []).append(row)
    found = []
    for run_id, mine in by_run.items():
        if len(mine) > 1 and sum(row.bytes for row in mine) <= MOST_AT_ONCE_BYTES:
            found.append(FileCheck(run_id, None, len(mine)))
        else:
            found += [FileCheck(run_id, row.path, 1) for row in mine]
    return found
