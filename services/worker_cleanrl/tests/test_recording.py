"""What is recorded of environments that behave in their own way, and when it is durable."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_worker_cleanrl.launch.environment_hook import environment_hooks
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_worker_cleanrl.plan import make_plan
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, read_events

STEPS = 5


class Reusing(gymnasium.Env[Any, Any]):
    """Gives the same array at each step, with other values in it; fails at the step that it is given."""

    observation_space = gymnasium.spaces.Box(0, 100, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, fails_at: int = 0) -> None:
        self._seen = np.zeros(3, np.float32)
        self._fails_at = fails_at

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._seen[:] = 0
        return self._seen, {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self._seen += 1
        count = int(self._seen[0])
        if count == self._fails_at:
            raise ArithmeticError("made to fail")
        return self._seen, np.float64(count), count == STEPS, False, {}


class Twice(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Repeats each action, as wrappers that skip frames do, and spoils what it was given."""

    def step(self, action: Any) -> Any:
        first = self.env.step(action)
        if first[2]:
            return first
        first[0][:] = 99
        self.env.unwrapped._seen[:] = first[1]  # type: ignore[attr-defined]
        return self.env.step(action)


@pytest.fixture(params=["replay", "full"])
def session(request: Any, tmp_path: Path) -> Iterator[ScriptSession]:
    """A run of PPO that has not begun."""
    fields = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    spec = StoredSpec.model_validate({**fields, "record": request.param})
    (tmp_path / "control").mkdir()
    plan = make_plan(RunSpec.model_validate(fields))
    plan.probe = None  # the environment is another one
    with Telemetry(tmp_path, RUN_ID, 1, spec) as telemetry:
        telemetry.config({})
        session = ScriptSession(spec, plan, telemetry, StopFlag(), {})
        with environment_hooks(session):
            gymnasium.register("Reusing-v0", lambda fails_at=0, **_: Reusing(fails_at))
            yield session
    del gymnasium.registry["Reusing-v0"]


def steps_of(session: ScriptSession) -> list[dict[str, Any]]:
    """Steps that are durable."""
    return of_type(read_events(session.telemetry.run_dir), "step")


def wanted(step: int) -> str:
    """Hash of that step."""
    observation = np.full(3, step, np.float32)
    return step_hash(observation, float(step), int(step == STEPS)).hex()


def make_envs(count: int, **arguments: Any) -> gymnasium.vector.SyncVectorEnv:
    """A vector environment of them."""
    one = lambda: Twice(gymnasium.make("Reusing-v0", **arguments))  # noqa: E731
    return gymnasium.vector.SyncVectorEnv([one] * count)


def test_each_step_is_recorded_as_it_was(session: ScriptSession) -> None:
    """An array that the environment uses again, or a wrapper spoils, is recorded as it was given, in order."""
    envs = make_envs(3)
    envs.reset(seed=1)
    for _ in range(6):
        envs.step(np.array([1, 0, 1]))
    events = read_events(session.telemetry.run_dir)
    for index in range(3):
        own = [event for event in events if event.get("env") == index]
        kinds = [event["type"] for event in own]
        one = ["episode_start", *["step"] * STEPS, "episode"]
        assert kinds == [*one, *one, "episode_start"]
        steps = [event for event in own if event["type"] == "step"]
        assert [step["step"] for step in steps] == [*range(1, STEPS + 1)] * 2
        assert [step["hash"] for step in steps] == [wanted(n) for n in range(1, STEPS + 1)] * 2
        assert {step["action"] for step in steps} == {index % 2 ^ 1}
        if session.spec.record.has_observations:
            shown = [np.frombuffer(step["observation"], np.float32)[0] for step in steps]
            assert shown == [*range(1, STEPS + 1)] * 2


def test_a_step_is_durable_when_the_script_sees_it(session: ScriptSession) -> None:
    """When a step of the vector environment has returned, all its steps can be read by another process."""
    envs = make_envs(4)
    envs.reset(seed=1)
    envs.step(np.ones(4, int))
    assert len(steps_of(session)) == 8
    envs.step(np.ones(4, int))
    assert len(steps_of(session)) == 16


def test_steps_before_an_error_are_kept(session: ScriptSession) -> None:
    """Where a sub-environment fails, the steps of those before it are recorded, and its own up to then."""
    envs = make_envs(3, fails_at=2)
    envs.reset(seed=1)
    with pytest.raises(ArithmeticError):
        envs.step(np.ones(3, int))
    assert [(step["env"], step["step"]) for step in steps_of(session)] == [(0, 1)]


def test_an_environment_by_itself_is_recorded_at_once(session: ScriptSession) -> None:
    """A step outside of a vector environment is durable when it returns."""
    env = gymnasium.make("Reusing-v0")
    env.reset(seed=1)
    for number in range(1, 4):
        env.step(1)
        assert [step["hash"] for step in steps_of(session)] == [
            wanted(n) for n in range(1, number + 1)
        ]
