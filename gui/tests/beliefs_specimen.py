"""A recorded episode of an agent that emits its mind, as it is stored."""

import struct
from hashlib import blake2b
from typing import Any

CONFIG: dict[str, Any] = {
    "spaces": {"observation": {"kind": "discrete", "n": 4}},
    "grid": {
        "shape": [2, 2],
        "cells": [["start", "frozen"], ["hole", "goal"]],
        "actions": [
            {"name": "left", "move": [0, -1]},
            {"name": "down", "move": [1, 0]},
            {"name": "right", "move": [0, 1]},
            {"name": "up", "move": [-1, 0]},
        ],
    },
}


def step_hash(state: int, reward: float = 0.0, flags: int = 0) -> str:
    """The hash of a numbered state."""
    return blake2b(struct.pack("<qdB", state, reward, flags), digest_size=8).hexdigest()


def event(seq: int, kind: str, **fields: Any) -> dict[str, Any]:
    """A stored event."""
    return {"v": 1, "attempt": 1, "source": "worker", "seq": seq, "t": 0.0, "type": kind, **fields}


def reported(seq: int, kind: str, **data: Any) -> dict[str, Any]:
    """An event that the agent of environment 0 emitted."""
    return event(seq, kind, data={"agent": "ann", "env": 0, **data})


def step(seq: int, number: int, action: int, state: int, reward: float = 0.0) -> dict[str, Any]:
    """A step of episode 3 to a state."""
    flags = int(reward > 0)
    outcome = {"reward": reward, "flags": flags, "hash": step_hash(state, reward, flags)}
    return event(seq, "step", env=0, episode=3, step=number, action=action, **outcome)


STEPS = [
    event(5, "episode_start", env=0, episode=3, hash=step_hash(0)),
    step(9, 1, 2, 1),
    step(12, 2, 1, 3, 1.0),
]
EMITTED = [
    reported(2, "bdi.belief", added=["budget(5)", "state(9)"], removed=[]),
    reported(
        3, "policy.values", q=[[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], step=40
    ),
    reported(6, "bdi.belief", added=["state(0)"], removed=["state(9)"]),
    reported(7, "bdi.plan", trigger="+!go", plan="sure", confidence=0.75),
    reported(8, "bdi.intention", change="adopted", stacks=[["+!start", "+!go @sure"]]),
    reported(10, "bdi.belief", added=["state(1)"], removed=["state(0)"]),
    reported(11, "bdi.plan", trigger="+!go", plan="unsure", confidence=0.4),
    reported(13, "policy.choices", episode=3, explored=[0, 1], confidence=[0.9, 0.1]),
]
