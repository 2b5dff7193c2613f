"""Writes what a replay is made from, out of the events of a run, as the scheduler does. For tests and benchmarks."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.replays import REPLAY_FILE, REPLAY_RESULT, ResetWay
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, record_run


def rebuild_episode(
    run_dir: Path,
    replay: Callable[[TrainContext], None],
    events: Sequence[Mapping[str, Any]],
    spec: Mapping[str, Any],
    episode: int,
    env: int = 0,
) -> dict[str, Any]:
    """Let a worker rebuild a recorded episode in this process.

    Args:
        run_dir: folder of the replay, made if it is missing.
        replay: method of the worker.
        events: all events of the recorded run, with steps.
        spec: worker, algorithm and environment of the recorded run.
        episode: number of the episode.
        env: number of the sub-environment.

    Returns:
        The result (`mosaic_contracts.replays.ReplayResult`): of `steps`, so many are `equal`.
    """
    write_replay_record(run_dir, events, env, episode)
    source = {"run_id": RUN_ID, "attempt": 1, "env": env, "episode": episode, "draws": False}
    kept = {name: spec[name] for name in ("worker", "algorithm", "environment")}
    recorded = record_run(run_dir, replay, {**kept, "kind": "replay", "replay": source})
    (result,) = of_type(recorded, REPLAY_RESULT)
    data: dict[str, Any] = result["data"]
    return data


def write_replay_record(
    run_dir: Path,
    events: Sequence[Mapping[str, Any]],
    env: int,
    episode: int,
    from_episode: int | None = None,
) -> None:
    """Write the record of one episode, or of several, into the folder of a replay.

    Args:
        run_dir: folder of the replay.
        events: all events of the recorded attempt, as `mosaic_contracts.wire.to_event` gives them.
        env: number of the sub-environment.
        episode: number of the episode.
        from_episode: first of several episodes up to `episode`.
    """
    config = next(event for event in events if event["type"] == "config")
    spaces = config["data"].get("spaces")
    own = [
        event_to_builtin({**event, "observation": None}, spaces)
        for event in events
        if event["type"] in ("episode_start", "step")
        and event["env"] == env
        and event["episode"] <= episode
    ]
    start = next(e for e in own if e["type"] == "episode_start" and e["episode"] == episode)
    if start["reset"]["way"] != ResetWay.CHAIN.value:
        first = episode if from_episode is None else from_episode
        own = [event for event in own if event["episode"] >= first]
    path = run_dir / REPLAY_FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(event) for event in (event_to_builtin(config, None), *own)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
