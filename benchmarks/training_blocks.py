"""Telemetry switched on and off within one training; started by telemetry_cost.py in the environment of worker_cleanrl.

    python training_blocks.py ALGORITHM STEPS BLOCK LEVEL,LEVEL,...

The script runs once, with the worker's own hooks. After every BLOCK steps of its vector environment the level
changes: the functions that the worker would have patched in are put in place, or the original ones for `bare`. Levels
come in a random order within each cycle; the change itself is not counted. ppo's optimization after every 128
steps calls no telemetry but a few scalars, and is kept apart: its noise would hide everything. One JSON object on
stdout, thread CPU: `{"blocks": {level: [seconds of a block]}, "optimization_s": [...]}`; the nth blocks of all levels
belong together.
"""

import json
import os
import random
import sys
import tempfile
import time
from contextlib import ExitStack, chdir
from pathlib import Path
from typing import Any

import gymnasium
import torch
from torch.utils.tensorboard import SummaryWriter

from mosaic_contracts.runs import StoredSpec
from mosaic_worker_cleanrl.launch.environment_hook import environment_hooks
from mosaic_worker_cleanrl.launch.recording import RecordedEnvironment
from mosaic_worker_cleanrl.launch.script import LoadedScript
from mosaic_worker_cleanrl.launch.session import Session
from mosaic_worker_cleanrl.launch.writer_hook import writer_hooks
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH
from mosaic_worker_cleanrl.plan import make_plan
from mosaic_workerkit.telemetry import Telemetry

RUN_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
BARE = "bare"
ROLLOUT = {"ppo": 128}
"""Vector steps before an optimization, where there is such a rhythm."""
VECTOR: Any = gymnasium.vector.SyncVectorEnv
WRITER: Any = SummaryWriter


class NeverStop:
    """Nobody asks for a stop."""

    requested = False

    def is_set(self) -> bool:
        return False


class Level:
    """The functions that are patched in at one level, and its session."""

    def __init__(self, spec: StoredSpec, folder: Path, variables: dict[str, Any]) -> None:
        folder.mkdir()
        (folder / "control").mkdir()
        plan = make_plan(spec)
        telemetry = Telemetry(folder, RUN_ID, 1, spec)
        telemetry.config({})
        self.session = Session(spec, plan, telemetry, NeverStop(), variables)
        self.argv = plan.argv
        with environment_hooks(self.session), writer_hooks(self.session, folder / "tensorboard"):
            self.functions = patched()


def patched() -> dict[str, Any]:
    """What stands now where the worker listens."""
    return {"step": VECTOR.step, "reset": VECTOR.reset, "add_scalar": WRITER.add_scalar}


class Switch(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment and the recordings around it; `env` is the one of the moment. In place at every level."""

    def __init__(self, env: gymnasium.Env[Any, Any], index: int, levels: dict[str, Level]) -> None:
        super().__init__(env)
        self.ways: dict[str, gymnasium.Env[Any, Any]] = {BARE: env}
        for name, level in levels.items():
            recorded = level.session.spec.record.has_episodes
            self.ways[name] = RecordedEnvironment(env, index, level.session) if recorded else env

    def turn(self, name: str) -> None:
        """Go over to another level in the middle of an episode, which counts as begun."""
        self.env = self.ways[name]
        if isinstance(self.env, RecordedEnvironment):
            self.env._is_open = True
            self.env._keeps = self.env._has_steps


class Switchboard:
    """Turns the level at every block's end and keeps the blocks' times."""

    def __init__(self, block: int, rollout: int | None) -> None:
        self.levels: dict[str, Level] = {}
        self.blocks: dict[str, list[float]] = {BARE: []}
        self.optimizations: list[float] = []
        self._block = block
        self._rollout = rollout
        self._order: list[str] = []
        self._name: str | None = None
        self._steps = 0
        self._began = 0.0
        self._switches: list[Switch] = []
        self._random = random.Random(1)
        self._make: Any = gymnasium.make
        self._step: Any = VECTOR.step
        self._bare: dict[str, Any] = {}
        self._listen()

    def add(self, name: str, spec: StoredSpec, folder: Path, variables: dict[str, Any]) -> None:
        """Add a level."""
        self.levels[name] = Level(spec, folder, variables)
        self.blocks[name] = []

    def take_environments(self) -> None:
        """Put a switch around every environment from now on; the levels' plans made some of their own."""

        def make(*args: Any, **kwargs: Any) -> Any:
            switch = Switch(self._make(*args, **kwargs), len(self._switches), self.levels)
            self._switches.append(switch)
            return switch

        gymnasium.make = make

    def _listen(self) -> None:
        """Count steps below the worker's hooks: they call what is put here."""
        block, rollout = self._block, self._rollout or 2**63

        def step(envs: Any, actions: Any) -> Any:
            place = self._steps % rollout
            self._steps += 1
            if place == rollout - 1:
                self._end_block()  # the optimization follows this step
            elif place % block == 0:
                if place == 0 and self._name is None and self._steps > 1:
                    self.optimizations.append(time.thread_time() - self._began)
                self._end_block()
                self._begin_block()
            return self._step(envs, actions)

        VECTOR.step = step
        self._bare = patched()

    def _end_block(self) -> None:
        now = time.thread_time()
        if self._name is not None:
            self.blocks[self._name].append(now - self._began)
        self._name, self._began = None, now

    def _begin_block(self) -> None:
        if not self._order:
            self._order = self._random.sample(list(self.blocks), len(self.blocks))
        self._name = self._order.pop()
        functions = self._bare
        if self._name in self.levels:
            functions = self.levels[self._name].functions
        VECTOR.step, VECTOR.reset = functions["step"], functions["reset"]
        WRITER.add_scalar = functions["add_scalar"]
        for switch in self._switches:
            switch.turn(self._name)
        self._began = time.thread_time()


def main() -> None:
    """Train once and print the times."""
    algorithm, steps, block, names = sys.argv[1:5]
    os.sched_setaffinity(0, {0})
    torch.set_num_threads(1)
    script = LoadedScript(f"cleanrl.{algorithm}")
    # dqn plays at random for 2 % of its default length before it learns; keep that share.
    parameters = {"learning_starts": int(steps) // 50} if algorithm == "dqn" else {}
    with tempfile.TemporaryDirectory() as home, chdir(home), ExitStack() as stack:
        if algorithm == "ppo":  # imports the old gym
            sys.path.insert(0, str(OLD_GYM_PATH))
        board = Switchboard(int(block), ROLLOUT.get(algorithm))
        for name in names.split(","):
            spec = StoredSpec.model_validate(
                {
                    "worker": "cleanrl",
                    "algorithm": algorithm,
                    "environment": "CartPole-v1",
                    "steps": int(steps),
                    "record": name,
                    "parameters": parameters,
                    "checkpoint_every_steps": 10**9,
                }
            )
            board.add(name, spec, Path(home) / name, script.variables)
            stack.enter_context(board.levels[name].session.telemetry)
        board.take_environments()
        out = os.dup(1)
        with Path("script.log").open("w") as log:
            os.dup2(log.fileno(), 1)  # the script prints a line an episode
            script.execute(next(iter(board.levels.values())).argv)
            sys.stdout.flush()
        result = {"blocks": board.blocks, "optimization_s": board.optimizations}
        os.write(out, json.dumps(result).encode() + b"\n")


if __name__ == "__main__":
    main()
