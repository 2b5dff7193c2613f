"""How fast worker_spade learns, who decides, and what telling costs; and what the agent's decisions are good for.

    var/venvs/worker_spade/bin/python benchmarks/worker_spade.py speed     episodes/s, steps/s, mean length, by map
    var/venvs/worker_spade/bin/python benchmarks/worker_spade.py success   greedy success, bdi_q against q_learning
    var/venvs/worker_spade/bin/python benchmarks/worker_spade.py told      what a scout's report is worth
    var/venvs/worker_spade/bin/python benchmarks/worker_spade.py stop      from SIGTERM to the end of the process

Speed is the CPU time of the training process from the first step to the last, all ways in turn within each round,
medians of the rounds; the agents log in at a real ejabberd (apt-get install ejabberd) before. `on` writes the worker's
real outbox at the default recording level, `off` writes nothing. The slow ways take fewer steps (`WAYS`), so their
episodes are from earlier in the training: hence mean length and steps/s in addition to episodes/s.
"""

import argparse
import asyncio
import importlib
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "services/worker_spade"))

from tests.run_folder import has, start, wait_for  # noqa: E402 - as the room's tests start runs
from tests.xmpp_server import LocalXmppServer  # noqa: E402 - the server of the room's tests

from mosaic_base.atomic import atomic_file  # noqa: E402
from mosaic_contracts.runs import StoredSpec  # noqa: E402
from mosaic_contracts.xmpp import ENV_XMPP_FILE  # noqa: E402
from mosaic_worker_spade.deliberation.behaviour import AgentBehaviour  # noqa: E402
from mosaic_worker_spade.learning.learner import Learner  # noqa: E402
from mosaic_worker_spade.learning.loop import Option  # noqa: E402
from mosaic_worker_spade.learning.reference import run_reference  # noqa: E402
from mosaic_worker_spade.learning.surprise import NoWatch  # noqa: E402
from mosaic_worker_spade.request import make_draft  # noqa: E402
from mosaic_worker_spade.session import LearningSession  # noqa: E402
from mosaic_worker_spade.team import Team  # noqa: E402
from mosaic_worker_spade.xmpp.access import read_access  # noqa: E402
from mosaic_workerkit.control import StopFlag  # noqa: E402
from mosaic_workerkit.entry import TrainContext  # noqa: E402
from mosaic_workerkit.telemetry import Telemetry  # noqa: E402

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
MAPS: dict[str, dict[str, Any]] = {
    "FrozenLake 4x4, not slippery": {"slippery": False},
    "FrozenLake 4x4, slippery": {"slippery": True},
}
STEPWISE = """!go.
+!go : left(0) <- .finish.
+!go : state(S) <- .choose_action(S, A); .act(A); !!go.
+!go <- .look; !!go.
"""


class NoRecords:
    """Telemetry that is off; checkpoints are saved all the same."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_checkpoint(self, path: str, write: Callable[[Path], None], *_: object) -> None:
        """Write it, durably, and tell nobody."""
        target = self._folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target, durable=True) as draft:
            write(draft)

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return _nothing


def _nothing(*_: object, **__: object) -> None:
    pass


def session_of(folder: Path, *, tells: bool, **spec: Any) -> LearningSession:
    """A run, as `train` has it after the config."""
    (folder / "control").mkdir(parents=True)
    whole = {"worker": "spade", "environment": "FrozenLake-v1", **spec}
    (folder / "spec.json").write_text(json.dumps({"run_id": RUN_ID, "attempt": 1, "spec": whole}))
    if not tells:
        whole["record"] = "metrics"
    telemetry: Any = Telemetry.open(folder) if tells else NoRecords(folder)
    stored = StoredSpec.model_validate(whole)
    context = TrainContext(run_dir=folder, spec=stored, telemetry=telemetry, stop=StopFlag())
    session = LearningSession(context, make_draft(stored))
    session.record_config()
    return session


class CountingClock:
    """CPU and wall time of the training itself."""

    def __enter__(self) -> "CountingClock":
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu_s = time.process_time() - self._cpu
        self.wall_s = time.perf_counter() - self._wall


class TimedTeam(Team):
    """A team whose login is not counted."""

    def __init__(self, session: LearningSession) -> None:
        super().__init__(session, read_access(os.environ, session.draft.parameters.agents))
        self.clock = CountingClock()

    async def _wait(self, learner: AgentBehaviour) -> None:
        with self.clock:
            await super()._wait(learner)


def by_env_step(session: LearningSession) -> CountingClock:
    """The textbook loop."""
    with CountingClock() as clock:
        run_reference(session.learner, session.draft.env_seed, session.left, session.recorder)
    return clock


def by_options(session: LearningSession) -> CountingClock:
    """Plain Q-learning of this worker; which loop it runs in, its spec says."""
    with CountingClock() as clock:
        while session.left > 0:
            session.run_option(Option(2_000, session.last_step), NoWatch())
    return clock


def by_agent(session: LearningSession) -> CountingClock:
    """The agent decides as its plan says."""
    team = TimedTeam(session)
    asyncio.run(team.run())
    return team.clock


LISTS, COMPILED = {"parameters": {"loop": "list"}}, {"parameters": {"loop": "compiled"}}
WAYS: dict[str, tuple[Callable[[LearningSession], CountingClock], dict[str, Any], float]] = {
    "env.step loop": (by_env_step, {"algorithm": "q_learning"}, 1 / 3),
    "list loop": (by_options, {"algorithm": "q_learning", **LISTS}, 1),
    "compiled loop": (by_options, {"algorithm": "q_learning", **COMPILED}, 1),
    "BDI per option": (by_agent, {"algorithm": "bdi_q", **LISTS}, 1),
    "BDI per option, compiled": (by_agent, {"algorithm": "bdi_q", **COMPILED}, 1),
    "BDI per step": (by_agent, {"algorithm": "bdi_q", "parameters": {"plan": STEPWISE}}, 1 / 15),
}
"""What runs, its spec, and its share of the steps: the slow ones would take minutes."""


def speed(folder: Path, rounds: int, steps: int, ways: list[str]) -> None:
    """These ways with telemetry on and off; what compiling costs comes first, and is in none of them."""
    if any(WAYS[way][1].get("parameters") == COMPILED["parameters"] for way in ways):
        with CountingClock() as clock:
            importlib.import_module("mosaic_worker_spade.learning.compiled")
        print(json.dumps({"numba imported and loop compiled, CPU s": round(clock.cpu_s, 2)}))
    for title, wish in MAPS.items():
        found: dict[tuple[str, bool], list[tuple[float, float, Learner]]] = {}
        for number in range(rounds):
            for way, (run, spec, share) in WAYS.items():
                if way not in ways:
                    continue
                for tells in (True, False) if number % 2 else (False, True):
                    place = Path(tempfile.mkdtemp(dir=folder)) / "run"
                    parameters = {**wish, **spec.get("parameters", {})}
                    fields = {
                        **spec,
                        "parameters": parameters,
                        "steps": int(steps * share),
                        "seed": number + 1,
                    }
                    session = session_of(place, tells=tells, **fields)
                    clock = run(session)
                    session.context.telemetry.close()
                    told = (clock.cpu_s, clock.wall_s, session.learner)
                    found.setdefault((way, tells), []).append(told)
        for way in ways:
            for tells in (False, True):
                print(json.dumps(_speed_line(title, way, tells, found)), flush=True)


def _speed_line(title: str, way: str, tells: bool, found: Any) -> dict[str, Any]:
    runs, silent = found[(way, tells)], found[(way, False)]
    episodes = [learner.counts.episodes for _, _, learner in runs]
    steps = [learner.counts.steps for _, _, learner in runs]
    ratios = [a[0] / b[0] for a, b in zip(runs, silent, strict=True)]
    return {
        "map": title,
        "who decides": way,
        "telemetry": "on" if tells else "off",
        "episodes/s": round(
            statistics.median(e / r[0] for e, r in zip(episodes, runs, strict=True))
        ),
        "episodes/s by wall": round(
            statistics.median(e / r[1] for e, r in zip(episodes, runs, strict=True))
        ),
        "steps/s": round(statistics.median(s / r[0] for s, r in zip(steps, runs, strict=True))),
        "mean episode length": round(sum(steps) / sum(episodes), 1),
        "telemetry cost": f"{statistics.median(ratios) - 1:+.1%}" if tells else None,
    }


def greedy_success(learner: Learner, episodes: int = 500) -> float:
    """Share of episodes that the learned table solves without exploring."""
    env, solved = learner.world.make(), 0
    state = int(env.reset(seed=12345)[0])
    for _ in range(episodes):
        over = False
        while not over:
            told = env.step(learner.greedy(state))
            state, over = int(told[0]), bool(told[2] or told[3])
            solved += told[2] and told[1] > 0
        state = int(env.reset()[0])
    env.close()
    return solved / episodes


def success(folder: Path, seeds: int) -> None:
    """Compare bdi_q with q_learning: same steps, same rates, same seeds."""
    worlds: list[tuple[str, str, dict[str, Any], int]] = [
        ("FrozenLake 4x4, slippery", "FrozenLake-v1", {}, 100_000),
        ("FrozenLake 8x8, not slippery", "FrozenLake8x8-v1", {"slippery": False}, 100_000),
        ("FrozenLake 8x8, slippery", "FrozenLake8x8-v1", {}, 300_000),
    ]
    for title, name, wish, steps in worlds:
        for algorithm, run in (("q_learning", by_options), ("bdi_q", by_agent)):
            rates = []
            for seed in range(1, seeds + 1):
                place = Path(tempfile.mkdtemp(dir=folder)) / "run"
                fields = {"algorithm": algorithm, "environment": name, "parameters": wish}
                session = session_of(place, tells=False, seed=seed, steps=steps, **fields)
                run(session)
                rates.append(greedy_success(session.learner))
            print(json.dumps(_success_line(title, algorithm, steps, rates)), flush=True)


def _success_line(title: str, algorithm: str, steps: int, rates: list[float]) -> dict[str, Any]:
    return {
        "map": title,
        "algorithm": algorithm,
        "steps": steps,
        "greedy success, median": statistics.median(rates),
        "lowest": min(rates),
        "highest": max(rates),
        "seeds": len(rates),
    }


class Successes:
    """Keeps which episodes were solved."""

    def __init__(self, session: LearningSession) -> None:
        self.solved: list[bool] = []
        inner = session.recorder.end

        def end(
            learner: Learner, length: int, total: float, flags: int, success: bool, spent: float
        ) -> None:
            self.solved.append(success)
            inner(learner, length, total, flags, success, spent)

        session.recorder.end = end  # type: ignore[method-assign] # a benchmark listens in

    def first(self) -> int | None:
        """Number of the first solved episode, from 1."""
        return self.solved.index(True) + 1 if True in self.solved else None

    def reliable(self) -> int | None:
        """After how many episodes 90 of the last 100 were solved."""
        for end in range(100, len(self.solved) + 1):
            if sum(self.solved[end - 100 : end]) >= 90:
                return end
        return None


def told(folder: Path, seeds: int) -> None:
    """Compare one agent with two, on the large lake without ice."""
    for agents in (1, 2):
        found = []
        for seed in range(1, seeds + 1):
            place = Path(tempfile.mkdtemp(dir=folder)) / "run"
            parameters = {"slippery": False, "agents": agents}
            fields = {
                "algorithm": "bdi_q",
                "environment": "FrozenLake8x8-v1",
                "parameters": parameters,
            }
            session = session_of(place, tells=False, seed=seed, steps=100_000, **fields)
            received = Successes(session)
            by_agent(session)
            found.append(received)
        firsts = [s.first() or len(s.solved) for s in found]
        reliable = [s.reliable() or len(s.solved) for s in found]
        line = {
            "map": "FrozenLake 8x8, not slippery",
            "agents": agents,
            "first success at episode, median": statistics.median(firsts),
            "90 of 100 solved after episode, median": statistics.median(reliable),
            "seeds": seeds,
        }
        print(json.dumps(line), flush=True)


def stop(folder: Path, rounds: int) -> None:
    """A run in the middle of its learning is stopped politely, and saves its checkpoint."""
    for algorithm in ("q_learning", "bdi_q"):
        seconds = []
        for _ in range(rounds):
            place = Path(tempfile.mkdtemp(dir=folder)) / "run"
            access = Path(os.environ[ENV_XMPP_FILE])
            process = start(place, access, algorithm=algorithm, steps=10**9, record="episodes")
            wait_for(place, process, has("episode"))
            began = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            process.wait()
            seconds.append(time.perf_counter() - began)
            if process.returncode or not (place / "checkpoints/stop.npz").exists():
                raise RuntimeError(f"{algorithm} did not stop well: {process.returncode}")
            process.communicate()
        line = {
            "algorithm": algorithm,
            "SIGTERM to end, median s": round(statistics.median(seconds), 2),
            "lowest": round(min(seconds), 2),
            "highest": round(max(seconds), 2),
            "rounds": rounds,
        }
        print(json.dumps(line), flush=True)


def main() -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "success", "told", "stop"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=300_000)
    parser.add_argument("--way", action="append", choices=list(WAYS), help="of speed: only this")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    server = LocalXmppServer()
    if not server.start():
        print("needs ejabberd: apt-get install --no-install-recommends ejabberd", file=sys.stderr)
        return 1
    try:
        with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as name:
            folder = Path(name)
            os.environ[ENV_XMPP_FILE] = str(server.write_access(folder / "access.json", 2))
            if options.what == "speed":
                speed(folder, options.rounds, options.steps, options.way or list(WAYS))
            elif options.what == "success":
                success(folder, options.seeds)
            elif options.what == "stop":
                stop(folder, options.rounds)
            else:
                told(folder, options.seeds)
    finally:
        server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
