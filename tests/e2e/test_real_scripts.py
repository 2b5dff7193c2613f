"""Scripts that nobody here wrote run unchanged, from checkouts of their projects.

They are not in this repository, and are run where two variables name them:

- `MOSAIC_REAL_SCRIPTS`: a folder with checkouts `cleanrl`, `stable-baselines3`, `rl-baselines3-zoo`, `d3rlpy`,
  `tianshou` and `pytorch-examples`;
- `MOSAIC_REAL_PYTHON`: an interpreter with the packages that they need.

Each runs until it has done enough, and is then stopped if it has not ended.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_contracts.states import RunState

FOLDER, PYTHON = os.environ.get("MOSAIC_REAL_SCRIPTS"), os.environ.get("MOSAIC_REAL_PYTHON")
pytestmark = [
    pytest.mark.skipif(
        not FOLDER or not PYTHON,
        reason="real scripts: set MOSAIC_REAL_SCRIPTS and MOSAIC_REAL_PYTHON (tests/e2e/test_real_scripts.py)",
    ),
    pytest.mark.timeout(900),
]
WITHIN_S = 600


@dataclass(frozen=True, kw_only=True)
class RealScript:
    """A script of another project, and what must be recorded of it."""

    name: str
    path: str
    """Below the folder of checkouts."""
    block: str = ""
    """What the block of code has that is the script, where `path` is a page; empty: it is the script."""
    needs: str = ""
    """Package of the checkout that the script imports, and that is not installed: it is copied next to a copy of it."""
    words: tuple[str, ...] = ()
    environment: str = "CartPole-v1"
    metrics: tuple[str, ...] = ()
    """One of them must be there."""
    checkpoints: int = 0
    episodes: int = 5
    """So many, and it may be stopped."""
    ends: bool = False
    """Whether it is waited for its own end."""


SCRIPTS = (
    RealScript(
        name="cleanrl",
        path="cleanrl/cleanrl/dqn.py",
        needs="cleanrl/cleanrl_utils",
        words=("--total-timesteps", "2000", "--learning-starts", "500"),
        metrics=("losses/td_loss",),
        ends=True,
    ),
    RealScript(
        name="sb3",
        path="stable-baselines3/docs/guide/examples.md",
        block="EvalCallback(",
        environment="Pendulum-v1",
        metrics=("train/actor_loss", "eval/mean_reward"),
        checkpoints=1,
    ),
    RealScript(
        name="subproc",
        path="stable-baselines3/docs/guide/examples.md",
        block="SubprocVecEnv(",
    ),
    RealScript(
        name="zoo",
        path="rl-baselines3-zoo/train.py",
        words=("--algo", "ppo", "--env", "CartPole-v1", "-n", "2000", "--device", "cpu"),
        metrics=("rollout/ep_rew_mean",),
        checkpoints=1,
        ends=True,
    ),
    RealScript(
        name="d3rlpy",
        path="d3rlpy/examples/gymnasium_env.py",
        words=("--env", "Pendulum-v1"),
        environment="Pendulum-v1",
    ),
    RealScript(
        name="tianshou",
        path="tianshou/examples/discrete/discrete_dqn.py",
        metrics=("test/returns_stat/mean",),
        episodes=150,
    ),
    RealScript(name="reinforce", path="pytorch-examples/reinforcement_learning/reinforce.py"),
)


def _script(script: RealScript, folder: Path) -> Path:
    """The script where it lies, or in a folder of its own."""
    checkouts = Path(str(FOLDER))
    path = checkouts / script.path
    if script.needs and path.exists():
        shutil.copytree(checkouts / script.needs, folder / Path(script.needs).name)
        return Path(shutil.copy(path, folder))
    if not script.block or not path.exists():
        return path
    blocks = re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    own = folder / f"{script.name}.py"
    own.write_text(next(block for block in blocks if script.block in block), "utf-8")
    return own


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_of_others(stack: StackUnderTest, tmp_path: Path, script: RealScript) -> None:
    """It has episodes, steps, curves and checkpoints in the store, its environment in the list, and its true end."""
    file = _script(script, tmp_path)
    if not file.exists():
        pytest.skip(f"{file} is not there")
    # What a shell would export for a machine without a screen, and with few cores.
    settings = ("OMP_NUM_THREADS=1", "SDL_VIDEODRIVER=dummy", f"SB3_LOGDIR={tmp_path / 'sb3'}")
    command = ["env", *settings, str(PYTHON), str(file), *script.words]
    words = ["run", "script", "--yes", "--json", "-d", "--set", "start_deadline_s=600"]
    made = stack.cli(*words, "--", *command, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    run_id = json.loads(made.stdout)["run_id"]

    def has_enough() -> bool:
        view = stack.run(run_id)
        if view.state.is_final:
            return True
        with stack.client() as client:
            names = {metric.name for metric in client.metrics(run_id)}
        summary = view.summary
        return (
            not script.ends
            and summary is not None
            and summary.episodes >= script.episodes
            and summary.checkpoints >= script.checkpoints
            and (not script.metrics or bool(names & set(script.metrics)))
        )

    until(has_enough, f"{script.name} has done enough", WITHIN_S)
    if not stack.run(run_id).state.is_final:
        assert not script.ends
        assert stack.cli("stop", run_id).returncode == 0
    view = stack.wait_final(run_id, within_s=120)
    log = stack.cli("logs", run_id).stdout[-2000:]
    expected = RunState.SUCCEEDED if script.ends else RunState.CANCELLED
    assert view.state in (expected, RunState.SUCCEEDED), (view.end, log)
    assert view.spec.environment == script.environment
    assert stack.processes_of(run_id) == []
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert view.summary.episodes >= script.episodes
    assert view.summary.checkpoints >= script.checkpoints
    with stack.client() as client:
        episodes = client.episodes(run_id, None, 1000).episodes
    assert sum(one.length or 0 for one in episodes) <= view.summary.steps
    if script.environment == "CartPole-v1":
        assert all(one.episode_return == one.length for one in episodes)
