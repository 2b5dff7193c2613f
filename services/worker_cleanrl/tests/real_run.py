"""Start real runs of this worker, as the runner would."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.run_events import RUN_ID, read_events

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.oldgym import OLD_GYM_PATH

ENVIRONMENT = {
    **os.environ,
    "OMP_NUM_THREADS": "1",
    "CUDA_VISIBLE_DEVICES": "",
    "PYTHONPATH": str(Path(__file__).parents[1]),  # for the odd script beside the tests
}


@dataclass(frozen=True)
class Finished:
    """A run that has ended."""

    folder: Path
    code: int
    stdout: str
    stderr: str
    events: list[dict[str, Any]]


def start_run(
    folder: Path, spec: RunSpec, module: str = "mosaic_worker_cleanrl"
) -> subprocess.Popen[str]:
    """Start a worker process in a run folder."""
    (folder / "control").mkdir(parents=True)
    run = {"run_id": RUN_ID, "attempt": 1, "spec": spec.model_dump(mode="json")}
    (folder / "spec.json").write_text(json.dumps(run))
    return subprocess.Popen(
        [sys.executable, "-m", module, "train", "--run-dir", str(folder)],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], folder: Path) -> Finished:
    """Wait for the end of a run and read what it wrote."""
    out, err = process.communicate(timeout=120)
    return Finished(folder, process.returncode, out, err, read_events(folder))


def run(folder: Path, spec: RunSpec, module: str = "mosaic_worker_cleanrl") -> Finished:
    """Run a spec to its end."""
    return finish(start_run(folder, spec, module), folder)


def wait_for_event(folder: Path, kind: str, process: subprocess.Popen[str]) -> None:
    """Wait until the run has written an event of a type; it is polled, for a file has no other signal."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if (folder / "outbox").exists() and any(e["type"] == kind for e in read_events(folder)):
            return
        time.sleep(0.05)
    raise AssertionError(f"no event of type {kind} was written in time")


def run_bare(folder: Path, module: str, argv: list[str], *, with_shim: bool) -> str:
    """Run the script itself, without MOSAIC, and return what it printed."""
    folder.mkdir(parents=True)
    env = dict(ENVIRONMENT)
    if with_shim:
        env["PYTHONPATH"] = str(OLD_GYM_PATH)
    done = subprocess.run(
        [sys.executable, "-m", module, *argv],
        check=True,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
    )
    return done.stdout


def episode_lines(stdout: str) -> list[str]:
    """Return the lines about episodes; those about speed differ from run to run."""
    return [line for line in stdout.splitlines() if "episodic_return" in line]
