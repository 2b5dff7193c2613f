"""What a replay says of itself: how far it is, and how the rebuilt episode compares with the recorded one."""

from dataclasses import dataclass
from typing import Any

from mosaic_contracts.replays import PackageDifference, ReplayResult, ResetWay
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n
from mosaic_gui.state.live_frames import action_words

_WAYS = {
    ResetWay.SEED: mark("seed"),
    ResetWay.GENERATOR: mark("generator"),
    ResetWay.SNAPSHOT: mark("snapshot"),
    ResetWay.CHAIN: mark("chain"),
}
_WAY_HELP = {
    ResetWay.SEED: mark("The reset was rebuilt from its seed."),
    ResetWay.GENERATOR: mark(
        "The reset was rebuilt from the recorded state of its random generator."
    ),
    ResetWay.SNAPSHOT: mark(
        "The reset was rebuilt from a recorded copy of the environment's state."
    ),
    ResetWay.CHAIN: mark(
        "The reset was rebuilt by playing all episodes before it, from the first one."
    ),
}
_PARTS = {
    "observation": mark("observation"),
    "reward": mark("reward"),
    "terminated": mark("terminated"),
    "truncated": mark("truncated"),
}


@dataclass(frozen=True)
class Verdict:
    """The badge of a replay, and what belongs to it."""

    word: str
    tone: str
    """ok, warn, bad, accent or neutral."""
    help: str = ""
    """Tool tip."""
    warnings: tuple[str, ...] = ()
    """What to know before the result: versions that differ, a record that was cut."""


def verdict_of(result: ReplayResult) -> Verdict:
    """How a rebuilt episode compares with the recorded one."""
    warnings = tuple(_warnings(result))
    counts = {"n": wording.count(result.equal), "total": wording.count(result.steps)}
    if result.problem:
        return Verdict(tr("Not rebuilt"), "bad", result.problem, warnings)
    if result.first_difference is not None:
        word = tr("Differs at step {n}", n=wording.count(result.first_difference.step))
        return Verdict(
            f"{word} · {way_word(result.way)}", "bad", difference_words(result), warnings
        )
    word = tr("Verified {n} of {total}", **counts)
    if not result.is_verified:
        return Verdict(f"{word} · {way_word(result.way)}", "warn", _way_help(result), warnings)
    words = [
        tr("Every step was rebuilt in a fresh process and is equal to the recorded one."),
        _way_help(result),
    ]
    return Verdict(
        f"{word} · {way_word(result.way)}", "ok", " ".join(filter(None, words)), warnings
    )


def way_word(way: str) -> str:
    """How a reset was rebuilt, in a word."""
    known = _WAYS.get(ResetWay(way)) if way in list(ResetWay) else None
    return tr_mark(known) if known else way


def difference_words(result: ReplayResult) -> str:
    """Which step differs and how; empty: none does."""
    found = result.first_difference
    if found is None:
        return ""
    parts = [_part_words(part, found.recorded, found.rebuilt) for part in found.parts]
    where = (
        tr("The reset is not as recorded: {parts}.", parts="; ".join(parts))
        if found.step == 0
        else tr("Step {n} is not as recorded: {parts}.", n=found.step, parts="; ".join(parts))
    )
    return where + " " + tr("Frames from there on are approximate.")


def package_words(found: PackageDifference) -> str:
    """Which version was recorded, and which one is here."""
    if found.installed is None:
        return tr(
            "{package} {version} was recorded, and is not installed here.",
            package=found.package,
            version=found.recorded,
        )
    return tr(
        "{package} {version} was recorded, {here} is installed here.",
        package=found.package,
        version=found.recorded,
        here=found.installed,
    )


def progress_words(run: RunView | None) -> str:
    """How far a replay is, before it has a result."""
    if run is None:
        return tr("Asking for a replay …")
    if run.state is RunState.QUEUED:
        why = run.waiting_reason or tr("it starts when its turn comes")
        return tr("Waiting: {why}", why=why)
    if run.progress is None or not run.progress.total:
        return tr("Starting the environment in a fresh process …")
    done, total = min(run.progress.step, run.progress.total), run.progress.total
    if done >= total:
        return tr("Preparing the first frames …")
    return tr(
        "Rebuilding: {done} of {total} steps", done=wording.count(done), total=wording.count(total)
    )


def progress_share(run: RunView | None) -> float | None:
    """Share of the steps that were rebuilt; None: not known yet."""
    if run is None or run.progress is None or not run.progress.total:
        return None
    return min(1.0, run.progress.step / run.progress.total)


def end_words(run: RunView) -> str:
    """Why a replay has ended without a result."""
    message = run.end.message if run.end is not None else ""
    return tr("The replay ended: {why}", why=message or run.state.value)


def _warnings(result: ReplayResult) -> list[str]:
    found = [package_words(package) for package in result.packages]
    if result.is_cut:
        found.append(
            tr_n(
                "The record ends after {n} step, before the episode did.",
                "The record ends after {n} steps, before the episode did.",
                result.steps,
            )
        )
    if result.drawing_problem:
        found.append(result.drawing_problem)
    return found


def _way_help(result: ReplayResult) -> str:
    known = _WAY_HELP.get(ResetWay(result.way)) if result.way in list(ResetWay) else None
    words = [tr_mark(known)] if known else []
    if result.episodes_before:
        words.append(
            tr_n(
                "{n} earlier episode was rebuilt first.",
                "{n} earlier episodes were rebuilt first.",
                result.episodes_before,
            )
        )
    return " ".join(words)


def _part_words(part: str, recorded: dict[str, Any], rebuilt: dict[str, Any]) -> str:
    known = _PARTS.get(part)
    name = tr_mark(known) if known else part
    if part not in recorded or part not in rebuilt:
        return name
    return tr(
        "{part} recorded {recorded}, rebuilt {rebuilt}",
        part=name,
        recorded=action_words(recorded[part]),
        rebuilt=action_words(rebuilt[part]),
    )
