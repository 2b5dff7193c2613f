"""Checkpoints as the gateway lists them."""

import struct
from typing import Any

from tests.specimen import BEGAN, run_id

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.curve_set import EPISODE_RETURN, CurveSet, DrawnCurve

SHA = "a" * 64


def checkpoint(n: int = 0, path: str = "checkpoints/final.pt", **fields: Any) -> CheckpointRow:
    """A checkpoint of the n-th run, of PPO on CartPole."""
    known: dict[str, Any] = {
        "run_id": run_id(n),
        "run_name": f"CartPole-v1__{fields.get('algorithm', 'ppo')}__{n + 1}__20260102",
        "kind": "train",
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "environment_version": 1,
        "path": path,
        "sha256": SHA,
        "bytes": 125_440,
        "step": 49_664,
        "reason": "final",
        "t": BEGAN.timestamp() + n,
        "mean_return_20": 487.25,
        "mean_return_episodes": 20,
        "normalizer": False,
        "worker_lock": "b" * 64,
        "worker_version": "0.1.0",
    }
    return CheckpointRow.model_validate(known | fields)


def evaluated(n: int = 0, **fields: Any) -> CheckpointRow:
    """The same with an evaluation of its file."""
    result = {
        "run_id": run_id(90),
        "mean": 445.2,
        "standard_error": 7.61,
        "episodes": 20,
        "greedy": True,
        "t": BEGAN.timestamp() + 99,
    }
    return checkpoint(n, evaluation=result, **fields)


def checkpoints() -> list[CheckpointRow]:
    """Two groups with everything that a card can show, the newest first."""
    marked = {"marks": ["best", "newest"]}
    return [
        checkpoint(5, "checkpoints/best.pt", algorithm="dqn", **marked),
        evaluated(4, marks=["newest"], reason="periodic"),
        checkpoint(3, "checkpoints/best.pt", marks=["best"], mean_return_20=499.5, normalizer=True),
        checkpoint(2, state="missing", mean_return_20=None, step=None, sha256=None, t=None),
        checkpoint(1, state="altered", reason="stop", mean_return_20=12.5, mean_return_episodes=7),
        checkpoint(0, state="pruned", reason="imported", mean_return_20=-3.0),
    ]


def reward_curve(n: int = 0) -> CurveSet:
    """Returns of a run that grow."""
    steps = [100.0 * i for i in range(200)]
    values = [float(i) for i in range(200)]
    columns = {"step": steps, "t": steps, "value": values}
    curve = DrawnCurve(
        name=EPISODE_RETURN,
        points=200,
        reduced=False,
        columns={name: struct.pack("<200d", *column) for name, column in columns.items()},
    )
    return CurveSet(run_id=run_id(n), names=[EPISODE_RETURN], cursor="", curves=[curve])
