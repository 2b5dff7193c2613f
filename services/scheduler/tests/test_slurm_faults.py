"""What the Slurm executor makes of commands that are refused or cannot be started; no Slurm is needed."""

import asyncio
import errno
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.records import make_record

from mosaic_contracts.launch import RUNNER_LOCK, RUNNER_LOG, ExitReport
from mosaic_contracts.slurm_settings import CONFIG_COMMAND, NODES_COMMAND
from mosaic_contracts.stack_files import STOP_MARK
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptRef, LaunchSpec
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.executors.slurm import SlurmExecutor, SlurmOptions
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused
from mosaic_scheduler.executors.slurm_queue import SlurmQueue
from mosaic_scheduler.executors.slurm_site import SlurmNode, SlurmSite
from mosaic_scheduler.settings import SchedulerSettings

REF = AttemptRef("01ARZ3NDEKTSV4RRFFQ69G5FAV", 1)
OTHER = AttemptRef("01ARZ3NDEKTSV4RRFFQ69G5FAW", 1)
LIMIT = "error: QOSMaxSubmitJobPerUserLimit error: Batch job submission failed"
CONFIG = "KillWait = 30 sec\nMinJobAge = 300 sec\n"


class FakeSlurm(SlurmCommands):
    """Answers as a test says, by the command's name."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[], str]] = {
            "scontrol": lambda: CONFIG,
            "sinfo": lambda: "4|4000|1:00:00|(null)\n",
            "squeue": lambda: "",
            "scancel": lambda: "",
        }
        self.asked: list[tuple[str, ...]] = []
        self.addresses = "127.0.0.1\n"
        """What `sinfo` says of the nodes' addresses."""

    async def run(self, *argv: str, errors_too: bool = False) -> str:
        """What the test says."""
        self.asked.append(argv)
        printed = self.answers[argv[0]]()
        return self.addresses if argv == NODES_COMMAND else printed

    def refuse(self, command: str, said: str) -> None:
        """From now on Slurm refuses this command."""

        def refused() -> str:
            raise SlurmRefused(f"{command}: {said}")

        self.answers[command] = refused

    def take(self, job_id: str) -> None:
        """From now on Slurm takes a job, and lists it as running."""

        def listed() -> str:
            names = [
                word.partition("=")[2]
                for argv in self.asked
                for word in argv
                if word.startswith("--job-name=")
            ]
            return "".join(f"{job_id}|RUNNING|n1|N/A|0|{name}|None\n" for name in names[:1])

        self.answers |= {"sbatch": lambda: job_id, "squeue": listed}

    def count(self, command: str) -> int:
        """How often this command was run."""
        return sum(argv[0] == command for argv in self.asked)


@pytest.mark.parametrize("command", ["sinfo", CONFIG_COMMAND[0]])
async def test_a_refused_question_for_the_nodes(command: str) -> None:
    """The engine does not answer then, as every pass expects it; the last answer holds."""
    slurm = FakeSlurm()
    slurm.refuse(command, "Invalid user id")
    site = SlurmSite(slurm, "")
    with pytest.raises(EngineUnavailable, match=r"does not say what it has: .*Invalid user id"):
        await site.largest_node()
    slurm.answers = FakeSlurm().answers
    slurm.addresses = "127.0.0.1\n203.0.113.1\n"  # an address for documentation
    assert await site.largest_node() == SlurmNode(4, 4000, 0, 60, "203.0.113.1")


@pytest.fixture
def slurm() -> FakeSlurm:
    """One that answers."""
    return FakeSlurm()


@pytest.fixture
def executor(slurm: FakeSlurm, tmp_path: Path) -> Iterator[SlurmExecutor]:
    """One that tries again, and looks at the queue, only when a test says so."""
    made = SlurmExecutor(tmp_path, SlurmOptions(poll_s=3600.0), slurm)
    yield made
    made.close()


def launch_spec(ref: AttemptRef) -> LaunchSpec:
    """A run that trains."""
    return LaunchSpec(
        ref=ref,
        spec=make_record().spec,
        nonce="n",
        python="/nowhere/python",
        worker_command=["/nowhere/worker"],
        broker_url="nats://127.0.0.1:1",
        write_creds=None,
    )


async def test_a_limit_on_submitted_jobs_lets_runs_wait(
    executor: SlurmExecutor, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing fails; the reason is shown, Slurm is asked once for all, and later again."""
    slurm.refuse("sbatch", LIMIT)
    for ref in (REF, OTHER):
        with pytest.raises(
            EngineUnavailable, match=r"may submit; it is tried again .*QOSMaxSubmit"
        ):
            await executor.submit(launch_spec(ref))
        status = await executor.status(ref)
        assert (status.phase, LIMIT in status.detail) == (AttemptPhase.QUEUED, True)
    assert slurm.count("sbatch") == 1
    assert (await executor.inventory()).queue_limit == 2  # no third one is passed on

    await executor.cancel(OTHER)
    assert (await executor.status(OTHER)).phase is AttemptPhase.ABSENT

    later = SimpleNamespace(monotonic=lambda: time.monotonic() + 3601)
    monkeypatch.setattr("mosaic_scheduler.executors.slurm_limit.time", later)
    assert (await executor.status(REF)).phase is AttemptPhase.ABSENT  # it is submitted again
    slurm.answers["sbatch"] = lambda: "7"
    await executor.submit(launch_spec(REF))
    assert (await executor.status(REF)).phase is AttemptPhase.QUEUED
    assert (await executor.inventory()).queue_limit == 50


async def test_another_refusal_fails_the_launch(executor: SlurmExecutor, slurm: FakeSlurm) -> None:
    """It would be refused for ever."""
    slurm.refuse("sbatch", "error: invalid partition specified")
    with pytest.raises(LaunchFailed, match="invalid partition"):
        await executor.submit(launch_spec(REF))
    slurm.refuse("sbatch", "Requested node configuration is not available")
    with pytest.raises(LaunchFailed, match="no node that is up has what it asks for"):
        await executor.submit(launch_spec(OTHER))


async def test_a_command_that_cannot_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The machine has no process or file left for it: every caller gets an error, and nobody waits for ever."""
    program = tmp_path / "squeue"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(tmp_path))

    async def none_left(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr("asyncio.create_subprocess_exec", none_left)
        queue = SlurmQueue(SlurmCommands(), "mosaic-x-", 3600.0)
        with pytest.raises(EngineUnavailable, match=r"squeue cannot be started: .*unavailable"):
            await asyncio.wait_for(queue.jobs(), 60)
    queue.close()


async def test_a_watch_that_has_ended_begins_again(slurm: FakeSlurm) -> None:
    """The next question starts it, so that nobody waits for ever."""
    looked = asyncio.Event()

    def fail() -> None:
        looked.set()
        raise RuntimeError("a fault of the listener")

    queue = SlurmQueue(slurm, "mosaic-x-", 0.0)
    queue.on_look = fail
    assert await queue.jobs() == []
    await looked.wait()
    looked.clear()
    queue.on_look = looked.set
    assert await queue.jobs() == []
    await asyncio.wait_for(looked.wait(), 60)
    queue.close()


@pytest.mark.parametrize(("node_home", "kill_wait_s"), [("", 30.0), ("/node-home", None)])
async def test_the_grace_time_of_a_users_stop(
    slurm: FakeSlurm, tmp_path: Path, node_home: str, kill_wait_s: float | None
) -> None:
    """A node that sees no note of MOSAIC's stop does not cut the grace time to the engine's."""
    slurm.answers["sbatch"] = lambda: "7"
    executor = SlurmExecutor(tmp_path, SlurmOptions(node_home=node_home), slurm)
    await executor.submit(launch_spec(REF))
    launch = RunFolder(executor.folder(REF), REF).read_launch()
    assert launch is not None
    assert launch.engine_kill_wait_s == kill_wait_s
    executor.close()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (75, "--broker-bind"),
        (77, "/node-home cannot be made there, or belongs to another user"),
        (127, "/nowhere/python is not there"),
        (3, "no output"),
    ],
)
async def test_a_job_that_ends_before_its_runner_speaks(
    slurm: FakeSlurm, tmp_path: Path, code: int, words: str
) -> None:
    """Its output stays on the node, so the exit code says why, and what to do."""
    slurm.take("7")
    executor = SlurmExecutor(tmp_path, SlurmOptions(node_home="/node-home"), slurm)
    await executor.submit(launch_spec(REF))
    listed = slurm.answers["squeue"]
    slurm.answers |= {
        "squeue": lambda: listed().replace("RUNNING", "FAILED"),
        "scontrol": lambda: f"{CONFIG}   JobState=FAILED ExitCode={code}:0\n",
    }
    executor._queue.look_soon()
    status = await executor.status(REF)
    while status.phase is AttemptPhase.QUEUED:
        await asyncio.sleep(0.05)
        status = await executor.status(REF)
    assert status.phase is AttemptPhase.REFUSED
    assert words in status.detail
    executor.close()


async def test_a_node_that_does_not_see_the_run_folder(
    executor: SlurmExecutor, slurm: FakeSlurm
) -> None:
    """Slurm only says that it could not launch the job; the detail names the folder, and what to do."""
    slurm.take("7")
    await executor.submit(launch_spec(REF))
    listed = slurm.answers["squeue"]
    slurm.answers["squeue"] = lambda: (
        listed().replace("RUNNING", "FAILED").replace("None", "JobLaunchFailure")
    )
    executor._queue.look_soon()
    status = await executor.status(REF)
    while status.phase is AttemptPhase.QUEUED:
        await asyncio.sleep(0.05)
        status = await executor.status(REF)
    assert status.phase is AttemptPhase.REFUSED
    assert f"node n1 see {executor.folder(REF)}?" in status.detail
    assert "--node-home" in status.detail
    (executor.folder(REF) / RUNNER_LOG).write_text("Traceback")
    assert "--node-home" not in (await executor.status(REF)).detail


@pytest.mark.parametrize("kill", [False, True])
async def test_a_refused_stop_is_sent_again(
    executor: SlurmExecutor, slurm: FakeSlurm, kill: bool
) -> None:
    """Only what Slurm took counts as sent: that is not repeated, for a second signal kills."""
    slurm.take("7")
    await executor.submit(launch_spec(REF))
    (executor.folder(REF) / RUNNER_LOCK).touch()
    mark = executor.folder(REF) / STOP_MARK
    slurm.refuse("scancel", "Kill job error on job id 7: Invalid job id")
    await executor.cancel(REF, kill)
    assert not mark.exists()
    slurm.answers["scancel"] = lambda: ""
    for _ in range(2):
        await executor.cancel(REF, kill)
    assert slurm.count("scancel") == 2
    assert mark.exists() is not kill


async def test_a_runs_folder_is_read_in_a_thread(
    executor: SlurmExecutor, slurm: FakeSlurm, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may lie on a network file system that answers late: other requests go on meanwhile."""
    slurm.take("7")
    await executor.submit(launch_spec(REF))
    readers = set()
    for name in ("read_launch", "report", "has_lock_file"):
        read = getattr(RunFolder, name)

        def noted(folder: RunFolder, read: Callable[..., ExitReport | None] = read) -> object:
            readers.add(threading.current_thread())
            return read(folder)

        monkeypatch.setattr(RunFolder, name, noted)
    assert (await executor.status(REF)).phase is AttemptPhase.ALIVE
    assert readers
    assert threading.main_thread() not in readers


def test_options_with_an_open_quote() -> None:
    """The setting is refused with words, before the stack starts."""
    with pytest.raises(ValueError, match=r"slurm_options(.|\n)*close the quotes"):
        SchedulerSettings(slurm_options="--comment='two words")
