"""What Slurm's words mean for an attempt, case by case."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.records import RUN_ID, make_report

from mosaic_contracts.launch import ExitPhase, ExitReport
from mosaic_contracts.slurm_settings import parse_settings
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    EngineEndKind,
)
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.executors.slurm_jobs import (
    SlurmJob,
    attempt_status,
    newest_by_name,
    parse_jobs,
    waiting_words,
)
from mosaic_scheduler.executors.slurm_site import SlurmNode, parse_nodes

JOB = SlurmJob("7", "RUNNING", "n1", None, "mosaic-x-1", "None")


class _Folder(RunFolder):
    """A run's folder whose files a test names."""

    def __init__(
        self,
        report: ExitReport | None = None,
        *,
        begun: bool = False,
        stopped: bool = False,
        began_at: float | None = None,
    ) -> None:
        super().__init__(Path("/nowhere"), AttemptRef(RUN_ID, 1))
        self._report, self._begun, self._stopped = report, begun, stopped
        self._began_at = began_at

    def report(self) -> ExitReport | None:
        return self._report

    def has_lock_file(self) -> bool:
        return self._begun

    def began_at(self) -> float | None:
        return self._began_at

    def was_stop_marked(self) -> bool:
        return self._stopped


def status(state: str, folder: RunFolder, reason: str = "None", log: str = "") -> AttemptStatus:
    """Status of an attempt whose job is in this state; no state: Slurm does not know it."""
    job = replace(JOB, state=state, reason=reason) if state else None
    return attempt_status(job, folder, log)


NEVER, BEGUN = _Folder(), _Folder(begun=True)
DONE = _Folder(make_report(), begun=True)
STOPPED = make_report(stop_signal_sent=True)


@pytest.mark.parametrize(
    ("state", "folder", "phase"),
    [
        ("PENDING", NEVER, AttemptPhase.QUEUED),
        ("CONFIGURING", NEVER, AttemptPhase.QUEUED),
        ("PENDING", BEGUN, AttemptPhase.ALIVE),  # the controller came back with an old state
        ("PENDING", DONE, AttemptPhase.ENDED),
        ("RUNNING", NEVER, AttemptPhase.ALIVE),
        ("RUNNING", BEGUN, AttemptPhase.ALIVE),
        ("COMPLETING", BEGUN, AttemptPhase.ALIVE),
        ("RUNNING", DONE, AttemptPhase.ENDED),
        ("COMPLETED", DONE, AttemptPhase.ENDED),
        ("", DONE, AttemptPhase.ENDED),
        ("", BEGUN, AttemptPhase.UNSEEN),
        ("", NEVER, AttemptPhase.ABSENT),
        ("NODE_FAIL", BEGUN, AttemptPhase.UNSEEN),
        ("NODE_FAIL", NEVER, AttemptPhase.LOST),
        ("NODE_FAIL", DONE, AttemptPhase.ENDED),
        ("FAILED", BEGUN, AttemptPhase.LOST),
        ("OUT_OF_MEMORY", BEGUN, AttemptPhase.LOST),
        ("FAILED", NEVER, AttemptPhase.REFUSED),
        ("BOOT_FAIL", NEVER, AttemptPhase.REFUSED),
        ("CANCELLED", NEVER, AttemptPhase.LOST),
    ],
)
def test_each_state_of_a_job(state: str, folder: RunFolder, phase: AttemptPhase) -> None:
    """The runner's report comes first, then whether it began, then Slurm's word."""
    assert status(state, folder).phase is phase


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("PREEMPTED", EngineEndKind.PREEMPTED),
        ("TIMEOUT", EngineEndKind.TIME_LIMIT),
        ("CANCELLED", EngineEndKind.CANCELLED),
        ("NODE_FAIL", EngineEndKind.NODE_FAILED),
    ],
)
def test_slurm_says_why_it_ended_a_job(state: str, kind: EngineEndKind) -> None:
    """Also of a worker that ended by itself when it was asked to."""
    found = status(state, _Folder(STOPPED, begun=True))
    assert found.phase is AttemptPhase.ENDED
    assert found.engine_end is not None
    assert found.engine_end.kind is kind


def test_a_stop_from_outside_waits_for_slurms_reason() -> None:
    """While Slurm has not ended the job nobody knows who asked; a stop of MOSAIC's own needs no reason."""
    assert status("RUNNING", _Folder(STOPPED, begun=True)).phase is AttemptPhase.ALIVE
    ours = _Folder(STOPPED, begun=True, stopped=True)
    assert status("RUNNING", ours).phase is AttemptPhase.ENDED


def test_a_report_that_is_not_the_last_one() -> None:
    """The worker has ended, and what it recorded is being sent."""
    folder = _Folder(make_report(phase=ExitPhase.WORKER_ENDED), begun=True)
    assert status("RUNNING", folder).phase is AttemptPhase.ALIVE
    assert status("FAILED", folder).phase is AttemptPhase.ENDED


def test_a_job_that_slurm_started_twice_is_interrupted() -> None:
    """Its second runner refused; the first one was killed without a report."""
    log = '{"event": "runner.refused", "error": "attempt 1 was started before"}'
    found = status("FAILED", BEGUN, "NonZeroExitCode", log)
    assert found.engine_end is not None
    assert (found.phase, found.engine_end.kind) == (AttemptPhase.UNSEEN, EngineEndKind.RESTARTED)


@pytest.mark.parametrize("report", [None, STOPPED])
def test_a_cancelled_job_that_slurm_started_twice_is_interrupted(report: ExitReport | None) -> None:
    """Slurm's start is later than the runner's: nobody called `scancel`, and the worker may still be saving."""
    began = datetime(2026, 11, 30, 16, 12, 58).astimezone()
    folder = _Folder(report, begun=True, began_at=began.timestamp() + 0.2)
    twice = replace(JOB, state="CANCELLED", starts_at=began + timedelta(seconds=11))
    found = attempt_status(twice, folder, "")
    assert found.phase is (AttemptPhase.ENDED if report else AttemptPhase.UNSEEN)
    assert found.engine_end is not None
    assert found.engine_end.kind is EngineEndKind.RESTARTED
    once = attempt_status(replace(twice, starts_at=began), folder, "")
    assert once.engine_end is not None
    assert once.engine_end.kind is EngineEndKind.CANCELLED


def test_a_job_that_slurm_forgot_is_interrupted_when_its_heartbeats_end() -> None:
    """The engine's words go with it, for the scheduler decides by the heartbeats."""
    end = status("", BEGUN).engine_end
    assert end is not None
    assert end.kind is EngineEndKind.RESTARTED


@pytest.mark.parametrize(("age_s", "is_slurms"), [(1.0, True), (-1.0, False)])
def test_a_stopped_run_whose_job_slurm_forgot(age_s: float, is_slurms: bool) -> None:
    """Slurm ended it where it should still know the job; of an older end nobody knows who asked for it."""
    known_since = STOPPED.ended_at - age_s
    found = attempt_status(None, _Folder(STOPPED, begun=True), "", known_since)
    assert found.phase is AttemptPhase.ENDED
    assert (found.engine_end is not None) is is_slurms
    ours = attempt_status(None, _Folder(STOPPED, begun=True, stopped=True), "", known_since)
    assert ours.engine_end is None


def test_a_refusal_has_the_runners_last_lines() -> None:
    """What it says is what can be mended."""
    found = status("FAILED", NEVER, "NonZeroExitCode", "/nowhere/python: not found")
    assert "/nowhere/python: not found" in found.detail


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("Resources", "all suitable nodes are busy"),
        ("Priority", "other jobs are before it"),
        ("PartitionTimeLimit", "will never start"),
        ("JobHeldUser", "`./mosaic queue release`"),
        ("QOSMaxGRESPerUser", "a limit of your quality of service is reached (QOSMaxGRESPerUser)"),
        (
            "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
            "the nodes that it needs are down",
        ),
        ("SomethingNew", "Slurm's reason is SomethingNew"),
    ],
)
def test_reasons_are_words(reason: str, words: str) -> None:
    """A reason that is not known is given as Slurm has it."""
    said = waiting_words(replace(JOB, state="PENDING", reason=reason))
    assert said.startswith("queued at Slurm: ")
    assert words in said


def test_lines_of_squeue() -> None:
    """Ids, states, an estimate of the start in local time, and reasons with any sign in them."""
    text = "12|PENDING||2026-11-30T14:44:11|7|mosaic-x-1|Nodes|odd\n13|RUNNING|n[1-2]|N/A|0|mosaic-x-2|None\n"
    first, second = parse_jobs(text)
    assert (first.job_id, first.reason, first.nice) == ("12", "Nodes|odd", 7)
    assert first.starts_at == datetime(2026, 11, 30, 14, 44, 11).astimezone()
    assert (second.node, second.starts_at) == ("n[1-2]", None)
    with pytest.raises(ValueError, match="not understood"):
        parse_jobs("slurm_load_jobs error\n")


@pytest.mark.parametrize(("days", "is_known"), [(363, True), (365, False)])
def test_a_start_in_a_year_is_no_estimate(days: int, is_known: bool) -> None:
    """Slurm says that where a job without a time limit is before it."""
    starts_at = datetime.now().astimezone() + timedelta(days=days)
    job = replace(JOB, state="PENDING", starts_at=starts_at)
    assert attempt_status(job, NEVER, "").starts_at == (starts_at if is_known else None)


def test_of_two_jobs_of_a_name_the_living_one_counts() -> None:
    """Slurm gives an id a second time after a crash, and a job may have been submitted again."""
    ended, alive = replace(JOB, job_id="9", state="FAILED"), replace(JOB, job_id="8")
    assert newest_by_name([ended, alive])[JOB.name] is alive
    older = replace(ended, job_id="3")
    assert newest_by_name([ended, older])[JOB.name] is ended


def test_what_a_site_has() -> None:
    """The largest node, also of mixed devices, and the settings that matter."""
    assert parse_nodes(
        "4|4000|1:00:00|gpu:fake:2\n64|256000+|2-00:30:00|gpu:a100:4(S:0-1),tmp:9\n8|900|30:00|(null)\n"
    ) == (SlurmNode(64, 256000, 4, 2910))
    assert parse_nodes("4|4000|1:00:00|\n4|4000|infinite|\n").minutes is None
    found = parse_settings(
        "KillWait                = 30 sec\nMinJobAge = 300 sec\nTaskPlugin = task/affinity,task/cgroup\n"
        "ConstrainRAMSpace       = yes\nProctrackType = proctrack/linuxproc\n"
    )
    assert (found.kill_wait_s, found.remembers_s) == (30, 300)
    assert (found.holds_memory, found.ends_all) == (True, False)
