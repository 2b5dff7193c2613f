"""Slurm's jobs as `squeue` lists them, and what each means for an attempt. A table of cases tests it."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from mosaic_contracts.launch import ExitPhase, ExitReport
from mosaic_scheduler.executors.protocol import (
    ABSENT,
    AttemptPhase,
    AttemptStatus,
    EngineEnd,
    EngineEndKind,
)
from mosaic_scheduler.executors.run_folder import RunFolder

FORMAT = "%A|%T|%N|%S|%y|%j|%r"
"""For `squeue -o`: id, state, node, start, nice, name and reason, which comes last, for it may have any sign in it."""
_FIELDS = FORMAT.count("|") + 1
_WAITING = frozenset(
    {
        "PENDING",
        "CONFIGURING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "SPECIAL_EXIT",
    }
)
_LIVING = frozenset(
    {"RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"}
)
_ENDS = {
    "NODE_FAIL": (EngineEndKind.NODE_FAILED, "its node {node} failed, says Slurm."),
    "PREEMPTED": (
        EngineEndKind.PREEMPTED,
        "Slurm preempted it on {node} for a job of higher priority.",
    ),
    "TIMEOUT": (
        EngineEndKind.TIME_LIMIT,
        "Slurm's time limit for the job was reached. Give the run `wall_time_s`: MOSAIC asks Slurm for that, and stops "
        "the run with a checkpoint before Slurm ends it.",
    ),
    "DEADLINE": (EngineEndKind.TIME_LIMIT, "Slurm's deadline for the job was reached."),
    "CANCELLED": (
        EngineEndKind.CANCELLED,
        "Its job was cancelled in Slurm, by `scancel` and not by MOSAIC.",
    ),
}
_RESTARTED = EngineEnd(
    EngineEndKind.RESTARTED,
    "Slurm ended its job and started it again, as it does with a young job when its controller crashed. A run is never "
    "started twice.",
)
_FORGOTTEN = EngineEnd(
    EngineEndKind.RESTARTED,
    "Slurm does not know its job any more, as it forgets a young one when its controller crashes, and its heartbeats "
    "have ended.",
)
_FORGOTTEN_AND_ENDED = EngineEnd(
    EngineEndKind.RESTARTED,
    "Slurm forgot its job, as it does with a young one when its controller crashes, and ended its processes.",
)
_SAYS_LITTLE = {
    EngineEndKind.NODE_FAILED: "Slurm says that its node {node} failed",
    EngineEndKind.RESTARTED: "Slurm started its job a second time",
}
"""Ends of which the processes may know nothing, or need time to save: Slurm's daemon died and not its node, or its
controller took a running job for a waiting one."""
_STARTED_BEFORE = "was started before"
"""What a runner logs that was started a second time."""
_CLOCKS_S = 1.0
"""So much may the clocks of controller and nodes differ."""
_NO_ESTIMATE = timedelta(days=364)
"""Slurm counts a job without a time limit as one of a year. A start after that is no estimate."""
_HELD = ("JobHeldUser", "JobHeldAdmin")
_REASONS = {
    "None": "Slurm has not looked at it yet",
    "Priority": "other jobs are before it",
    "Resources": "all suitable nodes are busy",
    "BeginTime": "Slurm starts it at a set time",
    "Dependency": "it waits for another job",
    "JobHeldUser": "its job is held: `./mosaic queue release` lets it start",
    "JobHeldAdmin": "an administrator of the cluster holds it",
    "Cleaning": "Slurm clears up an earlier start of it",
    "Prolog": "the node is being prepared",
    "ReqNodeNotAvail": "its nodes are reserved or down, e.g. for maintenance",
    "Reservation": "it waits for its reservation",
    "Licenses": "it waits for a licence",
    "PartitionDown": "the partition does not start jobs now",
    "PartitionInactive": "the partition does not start jobs now",
    "PartitionTimeLimit": (
        "it asks for more time than the partition gives, and will never start: stop it, and give a shorter "
        "`wall_time_s` or another partition"
    ),
    "PartitionConfig": (
        "no node of the partition is large enough, and it will never start: stop it, and ask for fewer cores, GPUs or "
        "less memory"
    ),
    "PartitionNodeLimit": "it asks for more nodes than the partition gives, and will never start",
    "BadConstraints": "no node has what it asks for, and it will never start",
    "AccountNotAllowed": "your account may not use this partition (MOSAIC_SLURM_ACCOUNT)",
    "QOSNotAllowed": "your quality of service may not be used here (MOSAIC_SLURM_QOS)",
    "InvalidAccount": "Slurm does not know this account (MOSAIC_SLURM_ACCOUNT)",
    "InvalidQOS": "Slurm does not know this quality of service (MOSAIC_SLURM_QOS)",
}
_BEGINNINGS = {
    "Nodes required for job are DOWN": "the nodes that it needs are down, drained or reserved",
    "ReqNodeNotAvail": _REASONS["ReqNodeNotAvail"],
    "launch failed requeued held": "its node could not start it: `scontrol release {job}` tries again",
    "QOS": "a limit of your quality of service is reached",
    "Assoc": "a limit of your account or group is reached",
    "MaxJob": "a limit on the number of jobs is reached",
}


@dataclass(frozen=True)
class SlurmJob:
    """One line of `squeue`."""

    job_id: str
    state: str
    node: str
    starts_at: datetime | None
    name: str
    reason: str
    nice: int = 0
    """How far its priority is lowered."""

    @property
    def is_held(self) -> bool:
        """Whether somebody holds it back."""
        return self.reason in _HELD

    @property
    def waits(self) -> bool:
        """Whether it has not been started."""
        return self.state in _WAITING

    @property
    def lives(self) -> bool:
        """Whether it runs, as far as Slurm knows."""
        return self.state in _LIVING

    @property
    def has_ended(self) -> bool:
        """Whether Slurm has nothing to do with it any more."""
        return not self.waits and not self.lives


def parse_jobs(text: str) -> list[SlurmJob]:
    """Jobs in the order of `squeue`.

    Raises:
        ValueError: a line is not of this form.
    """
    return [_parse(line) for line in text.splitlines() if line.strip()]


def _parse(line: str) -> SlurmJob:
    fields = line.split("|", _FIELDS - 1)
    if len(fields) != _FIELDS:
        raise ValueError(f"squeue printed a line that is not understood: {line[:200]!r}")
    job_id, state, node, start, nice, name, reason = (field.strip() for field in fields)
    return SlurmJob(job_id, state, node, moment(start), name, reason, int(nice))


def moment(text: str) -> datetime | None:
    """A time of Slurm's, which is local; None: Slurm has no estimate (`N/A`)."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        return None


def newest_by_name(jobs: Iterable[SlurmJob]) -> dict[str, SlurmJob]:
    """For each name the job that counts: one that has not ended, else the newest."""
    found: dict[str, SlurmJob] = {}
    for job in sorted(jobs, key=lambda job: (not job.has_ended, int(job.job_id))):
        found[job.name] = job
    return found


def waiting_words(job: SlurmJob) -> str:
    """What a job waits for, in words; a reason that is not known here is given as Slurm has it."""
    known = _REASONS.get(job.reason)
    if known is None:
        beginnings = (words for begin, words in _BEGINNINGS.items() if job.reason.startswith(begin))
        words = next(beginnings, None)
        known = f"{words} ({job.reason})" if words else f"Slurm's reason is {job.reason}"
    return f"queued at Slurm: {known.replace('{job}', job.job_id)}"


def attempt_status(
    job: SlurmJob | None, folder: RunFolder, log_tail: str, known_since: float = math.inf
) -> AttemptStatus:
    """How an attempt is, from its job and its folder. The runner's report comes first, Slurm's word last.

    Args:
        job: what Slurm knows; None: nothing, and it was asked twice.
        folder: of the run.
        log_tail: last lines of the runner.
        known_since: Slurm still knows what ended after this wall time, unless it forgot the job.
    """
    report, has_begun = folder.report(), folder.has_lock_file()
    node = job.node if job is not None else ""
    if report is not None and (is_whole(report, folder) or job is None or job.has_ended):
        end = _engine_end(job, folder)
        if job is None and not is_whole(report, folder) and report.ended_at > known_since:
            end = _FORGOTTEN_AND_ENDED
        return folder.ended(report, engine_end=end, node=node)
    if job is None:
        unknown = "Slurm does not know its job any more."
        if not has_begun:
            return ABSENT
        return AttemptStatus(AttemptPhase.UNSEEN, detail=unknown, engine_end=_FORGOTTEN)
    if job.lives or (job.waits and has_begun):
        return AttemptStatus(AttemptPhase.ALIVE, report, node=node)
    if job.waits:
        return AttemptStatus(
            AttemptPhase.QUEUED, detail=waiting_words(job), starts_at=start_estimate(job.starts_at)
        )
    return _died(job, folder, has_begun, log_tail)


def start_estimate(starts_at: datetime | None) -> datetime | None:
    """When Slurm expects to start a job that waits; None: it cannot know."""
    if starts_at is None or starts_at - datetime.now(UTC) >= _NO_ESTIMATE:
        return None
    return starts_at


def is_whole(report: ExitReport, folder: RunFolder) -> bool:
    """Whether a report has all there is to know: the runner is done, and nobody but MOSAIC stopped it.

    Who else did, and why, is Slurm's to say once it has ended the job.
    """
    is_done = report.phase is not ExitPhase.WORKER_ENDED
    return is_done and (not report.stop_signal_sent or folder.was_stop_marked())


def _died(job: SlurmJob, folder: RunFolder, has_begun: bool, log_tail: str) -> AttemptStatus:
    """A job that has ended without a report."""
    end = _engine_end(job, folder)
    if end is None and has_begun and _STARTED_BEFORE in log_tail:
        end = _RESTARTED
    if not has_begun and end is None:
        words = f"Slurm ended its job as {job.state} ({job.reason}): {log_tail or 'no output'}"
        return AttemptStatus(AttemptPhase.REFUSED, detail=words, node=job.node)
    lost = folder.lost(
        f"Slurm ended its job as {job.state} ({job.reason}).",
        oom=job.state == "OUT_OF_MEMORY",
        engine_end=end,
        node=job.node,
    )
    if end is not None and end.kind in _SAYS_LITTLE and has_begun:
        return AttemptStatus(
            AttemptPhase.UNSEEN,
            detail=f"{_SAYS_LITTLE[end.kind].format(node=job.node)}; its heartbeats decide.",
            node=job.node,
            engine_end=end,
            stop_noted=lost.stop_noted,
            asked_here=lost.asked_here,
            trace_at=lost.trace_at,
        )
    return lost


def _engine_end(job: SlurmJob | None, folder: RunFolder) -> EngineEnd | None:
    known = _ENDS.get(job.state) if job is not None else None
    if known is None or job is None:
        return None
    if job.state == "CANCELLED" and _was_restarted(job, folder):
        return _RESTARTED
    kind, words = known
    return EngineEnd(kind, words.replace("{node}", job.node or "that was chosen"))


def _was_restarted(job: SlurmJob, folder: RunFolder) -> bool:
    """Whether Slurm started a job after its runner began.

    A controller that crashed before it wrote down a start takes the job for a waiting one and starts it again. Its node
    finds the first start running, and cancels the job (`Duplicate jobid` in slurmctld's log).
    """
    began_at = folder.began_at()
    if began_at is None or job.starts_at is None:
        return False
    return job.starts_at.timestamp() > began_at + _CLOCKS_S
