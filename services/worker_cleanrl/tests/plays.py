"""Plays of this worker in a thread of the test's process, from the beginning or from a recorded step."""

from pathlib import Path
from typing import Any

from mosaic_gymkit.testing import write_replay_record
from mosaic_worker_cleanrl.worker import CleanrlWorker
from mosaic_workerkit.testing.played import PlayedRun
from mosaic_workerkit.testing.recorded import RUN_ID, of_type


def play_here(folder: Path, spec: dict[str, Any], **fields: Any) -> PlayedRun:
    """Start a play in a thread."""
    return PlayedRun(folder, CleanrlWorker().play, {**spec, **fields}, wait_s=60)


def branch(
    folder: Path,
    spec: dict[str, Any],
    events: list[dict[str, Any]],
    place: tuple[int, int, int],
    actor: str | None = None,
    **fields: Any,
) -> PlayedRun:
    """Start a play at a sub-environment, episode and step of these events."""
    env, episode, step = place
    start = {"run_id": RUN_ID, "attempt": 1, "env": env, "episode": episode, "step": step}
    write_replay_record(folder, events, env, episode)
    return play_here(folder, spec, start_from={**start, "actor": actor}, **fields)


def steps_of(events: list[dict[str, Any]], env: int, episode: int) -> list[tuple[Any, ...]]:
    """What the steps of an episode did."""
    return [
        (e["step"], e["action"], e["reward"], e["flags"], e["hash"])
        for e in of_type(events, "step")
        if (e["env"], e["episode"]) == (env, episode)
    ]
