"""Whether a replay buffer fits into this machine. The script allocates all of it before its first step."""

import os

import gymnasium
import numpy as np

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.environment.probe import EnvironmentProbe
from mosaic_worker_cleanrl.environment.wrapping import vector_length
from mosaic_worker_cleanrl.plan.draft import ScriptPlan

_MIB, _GIB = 2**20, 2**30
_OUTCOME_BYTES = 3 * 4
"""Reward, done and time-limit flag, each a float32."""


def check_memory(spec: RunSpec, script: Script, plan: ScriptPlan) -> None:
    """Refuse a replay buffer that is larger than all memory there is, or than the run may have."""
    steps = plan.arguments.get("buffer_size")
    if steps is None or plan.probe is None:
        return
    a_step = _step_bytes(plan.probe, script)
    have = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if steps * a_step > have:
        _refuse(plan, steps, a_step, have, "this machine has")
        return
    # All of it is asked for at once; what is never written to takes no memory, so a short run needs less.
    filled = min(steps, plan.total_steps)
    if spec.memory_mb is not None and filled * a_step > spec.memory_mb * _MIB:
        _refuse(plan, filled, a_step, spec.memory_mb * _MIB, "the run may have (`memory_mb`)")


def _refuse(plan: ScriptPlan, steps: int, a_step: int, have: int, whose: str) -> None:
    half = have // 2 // a_step
    enough = (
        f" The run's {plan.total_steps:,} steps need no more." if plan.total_steps < half else ""
    )
    plan.block(
        "parameters.buffer_size",
        f"A replay buffer of {steps:,} steps needs {_size_words(steps * a_step)}; {whose} {_size_words(have)}. With "
        f"{min(half, plan.total_steps):,} it would take {_size_words(min(half, plan.total_steps) * a_step)}.{enough}",
        ProblemCode.RESOURCES_IMPOSSIBLE,
    )


def _size_words(count: int) -> str:
    return f"{count / _GIB:,.1f} GiB" if count >= _GIB else f"{count / _MIB:,.0f} MiB"


def _step_bytes(probe: EnvironmentProbe, script: Script) -> int:
    """One observation or two, an action and what came of it."""
    observation = script.kept_bytes or _size(probe.observation_space)
    action = (
        8
        if isinstance(probe.action_space, gymnasium.spaces.Discrete)
        else _size(probe.action_space)
    )
    return (1 + script.keeps_next) * observation + action + _OUTCOME_BYTES


def _size(space: gymnasium.Space[object]) -> int:
    length = vector_length(space)
    if length is not None:
        return 4 * length
    return int(np.prod(space.shape or (1,))) * np.dtype(space.dtype).itemsize
