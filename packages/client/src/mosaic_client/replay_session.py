"""A replay for as long as a program needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from mosaic_client.errors import ClientError
from mosaic_contracts.exports import EpisodeRef, ExportPhase, ExportProgress
from mosaic_contracts.states import RunState

if TYPE_CHECKING:
    from mosaic_client.client import Client
    from mosaic_client.run_view import StartedReplay
    from mosaic_contracts.runs import RunView


@contextmanager
def started_replay(
    client: Client,
    episode: EpisodeRef,
    *,
    draws: bool,
    on_stop: Callable[[BaseException], None] = lambda _: None,
) -> Iterator[StartedReplay]:
    """Start a replay; it is stopped when the block fails, by Ctrl-C too, and in any case where it draws.

    A replay of the same episode that was there already is used, and is not stopped.

    Args:
        client: of the stack that has the run.
        episode: the episode to rebuild.
        draws: whether frames are wanted.
        on_stop: called before the replay of a block that failed is stopped.

    Yields:
        The replay.
    """
    replay = client.replay(
        episode.run_id, episode.episode, env=episode.env, attempt=episode.attempt, draws=draws
    )
    try:
        yield replay
    except BaseException as error:
        on_stop(error)
        stop_replay(client, replay)
        raise
    if draws:
        stop_replay(client, replay)


def stop_replay(client: Client, replay: StartedReplay) -> None:
    """Stop a replay that this program has started. It ends by itself, too, once nobody asks for frames."""
    if replay.is_new:
        with suppress(ClientError):
            client.stop(replay.run_id)


def replay_progress(run: RunView) -> ExportProgress:
    """Return what a replay does at the moment.

    Args:
        run: the replay.
    """
    if run.state is RunState.QUEUED:
        place = f"place {run.position}" if run.position else ""
        words = [word for word in (place, run.waiting_reason) if word]
        return ExportProgress(phase=ExportPhase.QUEUED, detail=": ".join(words))
    if run.state is RunState.STARTING:
        return ExportProgress(phase=ExportPhase.STARTING)
    return ExportProgress(phase=ExportPhase.REBUILDING, done=run.step or 0)
