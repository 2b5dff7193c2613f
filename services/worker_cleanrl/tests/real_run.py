"""Real runs of this worker, each in a process of its own."""

import multiprocessing
import os
import runpy
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.environment.extras import known_environments
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH
from mosaic_worker_cleanrl.worker import CleanrlWorker
from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.recorded import of_type, read_events, write_spec

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
TIMEOUT_S = 120

# Imports cost a run five times what its training does. Children of this server have them already, and nothing else:
# it is started fresh and never trains.
_server = multiprocessing.get_context("forkserver")
_server.set_forkserver_preload(
    [
        "mosaic_worker_cleanrl.worker",
        "stable_baselines3.common.buffers",
        "torch.utils.tensorboard",
        "tests.preloaded",
    ]
)


@dataclass(frozen=True)
class FinishedTraining:
    """A run that has ended."""

    folder: Path
    code: int | None
    stdout: str
    stderr: str
    events: list[dict[str, Any]]


def run(folder: Path, spec: RunSpec, prepare: Callable[[], None] | None = None) -> FinishedTraining:
    """Run a spec to its end, in a child of a process that has imported torch; `prepare` is called there first."""
    return finish_child(start_child(folder, spec, prepare), folder)


def play(folder: Path, spec: RunSpec) -> FinishedTraining:
    """Play or evaluate to the end, in such a child."""
    return finish_child(start_child(folder, spec, verb="play"), folder)


def replay(folder: Path) -> FinishedTraining:
    """Rebuild the episode that a run folder names, in such a child."""
    return finish_child(_start(folder, None, "replay"), folder)


def last_checkpoint(finished: FinishedTraining) -> Path:
    """The file that a training ended with."""
    assert finished.code == 0, finished.stderr
    return finished.folder / str(of_type(finished.events, "checkpoint")[-1]["path"])


def start_child(
    folder: Path, spec: RunSpec, prepare: Callable[[], None] | None = None, verb: str = "train"
) -> ForkServerProcess:
    """Start a run in such a child."""
    _make_folder(folder, spec)
    return _start(folder, prepare, verb)


def _start(folder: Path, prepare: Callable[[], None] | None, verb: str) -> ForkServerProcess:
    child = _server.Process(target=_serve, args=(folder, prepare, verb))
    child.start()
    return child


def finish_child(
    child: ForkServerProcess, folder: Path, timeout_s: float = TIMEOUT_S
) -> FinishedTraining:
    """Wait for its end and read what it wrote."""
    child.join(timeout_s)
    if child.exitcode is None:
        child.kill()
        child.join()
    out, err = ((folder / name).read_text() for name in ("stdout", "stderr"))
    return FinishedTraining(folder, child.exitcode, out, err, read_events(folder))


def _serve(folder: Path, prepare: Callable[[], None] | None, verb: str) -> None:
    _redirect(folder)
    if prepare is not None:
        prepare()
    sys.exit(main(CleanrlWorker(), [verb, "--run-dir", str(folder)]))


def start_run(folder: Path, spec: RunSpec) -> subprocess.Popen[str]:
    """Start a run as the runner would, from the very beginning, imports included."""
    _make_folder(folder, spec)
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic_worker_cleanrl", "train", "--run-dir", str(folder)],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> FinishedTraining:
    """Wait for the end of a run and read what it wrote."""
    out, err = process.communicate(timeout=TIMEOUT_S)
    return FinishedTraining(folder, process.returncode, out, err, read_events(folder))


def wait_for_event(
    folder: Path,
    kind: str,
    is_alive: Callable[[], bool],
    fits: Callable[[dict[str, Any]], bool] = lambda _: True,
) -> None:
    """Wait until the run has written an event of a type that fits; it is polled, for a file has no other signal."""
    deadline, pause_s = time.monotonic() + TIMEOUT_S / 2, 0.05
    while time.monotonic() < deadline and is_alive():
        if (folder / "outbox").exists() and any(
            e["type"] == kind and fits(e) for e in read_events(folder)
        ):
            return
        time.sleep(pause_s)
        pause_s = min(0.3, 1.2 * pause_s)  # each look reads all that was written
    raise AssertionError(f"no event of type {kind} was written in time")


def _make_folder(folder: Path, spec: RunSpec) -> None:
    (folder / "control").mkdir(parents=True)
    write_spec(folder, spec.model_dump(mode="json"))


def in_child(act: Callable[[], None]) -> None:
    """Call a function in such a child, and fail where it does."""
    child = _server.Process(target=act)
    child.start()
    child.join(TIMEOUT_S)
    assert child.exitcode == 0


def run_bare(folder: Path, module: str, argv: list[str], *, with_shim: bool) -> str:
    """Run the script itself, without MOSAIC, and return what it printed; its TensorBoard files are below `runs`."""
    folder.mkdir(parents=True)
    child = _server.Process(target=_serve_bare, args=(folder, module, argv, with_shim))
    child.start()
    child.join(TIMEOUT_S)
    if child.exitcode != 0:
        child.kill()
        raise AssertionError(f"{module} failed: {(folder / 'stderr').read_text()}")
    return (folder / "stdout").read_text()


def _serve_bare(folder: Path, module: str, argv: list[str], with_shim: bool) -> None:
    """What `python -m module` does; nothing of this worker listens."""
    _redirect(folder)
    os.chdir(folder)
    if with_shim:
        sys.path.insert(0, str(OLD_GYM_PATH))
    known_environments()  # as importing ale_py would, which a person's own script does not do
    sys.argv = [module, *argv]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _redirect(folder: Path) -> None:
    for number, name in ((1, "stdout"), (2, "stderr")):
        with (folder / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    os.environ.update(ENVIRONMENT)
    torch.set_num_threads(1)


def same(one: Any, other: Any) -> bool:
    """Whether two states of networks or optimizers hold the same tensors and values."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    return bool(one == other)


def read_scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return every scalar in the TensorBoard files of a folder by tag: step and float32 value."""
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(scalar.step, scalar.value) for scalar in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def episode_lines(stdout: str) -> list[str]:
    """Return the lines about episodes; those about speed differ from run to run."""
    return [line for line in stdout.splitlines() if "episodic_return" in line]
