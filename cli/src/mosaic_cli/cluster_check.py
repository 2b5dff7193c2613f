"""What `doctor` says of a Slurm cluster: whether it answers, and what its settings cost a run."""

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
NO_PROGRAMS = (
    "Slurm's client programs (sbatch, squeue, scontrol) are not on the PATH. Start the stack on a login node, or "
    "install them with the cluster's slurm.conf."
)
PARTITIONS_COMMAND = ("sinfo", "-a", "-h", "-o", "%R")
"""The command that prints the name of each partition, also of hidden ones, one a line."""
_PROGRAMS = ("sbatch", "squeue", "scancel", "scontrol", "sinfo")
_ANSWER_S = 30.0
_WHERE = "slurm"


def slurm_findings(*, is_wanted: bool, partition: str, is_broker_open: bool) -> list[Finding]:
    """Findings of the cluster; none where there is no Slurm, and the stack is not to use one.

    Args:
        is_wanted: whether the stack starts runs there.
        partition: of its jobs; empty: the cluster's own.
        is_broker_open: whether the broker listens on more than loopback.
    """
    if shutil.which(CONFIG_COMMAND[0]) is None:
        return [_finding("blocking", NO_PROGRAMS)] if is_wanted else []
    try:
        done = subprocess.run(
            CONFIG_COMMAND, capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except subprocess.TimeoutExpired:
        said = f"no answer in {_ANSWER_S:g} s"
    else:
        if done.returncode == 0:
            found = settings_findings(parse_settings(done.stdout))
            if not is_wanted:
                return found
            if fault := partition_fault(partition):
                found.append(_finding("blocking", fault))
            return found if is_broker_open else found + broker_findings()
        said = " ".join(done.stderr.split())
    words = f"its controller does not answer ({said}). Live runs go on; none starts."
    return [_finding("blocking" if is_wanted else "warning", words)]


def start_fault(partition: str) -> str:
    """Why no run of a stack could ever be a job of Slurm; empty: nothing speaks against it.

    A controller that does not answer is no fault: a stack is to take up its live runs while it is away.
    """
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{NO_PROGRAMS} Missing: {', '.join(missing)}."
    return partition_fault(partition)


def partition_fault(partition: str) -> str:
    """That the cluster has no such partition, with those that it has; empty: it has it, or does not answer."""
    wanted = [name.strip() for name in partition.split(",") if name.strip()]
    if not wanted:
        return ""
    try:
        done = subprocess.run(
            PARTITIONS_COMMAND, capture_output=True, text=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    known = list(dict.fromkeys(done.stdout.split()))
    unknown = next((name for name in wanted if name not in known), "")
    if done.returncode != 0 or not known or not unknown:
        return ""
    return f"the cluster has no partition {unknown}. It has {', '.join(known)} (`--partition`)."


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
    return [_finding("warning", unreached_broker_text(node))]


def unreached_broker_text(node: str) -> str:
    """That a node of a cluster does not reach the broker, which listens on loopback, and what to do."""
    return (
        f"the broker listens on this machine alone, and nodes such as {node} do not reach it. Start the stack with "
        "--broker-bind 0.0.0.0."
    )


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
