"""Plays of this worker in a thread, and replays of them."""

from pathlib import Path
from typing import Any

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit.testing import write_replay_record
from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.testing.played import PlayedRun
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, open_context, read_events, write_spec


class Player(PlayedRun):
    """A play by a person."""

    def __init__(self, folder: Path, environment: str, *, watches: bool = True, **fields: Any) -> None:  # fmt: skip
        spec = spec_of(environment, **fields)
        super().__init__(folder, HumanWorker().play, spec, watches=watches)


def spec_of(environment: str, **fields: Any) -> dict[str, Any]:
    """The spec of a run."""
    return {"worker": "play", "algorithm": "human", "environment": environment, **fields}


def branch(
    folder: Path, events: list[dict[str, Any]], episode: int, step: int, **fields: Any
) -> Player:
    """A play by a person that begins at a step of these events."""
    start = {"run_id": RUN_ID, "attempt": 1, "episode": episode, "step": step}
    write_replay_record(folder, events, 0, episode)
    return Player(folder, events[0]["data"]["environment"], start_from=start, **fields)


def rebuild(folder: Path, events: list[dict[str, Any]], episode: int) -> ReplayResult:
    """Replay one episode of these events."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": episode, "draws": False}
    environment = events[0]["data"]["environment"]
    write_spec(folder, spec_of(environment, kind="replay", replay=source, outbox_bytes=2**24))
    context = open_context(folder)
    write_replay_record(folder, events, 0, episode)
    with context.telemetry:
        HumanWorker().replay(context)
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


def steps_of(events: list[dict[str, Any]], episode: int = 0) -> list[dict[str, Any]]:
    """The recorded steps of an episode."""
    return [e for e in events if e["type"] == "step" and e["episode"] == episode]
