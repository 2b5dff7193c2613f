"""Apptainer images of jobs: which file a worker's image is, and the lines of a job's script that start it.

The lines run in a real shell with a stand-in for Apptainer, which records how it was called and says nothing of what
Apptainer does with that. test_slurm_images.py has the real one.
"""

import asyncio
import struct
import subprocess
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_scheduler.admission.context import Context
from mosaic_scheduler.admission.provisions import check_job_image
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.job_images import JobImages, job_images
from mosaic_scheduler.executors.protocol import AttemptRef, LaunchSpec
from mosaic_scheduler.executors.slurm import JOB_FILE, SlurmExecutor, SlurmOptions, _prepare
from mosaic_scheduler.settings import SchedulerSettings

IMAGE = "localhost/mosaic/worker_cleanrl:0.1.0"
ID = uuid.UUID("01234567-89ab-cdef-0123-456789abcdef")
COMMAND = ["python", "-I", "-m", "mosaic_worker_cleanrl"]
STAND_IN = """\
#!/bin/sh
for word in "$@"; do printf '%s\\n' "$word"; done >"$RECORDED"
env | grep -E '^(APPTAINERENV|SINGULARITYENV)_' | sort >>"$RECORDED"
"""


def make_sif(path: Path) -> None:
    """The head of a SIF, by the format's definition: a line for the kernel, magic, versions, id."""
    head = struct.pack(
        "<32s10s3s3s16s",
        b"#!/usr/bin/env run-singularity\n",
        b"SIF_MAGIC\0",
        b"01\0",
        b"02\0",
        ID.bytes,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(head + b"\0" * 64)


@pytest.fixture
def images(tmp_path: Path) -> JobImages:
    """A folder with the image of one worker."""
    make_sif(tmp_path / "images" / "worker_cleanrl.sif")
    return JobImages(tmp_path / "images")


def launch_spec(**spec: int) -> LaunchSpec:
    """An attempt of a worker that has an image."""
    return LaunchSpec(
        ref=AttemptRef("01J00000000000000000000000", 1),
        spec=RunSpec(worker="cleanrl", algorithm="ppo", environment="CartPole-v1", **spec),
        nonce="n",
        python="/venvs/worker_cleanrl/bin/python",
        worker_command=["/venvs/worker_cleanrl/bin/python", "-m", "mosaic_worker_cleanrl"],
        broker_url="tls://host:4222",
        write_creds=None,
        image=IMAGE,
        image_python="python",
        image_command=COMMAND,
    )


def test_an_image_is_found_by_its_name_and_known_by_its_id(images: JobImages) -> None:
    """The registry and the tag are no part of the file's name; the id is the one that its build wrote into it."""
    assert images.identify(IMAGE) == f"worker_cleanrl.sif@{ID}"
    assert images.path_of(images.identify(IMAGE)) == images.folder / "worker_cleanrl.sif"


@pytest.mark.parametrize("content", [None, b"", b"#!/bin/sh\n", b"x" * 200], ids=repr)
def test_what_is_no_image_is_refused_with_the_command_that_makes_it(
    images: JobImages, content: bytes | None
) -> None:
    """A file that is missing, empty, cut off or another one: for trainings, and for no run that is no job."""
    path = images.file(IMAGE)
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    said = images.fault(IMAGE, COMMAND, RunKind.TRAIN)
    assert f"./mosaic images export cleanrl -o {path}" in said
    assert images.fault(IMAGE, COMMAND, RunKind.REPLAY) == ""
    with pytest.raises(LaunchFailed, match="images export"):
        images.inside(launch_spec())


def test_a_worker_without_an_image_runs_in_the_nodes_environment(images: JobImages) -> None:
    """As a script of a user's own does, whose environment is a folder."""
    assert images.fault(None, [], RunKind.TRAIN) == ""
    assert "a folder of this machine" in images.fault(IMAGE, [], RunKind.TRAIN)


def test_a_run_without_its_image_is_refused_in_words(images: JobImages) -> None:
    """A submit refuses it as a worker that is not ready; preflight has it in the line of the image."""
    images.file(IMAGE).unlink()
    fault = images.fault(IMAGE, COMMAND, RunKind.TRAIN)
    (check,) = check_job_image(cast(Context, SimpleNamespace(image_fault=fault)))
    assert check.refuses
    assert (check.where, check.code) == ("worker", ProblemCode.WORKER_NOT_READY)
    assert (check.line().title, check.line().todo) == ("Image", "Do that, and check again.")
    assert check_job_image(cast(Context, SimpleNamespace(image_fault=""))) == []


def recorded(
    executor: SlurmExecutor, spec: LaunchSpec, tmp_path: Path, program: str = "apptainer"
) -> list[str]:
    """What Apptainer would have been called with by the script of a job."""
    folder = executor.folder(spec.ref)
    job = executor._as_job(spec)
    run_folder = executor._folder(spec.ref)
    there = executor._there(run_folder, spec.ref)
    _prepare(run_folder, there, job, executor._start(there, job))
    stand_in = tmp_path / "bin" / program
    stand_in.parent.mkdir(exist_ok=True)
    stand_in.write_text(STAND_IN)
    stand_in.chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", str(folder / JOB_FILE)],
        env={
            "PATH": f"{stand_in.parent}:/usr/bin:/bin",
            "RECORDED": str(tmp_path / "recorded"),
            "CUDA_VISIBLE_DEVICES": "0,1",
            "PYTHONPATH": "/site",
        },
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return (tmp_path / "recorded").read_text().splitlines()


def test_the_runner_is_started_in_the_image(images: JobImages, tmp_path: Path) -> None:
    """With the run's folder and the GPUs of the job, the image's own interpreter, and a clean environment."""
    executor = SlurmExecutor(tmp_path / "home", SlurmOptions(images=images))
    spec = launch_spec(gpus=2)
    folder = executor.folder(spec.ref)
    words = recorded(executor, spec, tmp_path)
    at = words.index(str(images.file(IMAGE)))
    options, inner = words[:at], words[at + 1 :]
    assert options == ["exec", "--cleanenv", "--nv", "--bind", str(folder), "--pwd", str(folder)]
    variables = [word for word in inner if word.startswith("APPTAINERENV_")]
    assert variables == [
        "APPTAINERENV_CUDA_VISIBLE_DEVICES=0,1",
        "APPTAINERENV_MOSAIC_ATTEMPT=1",
        f"APPTAINERENV_MOSAIC_RUN_DIR={folder}",
        f"APPTAINERENV_MOSAIC_RUN_ID={spec.ref.run_id}",
    ]
    argv = inner[: -len(variables)]
    assert (argv[0], argv[-3:]) == ("python", ["mosaic_workerkit.runner", "--run-dir", str(folder)])
    launched = executor._folder(spec.ref).read_launch()
    assert launched is not None
    assert launched.worker_argv[: len(COMMAND)] == COMMAND
    assert launched.shipper_argv[0] == "python"
    assert launched.drain_argv[0] == spec.python, "what is left is shipped by this machine"
    assert launched.image is None
    assert asyncio.run(executor.image(spec.ref)) == f"worker_cleanrl.sif@{ID}"


def test_options_and_singularity(images: JobImages, tmp_path: Path) -> None:
    """A site's own options come last; SingularityCE reads its own variables; a run without GPUs gets no driver."""
    mine = JobImages(images.folder, "singularity", ("--bind", "/data"))
    node_home = str(tmp_path / "node")
    executor = SlurmExecutor(tmp_path / "home", SlurmOptions(images=mine, node_home=node_home))
    spec = launch_spec()
    words = recorded(executor, spec, tmp_path, "singularity")
    folder = f"{node_home}/runs/{spec.ref.run_id}"
    at = words.index(str(images.file(IMAGE)))
    assert words[:at] == [
        *("exec", "--cleanenv", "--bind", folder, "--pwd", folder, "--bind", "/data"),
    ]
    assert f"SINGULARITYENV_MOSAIC_RUN_DIR={folder}" in words


@pytest.mark.parametrize("lacks", ["program", "file"])
def test_a_node_that_lacks_something_says_so(images: JobImages, tmp_path: Path, lacks: str) -> None:
    """Exit code 127 and one line, which the run's end then has."""
    executor = SlurmExecutor(tmp_path / "home", SlurmOptions(images=images))
    spec = launch_spec()
    recorded(executor, spec, tmp_path)
    (images.file(IMAGE) if lacks == "file" else tmp_path / "bin" / "apptainer").unlink()
    done = subprocess.run(
        ["/bin/sh", str(executor.folder(spec.ref) / JOB_FILE)],
        env={"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 127
    named = "MOSAIC_SLURM_IMAGES" if lacks == "file" else "MOSAIC_SLURM_APPTAINER"
    assert named in done.stderr


def test_a_folder_that_apptainer_cannot_be_given_is_refused(
    images: JobImages, tmp_path: Path
) -> None:
    """`--bind` divides its value at colons and commas."""
    executor = SlurmExecutor(tmp_path / "a:b", SlurmOptions(images=images))
    with pytest.raises(LaunchFailed, match="colon"):
        recorded(executor, launch_spec(), tmp_path)


def test_settings_name_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With Slurm alone; the options are read as a shell does."""
    monkeypatch.setenv("MOSAIC_SLURM_IMAGES", str(tmp_path))
    monkeypatch.setenv("MOSAIC_SLURM_APPTAINER_OPTIONS", "--bind '/my data'")
    assert job_images(SchedulerSettings()) is None
    monkeypatch.setenv("MOSAIC_PLACEMENT", "slurm")
    assert job_images(SchedulerSettings()) == JobImages(tmp_path, more=("--bind", "/my data"))
    monkeypatch.setenv("MOSAIC_SLURM_IMAGES", "")
    assert job_images(SchedulerSettings()) is None
