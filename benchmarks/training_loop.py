"""One training process under measurement; started by telemetry_cost.py in the environment of worker_cleanrl.

    python training_loop.py zygote              forks one measured child for each JSON line on stdin
    python training_loop.py train --run-dir DIR a worker as the scheduler starts it, with the same two stamps
    python training_loop.py bare MODULE ARGS    the installed script
    python training_loop.py describe | check    the worker's own answers

Two stamps bracket the training loop, the same in a bare script and in the worker: the first return of
`SyncVectorEnv.reset`, and the last call of `SummaryWriter.close`, which is each script's last statement. They are CPU
seconds of the whole process, all threads.
"""

import gc
import importlib
import json
import os
import resource
import runpy
import sys
import time
import traceback
from pathlib import Path
from typing import Any

SHARED_MODULES = (
    "gymnasium.envs.classic_control.cartpole",
    "stable_baselines3.common.buffers",
    "torch.utils.tensorboard",
    "mosaic_worker_cleanrl.launch.training",
    "mosaic_worker_cleanrl.launch.environment_hook",
    "mosaic_worker_cleanrl.launch.writer_hook",
)
STAMP_FILE = "stamps.json"
CORE = 0
"""Every measured trainer is pinned to this core."""


class Stamps:
    """CPU clock of this process at the two ends of the training loop."""

    def __init__(self) -> None:
        self.began: float | None = None
        self.ended: float | None = None
        self.wall_began = self.wall_ended = self.clock_began = 0.0

    def install(self) -> None:
        """Patch the two stamps in; code that hooks the same places later wraps them."""
        import gymnasium
        from torch.utils.tensorboard import SummaryWriter

        vector: Any = gymnasium.vector.SyncVectorEnv
        writer: Any = SummaryWriter
        reset, close = vector.reset, writer.close

        def stamped_reset(envs: Any, *args: Any, **kwargs: Any) -> Any:
            result = reset(envs, *args, **kwargs)
            if self.began is None:
                self.began, self.wall_began = time.process_time(), time.perf_counter()
                self.clock_began = time.time()
            return result

        def stamped_close(writer: Any) -> None:
            close(writer)
            self.ended, self.wall_ended = time.process_time(), time.perf_counter()

        vector.reset, writer.close = stamped_reset, stamped_close

    def result(self) -> dict[str, float]:
        """CPU and wall seconds of the loop, and CPU seconds of the process so far.

        Raises:
            RuntimeError: the loop did not begin or end.
        """
        if self.began is None or self.ended is None:
            raise RuntimeError("the script never reset an environment, or never closed its writer")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "loop_cpu_s": self.ended - self.began,
            "loop_wall_s": self.wall_ended - self.wall_began,
            "process_cpu_s": usage.ru_utime + usage.ru_stime,
            "clock_began": self.clock_began,
        }


def run_bare(module: str, argv: list[str]) -> None:
    """The installed script, as `python -m` would run it."""
    from mosaic_worker_cleanrl.algorithm import SCRIPTS
    from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH

    if SCRIPTS[module.removeprefix("cleanrl.")].imports(
        "gym"
    ):  # the old one, which only the shim can give
        sys.path.insert(0, str(OLD_GYM_PATH))
    sys.argv = [module, *argv]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def run_worker(argv: list[str]) -> int:
    """The worker's own command line."""
    sys.argv = ["mosaic_worker_cleanrl", *argv]
    try:
        runpy.run_module("mosaic_worker_cleanrl", run_name="__main__", alter_sys=True)
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    return 0


def measured(request: dict[str, Any]) -> None:
    """In a forked child: one bare script or one worker, stamps into the folder it runs in."""
    folder = Path(request["folder"])
    os.chdir(folder)
    os.sched_setaffinity(0, {CORE})
    log = os.open("out.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    stamps = Stamps()
    stamps.install()
    if request["variant"] == "bare":
        run_bare(request["module"], request["argv"])
    else:
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr] # PYTHONUNBUFFERED of a real run
        os.environ.update(request["environment"])
        code = run_worker(["train", "--run-dir", str(folder)])
        if code != 0:
            raise RuntimeError(f"the worker ended with {code}")
    Path(STAMP_FILE).write_text(json.dumps(stamps.result()))


def zygote() -> None:
    """Import what all variants import, once, and fork: every child starts from the same memory."""
    for name in SHARED_MODULES:
        importlib.import_module(name)
    torch = sys.modules["torch"]
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                measured(json.loads(line))
                os._exit(0)
            except BaseException:  # noqa: BLE001 - the child's boundary: told in its log and by its exit code
                traceback.print_exc()
                sys.stderr.flush()
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def main() -> int:
    """Serve one of the verbs."""
    if sys.argv[1] == "zygote":
        zygote()
        return 0
    if sys.argv[1] not in ("train", "bare"):
        return run_worker(sys.argv[1:])
    stamps = Stamps()
    stamps.install()
    code = 0
    if sys.argv[1] == "bare":
        run_bare(sys.argv[2], sys.argv[3:])
    else:
        os.sched_setaffinity(0, {CORE})
        code = run_worker(sys.argv[1:])
    Path(STAMP_FILE).write_text(json.dumps(stamps.result()))
    return code


if __name__ == "__main__":
    sys.exit(main())
