"""What is the same for the jobs of every cluster: which runs are jobs, how a job is named, and what was handed over."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path

from mosaic_contracts.spec import RunKind
from mosaic_scheduler.executors.protocol import AttemptRef, LaunchSpec
from mosaic_scheduler.executors.run_folder import RunFolder

JOB_KINDS = frozenset({RunKind.TRAIN, RunKind.EVALUATE})
"""Kinds of runs that are jobs of a cluster. The others are small and belong to a person or to the stack: replays,
plays, TensorBoards, syncs and sweeps, which only choose other runs. They are processes of the scheduler's machine."""
_ATTEMPT = re.compile(r"([0-9A-Z]{26})-(\d+)")


class JobNames:
    """Names of this stack's jobs. An attempt has one name for ever; a cluster gives an id a second time."""

    def __init__(self, home: Path) -> None:
        self.prefix = f"mosaic-{hashlib.sha256(str(home).encode()).hexdigest()[:8]}-"
        """All of this stack's jobs begin with it, and no other stack's."""

    def of(self, ref: AttemptRef) -> str:
        """The name of an attempt's job."""
        return f"{self.prefix}{ref.run_id}-{ref.attempt}"

    def ref(self, name: str) -> AttemptRef | None:
        """The attempt of a job; None: it is not this stack's."""
        found = _ATTEMPT.fullmatch(name.removeprefix(self.prefix))
        if found is None or not name.startswith(self.prefix):
            return None
        return AttemptRef(found[1], int(found[2]))


def was_handed_over(folder: RunFolder, job_file: str) -> bool:
    """Whether the attempt was given to the cluster, by the file that is written for its job."""
    return folder.read_launch() is not None and (folder.path / job_file).exists()


def as_job(launch_spec: LaunchSpec, *, shares_folder: bool = True) -> LaunchSpec:
    """The launch of a job: nothing runs in an image, and the cluster hands out the devices."""
    return replace(
        launch_spec,
        image=None,
        grant=None,
        engine_gives_devices=True,
        shares_folder=shares_folder,
    )
