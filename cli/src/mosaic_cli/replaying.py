"""Rebuilds one episode in a run of kind `replay`, shows how far it is, and says in words how it compares."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.text import Text

from mosaic_cli.errors import ReplayBroken
from mosaic_cli.output import err, json_line, out, say
from mosaic_cli.wording import plural
from mosaic_client import light
from mosaic_client.errors import ReplayFailed

if TYPE_CHECKING:
    from mosaic_client import Client, StartedReplay
    from mosaic_contracts.exports import EpisodeRef, ExportProgress
    from mosaic_contracts.replays import ReplayResult, StepDifference
    from mosaic_contracts.runs import RunView

_SHOWN_CHARS = 200


@contextmanager
def replay_of(client: "Client", run_id: str, row: light.EpisodeFields) -> Iterator["StartedReplay"]:
    """Start a replay without pictures; it is stopped when the block fails, by Ctrl-C too."""
    from mosaic_client.replay_session import started_replay

    def on_stop(error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            say("Stopping the replay ...")

    with started_replay(client, episode_ref(run_id, row), draws=False, on_stop=on_stop) as replay:
        yield replay


def episode_ref(run_id: str, row: light.EpisodeFields) -> "EpisodeRef":
    """The episode of a row."""
    from mosaic_contracts.exports import EpisodeRef

    return EpisodeRef(run_id=run_id, attempt=row.attempt, env=row.env, episode=row.episode)


def await_result(client: "Client", replay: "RunView") -> "ReplayResult":
    """Wait for the result of a replay and show its state meanwhile.

    Raises:
        ReplayBroken: the replay ended without one.
        KeyboardInterrupt: Ctrl-C.
    """
    with err.status(_phase(replay)) as status:
        try:
            return client.replay_result(
                replay.run_id, progress=lambda run: status.update(_phase(run))
            )
        except ReplayFailed as error:
            raise ReplayBroken(str(error)) from error


def say_differing_packages(result: "ReplayResult") -> None:
    """Name the packages whose versions are not the recorded ones."""
    if result.packages:
        named = ", ".join(
            f"{one.package} {one.installed or 'not installed'} (recorded {one.recorded})"
            for one in result.packages
        )
        say(f"Versions differ from the recorded ones: {named}.")


def print_result(result: "ReplayResult") -> None:
    """Print how an episode compares: versions that differ first, then the badge, then the first difference.

    Raises:
        ReplayBroken: nothing could be rebuilt.
    """
    say_differing_packages(result)
    if result.problem:
        raise ReplayBroken(result.problem)
    out.print(Text(result.verdict, "green" if result.is_verified else "yellow"))
    if result.first_difference is not None:
        for line in difference_lines(result.first_difference):
            out.print(line, soft_wrap=True)
    if result.is_cut:
        say("The record ends before the episode did: these are its stored steps.")
    if result.episodes_before:
        earlier = plural(result.episodes_before, "earlier episode")
        say(f"{earlier} of this environment had to be rebuilt first.")


def difference_lines(difference: "StepDifference") -> list[str]:
    """The first step that differs, and how."""
    place = f"step {difference.step}" if difference.step else "the reset"
    lines = [f"The first difference is at {place}: {', '.join(difference.parts)}."]
    for part in difference.parts:
        if part in difference.recorded or part in difference.rebuilt:
            recorded = _shown(difference.recorded.get(part))
            lines.append(
                f"  {part}: recorded {recorded}, rebuilt {_shown(difference.rebuilt.get(part))}"
            )
    return lines


def _shown(value: Any) -> str:
    text = "not recorded" if value is None else json_line(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]} ..."


def phase_words(progress: "ExportProgress") -> str:
    """What a replay does at the moment."""
    from mosaic_contracts.exports import ExportPhase

    if progress.phase is ExportPhase.QUEUED:
        reason = f", {progress.detail}" if progress.detail else ""
        return f"Replay queued{reason} ..."
    if progress.phase is ExportPhase.STARTING:
        return "Starting the replay ..."
    steps = f", step {progress.done:,}" if progress.done else ""
    total = f" of {progress.total:,}" if steps and progress.total else ""
    return f"Rebuilding the episode{steps}{total} ..."


def _phase(run: "RunView") -> str:
    from mosaic_client.replay_session import replay_progress

    return phase_words(replay_progress(run))
