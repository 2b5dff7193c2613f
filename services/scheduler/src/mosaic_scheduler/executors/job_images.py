"""Apptainer images (SIF) in which jobs of a cluster run: a folder of files that scheduler and nodes see.

Docker's images do not exist on most clusters. A worker's image, exported as `worker_NAME.sif`, has runner, shipper and
worker in it, so that a node needs Apptainer and no environment of MOSAIC.
"""

import shlex
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic_contracts.spec import RunKind
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.cluster_jobs import JOB_KINDS
from mosaic_scheduler.executors.job_start import JobStart, end_without, runner_argv
from mosaic_scheduler.executors.protocol import LaunchSpec
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.settings import SchedulerSettings

_SUFFIX = ".sif"
_MAGIC, _MAGIC_AT = b"SIF_MAGIC\0", 32
"""After the line by which the kernel would start the file."""
_ID_AT = _MAGIC_AT + len(_MAGIC) + 3 + 3
"""After the versions of format and architecture; see `apptainer sif header FILE`."""
_ID_BYTES = 16
_PASSED = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""Variables by which Slurm names the GPUs of a job. All others stay outside."""
_SEPARATORS = frozenset(":,")
"""Characters that divide the parts of `--bind`."""
_OUTSIDE = "APPTAINERENV_", "SINGULARITYENV_"
"""Beginnings of variables that Apptainer, and SingularityCE, set in the container."""


@dataclass(frozen=True)
class JobImages:
    """The images and how they are started."""

    folder: Path
    program: str = "apptainer"
    """Command on the nodes: `apptainer`, or `singularity` for SingularityCE."""
    more: tuple[str, ...] = ()
    """Further options of `apptainer exec`."""

    def fault(self, image: str | None, image_command: Sequence[str], kind: RunKind) -> str:
        """Why no job of a worker with this image can be started; empty: it can, or its runs are no jobs."""
        if image is None or kind not in JOB_KINDS:
            return ""
        try:
            self._require(image_command)
            self.identify(image)
        except LaunchFailed as error:
            return str(error)
        return ""

    def file(self, image: str) -> Path:
        """Where the image of this name is."""
        return self.folder / f"{image.rsplit('/', 1)[-1].partition(':')[0]}{_SUFFIX}"

    def identify(self, image: str) -> str:
        """The file's name, and the id that its build gave it.

        Raises:
            LaunchFailed: there is no such file, or it is no Apptainer image.
        """
        path = self.file(image)
        name = path.stem.removeprefix("worker_")
        todo = f"Make it with `./mosaic images export {name} -o {path}`."
        try:
            with path.open("rb") as file:
                head = file.read(_ID_AT + _ID_BYTES)
        except OSError as error:
            raise LaunchFailed(
                f"Its image for jobs, {path}, cannot be read: {error.strerror}. {todo}"
            ) from error
        if head[_MAGIC_AT:].startswith(_MAGIC) and len(head) == _ID_AT + _ID_BYTES:
            return f"{path.name}@{uuid.UUID(bytes=head[_ID_AT:])}"
        raise LaunchFailed(f"{path} is no Apptainer image (SIF). {todo}")

    def inside(self, launch_spec: LaunchSpec) -> LaunchSpec:
        """The same attempt with the commands of the image; a worker without an image is left as it is.

        Raises:
            LaunchFailed: its image is not there, or its command is a program of this machine.
        """
        if launch_spec.image is None:
            return launch_spec
        self._require(launch_spec.image_command)
        return replace(
            launch_spec,
            job_image=self.identify(launch_spec.image),
            python=launch_spec.image_python,
            drain_python=launch_spec.python,
            worker_command=list(launch_spec.image_command),
        )

    def path_of(self, identity: str) -> Path:
        """The file of an image by what `identify` says of it."""
        return self.folder / identity.rpartition("@")[0]

    def start(self, there: RunFolder, launch_spec: LaunchSpec) -> JobStart:
        """Start the runner in the image of an attempt; `inside` said which it is.

        Args:
            there: the run's folder as the node has it; it is added to the folders that the site shows.
            launch_spec: of the attempt.

        Raises:
            LaunchFailed: Apptainer cannot be given a folder of this name.
        """
        run_folder, sif = there.path, self.path_of(launch_spec.job_image or "")
        if _SEPARATORS & set(str(run_folder)):
            raise LaunchFailed(
                f"{run_folder} has a colon or a comma, which `apptainer exec --bind` takes for its own. Choose another "
                "MOSAIC_HOME."
            )
        # With GPUs the node's driver is to be seen in the image.
        options = ["--cleanenv", *(["--nv"] if launch_spec.spec.gpus else [])]
        options += ["--bind", str(run_folder), "--pwd", str(run_folder), *self.more]
        return JobStart(
            checks=[
                end_without(
                    f"command -v {shlex.quote(self.program)} >/dev/null", _no_program(self.program)
                ),
                end_without(f"test -r {shlex.quote(str(sif))}", _no_file(sif)),
            ],
            exports=[
                *(
                    f"export {beginning}{name}={shlex.quote(value)}"
                    for name, value in there.environment().items()
                    for beginning in self._beginnings
                ),
                *(
                    f'test -z "${{{name}+set}}" || export {beginning}{name}="${name}"'
                    for name in _PASSED
                    for beginning in self._beginnings
                ),
            ],
            argv=[self.program, "exec", *options, str(sif), *runner_argv(there, launch_spec)],
        )

    @staticmethod
    def _require(image_command: Sequence[str]) -> None:
        if not image_command:
            raise LaunchFailed(
                "Its command names a folder of this machine, which its image does not see. Copy the program into the "
                "image and name it in worker.toml as it is called there."
            )

    @property
    def _beginnings(self) -> tuple[str, ...]:
        is_singularity = Path(self.program).name == "singularity"
        return _OUTSIDE if is_singularity else _OUTSIDE[:1]


def job_images(settings: SchedulerSettings) -> JobImages | None:
    """Those of the settings; None: jobs run in the environments of the nodes."""
    if settings.placement != "slurm" or settings.slurm_images is None:
        return None
    more = tuple(shlex.split(settings.slurm_apptainer_options))
    return JobImages(settings.slurm_images, settings.slurm_apptainer, more)


def _no_program(program: str) -> str:
    return (
        f"{program} is not on the PATH of this node. Load its module before `./mosaic up`, or name the command in "
        "MOSAIC_SLURM_APPTAINER."
    )


def _no_file(sif: Path) -> str:
    return f"This node cannot read {sif}. MOSAIC_SLURM_IMAGES must be a folder that all nodes see at this path."
