"""Telemetry switched on and off within one training, in the environment of worker_cleanrl.

Started by telemetry_cost.py and all_scripts_cost.py.

    python training_blocks.py ALGORITHM STEPS BLOCK LEVEL,LEVEL,... [ENVIRONMENT PARAMETERS]

The script runs once, with the worker's own hooks. After every BLOCK steps of its vector environment the level
changes: the functions that the worker would have patched in are put in place, or the original ones for `bare`. Levels
come in a random order within each cycle; the change itself is not counted.

ppo's optimization after every 128 steps calls no telemetry until it is over and logs its scalars. Its seconds are
kept apart, for their noise would hide everything; the scalars' are blocks of their own: from the first of
them to the next step, at a level that changes from update to update. One JSON object on stdout, thread CPU:
`{"blocks": {level: [seconds of a block]}, "tails": {level: [seconds of an update's scalars]}, "optimization_s":
[...]}`; the nth blocks of all levels belong together, and so do the nth tails.
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

from mosaic_contracts.stored_spec import StoredSpec
from mosaic_gymkit.recording import (
    CountedEnvironment,
    RecordedEnvironment,
    recorded,
)
from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.launch.buffer_hook import buffer_hook
from mosaic_worker_cleanrl.launch.environment_hook import environment_hooks
from mosaic_worker_cleanrl.launch.script import LoadedScript
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_worker_cleanrl.launch.writer_hook import writer_hooks
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH
from mosaic_worker_cleanrl.plan import make_plan
from mosaic_workerkit.telemetry import Telemetry

RUN_ID = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
BARE = "bare"
ROLLOUT = {"ppo": 128}
"""Vector steps before an optimization, where there is such a rhythm."""
FIRST_TAG = "charts/learning_rate"
"""First scalar that ppo logs for an update. It may log an episode before it that ended in the rollout's last step."""
VECTOR: Any = gymnasium.vector.SyncVectorEnv
WRITER: Any = SummaryWriter


class NeverStop:
    """Nobody asks for a stop."""

    requested = False
    reason: str | None = None


class Level:
    """The functions that are patched in at one level, and its session."""

    def __init__(self, spec: StoredSpec, folder: Path, variables: dict[str, Any]) -> None:
        folder.mkdir()
        (folder / "control").mkdir()
        plan = make_plan(spec)
        telemetry = Telemetry(folder, RUN_ID, 1, spec)
        telemetry.config({})
        self.session = ScriptSession(spec, plan, telemetry, NeverStop(), variables)
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
            self.ways[name] = recorded(env, index, level.session)

    def turn(self, name: str) -> None:
        """Go over to another level in the middle of an episode, which counts as begun."""
        self.env = self.ways[name]
        if isinstance(self.env, CountedEnvironment | RecordedEnvironment):
            self.env.counter.is_open = True
            self.env.counter.records = isinstance(self.env, RecordedEnvironment)


class Switchboard:
    """Turns the level at every block's end and keeps the blocks' times."""

    def __init__(self, block: int, rollout: int | None) -> None:
        self.levels: dict[str, Level] = {}
        self.blocks: dict[str, list[float]] = {BARE: []}
        self.tails: dict[str, list[float]] = {BARE: []}
        self.optimizations: list[float] = []
        self._block = block
        self._rollout = rollout
        self._order: list[str] = []
        self._tail_order: list[str] = []
        self._name: str | None = None
        self._tail: str | None = None
        self._tail_began = 0.0
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
        self.tails[name] = []

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
                self._begin_tail()
            elif place % block == 0:
                if place == 0 and self._tail is not None:
                    self._end_tail()
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
        self._turn(self._name)
        self._began = time.thread_time()

    def _begin_tail(self) -> None:
        """Change to another level for the scalars of an update; its time begins with the first scalar."""
        if not self._tail_order:
            self._tail_order = self._random.sample(list(self.blocks), len(self.blocks))
        self._tail = self._tail_order.pop()
        self._turn(self._tail)
        told = WRITER.add_scalar

        def wait(writer: Any, tag: str, *args: Any, **kwargs: Any) -> None:
            if tag == FIRST_TAG:
                WRITER.add_scalar = told
                self._tail_began = time.thread_time()
            told(writer, tag, *args, **kwargs)

        WRITER.add_scalar = wait

    def _end_tail(self) -> None:
        now = time.thread_time()
        self.tails[self._tail or BARE].append(now - self._tail_began)
        self.optimizations.append(now - self._began)
        self._tail = None

    def _turn(self, name: str) -> None:
        functions = self.levels[name].functions if name in self.levels else self._bare
        VECTOR.step, VECTOR.reset = functions["step"], functions["reset"]
        WRITER.add_scalar = functions["add_scalar"]
        for switch in self._switches:
            switch.turn(name)


def main() -> None:
    """Train once and print the times."""
    algorithm, steps, block, names = sys.argv[1:5]
    environment, given = sys.argv[5:7] if len(sys.argv) > 5 else ("CartPole-v1", "{}")
    os.sched_setaffinity(0, {0})
    torch.set_num_threads(1)
    script = LoadedScript(f"cleanrl.{algorithm}")
    # dqn plays at random for 2 % of its default length before it learns; keep that share.
    parameters = {"learning_starts": int(steps) // 50} if algorithm == "dqn" else {}
    parameters |= json.loads(given)
    rollout = parameters.get("num_steps", ROLLOUT.get(algorithm))
    with tempfile.TemporaryDirectory() as home, chdir(home), ExitStack() as stack:
        if SCRIPTS[algorithm].imports("gym"):
            sys.path.insert(0, str(OLD_GYM_PATH))
        stack.enter_context(buffer_hook())
        board = Switchboard(int(block), rollout)
        for name in names.split(","):
            spec = StoredSpec.model_validate(
                {
                    "worker": "cleanrl",
                    "algorithm": algorithm,
                    "environment": environment,
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
        result = {
            "blocks": board.blocks,
            "tails": board.tails,
            "optimization_s": board.optimizations,
        }
        os.write(out, json.dumps(result).encode() + b"\n")


if __name__ == "__main__":
    main()
