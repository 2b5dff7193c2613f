"""Runs of a random policy in this process, recorded as a worker records them, and replays of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium

from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit import EnvironmentRun, EnvironmentSpec, replay_run
from mosaic_gymkit.testing import write_replay_record
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.spaces import space_of
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, open_context, read_events, write_spec


def context_in(folder: Path, environment: str, **fields: Any) -> tuple[TrainContext, Telemetry]:
    """Make a run folder and open its telemetry."""
    spec = {
        "worker": "test",
        "algorithm": "random",
        "environment": environment,
        "outbox_bytes": 64 * 2**20,
        **fields,
    }
    write_spec(folder, spec)
    context = open_context(folder)
    return context, context.telemetry


def record_random(
    folder: Path,
    environment: str,
    *,
    steps: int = 400,
    arguments: dict[str, Any] | None = None,
    config: dict[str, Any] | None = None,
    before: Callable[[EnvironmentRun], None] = lambda _: None,
    **fields: Any,
) -> list[dict[str, Any]]:
    """Record a run of a random policy; return its events. `before` is called once the environment is made."""
    context, telemetry = context_in(folder, environment, **fields)
    with telemetry:
        _record(context, environment, steps, arguments or {}, config or {}, before)
        telemetry.lifecycle("done")
    return read_events(folder)


def _record(
    context: TrainContext,
    environment: str,
    steps: int,
    arguments: dict[str, Any],
    config: dict[str, Any],
    before: Callable[[EnvironmentRun], None],
) -> None:
    with EnvironmentRun(context, total_steps=steps) as run:
        env = run.make(environment, **arguments)
        context.telemetry.config(
            {
                "environment": environment,
                "environment_arguments": arguments,
                "spaces": {
                    "observation": space_of(env.observation_space),
                    "action": space_of(env.action_space),
                },
                **config,
            }
        )
        before(run)
        env.action_space.seed(7)
        _play(env, steps)


def _play(env: gymnasium.Env[Any, Any], steps: int) -> None:
    env.reset(seed=3)
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()
    env.close()


def replay(
    folder: Path,
    events: list[dict[str, Any]],
    episode: int,
    *,
    make: Callable[[EnvironmentSpec], gymnasium.Env[Any, Any]] | None = None,
) -> ReplayResult:
    """Replay one episode of these events in an environment of its own; return the recorded result."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": episode, "draws": False}
    context, telemetry = context_in(
        folder, events[0]["data"]["environment"], kind="replay", replay=source
    )
    write_replay_record(folder, events, 0, episode)
    with telemetry:
        replay_run(context, make)
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


def replay_several(
    folder: Path, events: list[dict[str, Any]], first: int, last: int
) -> tuple[list[ReplayResult], list[dict[str, Any]]]:
    """Replay several episodes of these events with observations; return the results, and all events of the replay."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": last, "from_episode": first}
    context, telemetry = context_in(
        folder,
        events[0]["data"]["environment"],
        kind="replay",
        record="full",
        replay={**source, "draws": False, "observations": True},
    )
    write_replay_record(folder, events, 0, last, first)
    with telemetry:
        replay_run(context)
    made = read_events(folder)
    results = [ReplayResult.model_validate(e["data"]) for e in of_type(made, REPLAY_RESULT)]
    return results, made
