"""What `doctor` says of a Slurm cluster: whether it answers, and what its settings cost a run."""

import os
import shutil
import subprocess

from mosaic_base.own_machine import first_elsewhere
from mosaic_contracts.slurm_settings import (
    CONFIG_COMMAND,
    NODES_COMMAND,
    SlurmSettings,
    parse_settings,
)
from mosaic_contracts.worker import Finding

SHORT_KILL_WAIT_S = 30
"""Slurm's own default; a run that saves a large checkpoint needs more."""
SHORT_MEMORY_S = 60
"""Twice the default time between two looks at the queue."""
_ANSWER_S = 30.0
_WHERE = "slurm"


def slurm_findings(*, is_broker_open: bool) -> list[Finding]:
    """Findings of the cluster; none where there is no Slurm, and the stack is not to use one.

    `is_broker_open`: whether the broker listens on more than loopback.
    """
    is_wanted = os.environ.get("MOSAIC_PLACEMENT") == "slurm"
    if shutil.which(CONFIG_COMMAND[0]) is None:
        words = (
            "no sbatch and scontrol on the PATH. Start the stack on a login node, or install Slurm's client programs "
            "with the cluster's slurm.conf."
        )
        return [_finding("blocking", words)] if is_wanted else []
    try:
        done = subprocess.run(
            CONFIG_COMMAND, capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except subprocess.TimeoutExpired:
        said = f"no answer in {_ANSWER_S:g} s"
    else:
        if done.returncode == 0:
            found = settings_findings(parse_settings(done.stdout))
            return found if is_broker_open or not is_wanted else found + broker_findings()
        said = " ".join(done.stderr.split())
    words = f"its controller does not answer ({said}). Live runs go on; none starts."
    return [_finding("blocking" if is_wanted else "warning", words)]


def broker_findings() -> list[Finding]:
    """What a broker on loopback means for a cluster: nothing, if all of its nodes are this machine."""
    try:
        done = subprocess.run(
            NODES_COMMAND, capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [_finding("warning", f"its nodes are not known ({error}).")]
    node = first_elsewhere(dict.fromkeys(done.stdout.split()))
    if not node:
        return []
    return [
        _finding(
            "warning",
            f"the broker listens on this machine alone, and nodes such as {node} do not reach it. Start the stack with "
            "--broker-bind 0.0.0.0.",
        )
    ]


def settings_findings(settings: SlurmSettings) -> list[Finding]:
    """What the settings of a site cost a run, and who can change it."""
    found = [_finding("ok", f"Slurm {settings.version} answers")]
    if settings.kill_wait_s < SHORT_KILL_WAIT_S:
        found.append(
            _finding(
                "warning",
                f"KillWait is {settings.kill_wait_s} s: a run that Slurm ends (preemption, time limit, scancel) has "
                "only that long to save its checkpoint. MOSAIC's own stops keep grace_s. The site can raise it.",
            )
        )
    if settings.remembers_s < SHORT_MEMORY_S:
        found.append(
            _finding(
                "warning",
                f"MinJobAge is {settings.remembers_s} s: Slurm may forget why a job died before MOSAIC asks. Lower "
                "MOSAIC_SLURM_POLL_S to half of it, or ask the site to raise it.",
            )
        )
    if not settings.holds_memory:
        found.append(
            _finding(
                "warning",
                "no job is held to its memory (TaskPlugin has no task/cgroup, or ConstrainRAMSpace is off): a run that "
                "takes too much slows down or ends others. The site can turn it on.",
            )
        )
    if not settings.ends_all:
        found.append(
            _finding(
                "warning",
                "ProctrackType is not proctrack/cgroup: a process that leaves its session can outlive its job.",
            )
        )
    return found


def _finding(level: str, message: str) -> Finding:
    return Finding.model_validate({"level": level, "where": _WHERE, "message": message})
