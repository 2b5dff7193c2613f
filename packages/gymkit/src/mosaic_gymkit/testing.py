"""Runs of a worker in the process of a test: trained, evaluated, and rebuilt from their records as by a stack."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mosaic_contracts.builtin_values import event_to_builtin
from mosaic_contracts.replays import REPLAY_FILE, REPLAY_RESULT, ResetWay
from mosaic_workerkit.entry import Player, Replayer, TrainContext, Worker
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, record_run


class TestedWorker(Worker, Player, Replayer, Protocol):
    """Interface of a worker that trains, plays and rebuilds."""

    id: str


class WorkerRuns:
    """Runs of one worker, each with the same spec unless a call says otherwise.

    Example:
        ```python
        RUNS = WorkerRuns(MyWorker(), {"algorithm": "mine", "environment": "CartPole-v1", "seed": 1, "steps": 300})


        def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
            trained = RUNS.train(tmp_path / "trained", record="full")
            result = RUNS.rebuild(tmp_path / "replayed", trained, episode=0)
            assert result["equal"] == result["steps"] > 0
        ```
    """

    def __init__(self, worker: TestedWorker, spec: Mapping[str, Any]) -> None:
        """Keep the worker and the fields of its runs' specs.

        Args:
            worker: the worker.
            spec: fields of a run's spec (`mosaic_contracts.spec.RunSpec`), without the worker.
        """
        self.worker = worker
        self.spec = {"worker": worker.id, **spec}

    def train(self, folder: Path, **more: Any) -> list[dict[str, Any]]:
        """Train.

        Args:
            folder: folder of the run, made if it is missing.
            **more: further fields of the spec, or other values of its fields.

        Returns:
            The events that were recorded, in order.
        """
        return record_run(folder, self.worker.train, self.spec | more)

    def returns(self, folder: Path, **more: Any) -> list[float]:
        """Train, as `train` does, and return the return of each episode."""
        ended = of_type(self.train(folder, **more), "episode")
        return [event["episode_return"] for event in ended]

    def train_checkpoint(self, folder: Path, **more: Any) -> str:
        """Train, as `train` does, and return the path of the newest checkpoint."""
        saved = of_type(self.train(folder, **more), "checkpoint")
        return str(folder / saved[-1]["path"])

    def evaluate(self, folder: Path, checkpoint: str, episodes: int) -> dict[str, Any]:
        """Let a checkpoint act in seeded episodes.

        Args:
            folder: folder of the evaluation, made if it is missing.
            checkpoint: path of the checkpoint.
            episodes: number of episodes.

        Returns:
            The result (`mosaic_contracts.evaluation.EvaluationResult`).
        """
        given = {"checkpoint": checkpoint}
        spec = self.spec | {"kind": "evaluate", "episodes": episodes, "steps": None}
        played = record_run(folder, self.worker.play, spec | {"parameters": given})
        (result,) = of_type(played, "evaluation.result")
        data: dict[str, Any] = result["data"]
        return data

    def rebuild(
        self, folder: Path, trained: Sequence[Mapping[str, Any]], episode: int
    ) -> dict[str, Any]:
        """Rebuild an episode in a fresh environment, and compare each step with its record.

        Args:
            folder: folder of the replay, made if it is missing.
            trained: all events of the recorded run, with steps.
            episode: number of the episode.

        Returns:
            The result, as of `rebuild_episode`.
        """
        return rebuild_episode(folder, self.worker.replay, trained, self.spec, episode)


def contract_findings(folder: Path, *words: str) -> str:
    """Run `./mosaic worker-check` in a process of its own.

    Args:
        folder: folder of the worker.
        *words: options of `worker-check`.

    Returns:
        What it printed if the worker does not keep the contract; empty if it does.
    """
    command = [sys.executable, "-m", "mosaic_workerkit.check_worker", str(folder), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


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
