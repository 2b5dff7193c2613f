"""Whether a replay buffer fits into this machine. The script allocates all of it before its first step."""

import os

import gymnasium
import numpy as np

from mosaic_contracts.problems import ProblemCode
from mosaic_worker_cleanrl.environment.probe import Probe
from mosaic_worker_cleanrl.plan.draft import Plan

_GIB = 2**30
_OUTCOME_BYTES = 3 * 4
"""Reward, done and time-limit flag, each a float32."""


def check_memory(plan: Plan) -> None:
    """Refuse a replay buffer that is larger than all memory there is."""
    steps = plan.arguments.get("buffer_size")
    if steps is None or plan.probe is None:
        return
    a_step = _step_bytes(plan.probe)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if steps * a_step > have:
        plan.block(
            "parameters.buffer_size",
            f"A replay buffer of {steps:,} steps needs {steps * a_step / _GIB:,.0f} GiB; this machine has "
            f"{have / _GIB:,.0f}. With {have // 2 // a_step:,} it would fill half of that.",
            ProblemCode.RESOURCES_IMPOSSIBLE,
        )


def _step_bytes(probe: Probe) -> int:
    """Two observations, for the next one is kept too, an action and what came of it."""
    action = (
        8
        if isinstance(probe.action_space, gymnasium.spaces.Discrete)
        else _size(probe.action_space)
    )
    return 2 * _size(probe.observation_space) + action + _OUTCOME_BYTES


def _size(space: gymnasium.Space[object]) -> int:
    if isinstance(space, gymnasium.spaces.Discrete):
        return 4 * int(space.n)  # one-hot
    return int(np.prod(space.shape or (1,))) * np.dtype(space.dtype).itemsize
