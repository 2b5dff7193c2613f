"""The supervisor, with real processes: they crash, hang, are killed, and its own death leaves none behind."""

import asyncio
import fcntl
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from mosaic_cli.errors import (
    EnvironmentMissing,
    HomeUnusable,
    PortTaken,
    StackAlreadyUp,
    StackStartProblem,
)
from mosaic_cli.stack import tether
from mosaic_cli.stack.launch import start_detached, take_down, wait_until_ready
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lock import StackLock, is_held, lock_holder
from mosaic_cli.stack.plan import StackPlan, plan_stack
from mosaic_cli.stack.ports import Ports, choose_ports
from mosaic_cli.stack.process import Process, current
from mosaic_cli.stack.start_display import StartDisplay
from mosaic_cli.stack.start_options import StartOptions
from mosaic_cli.stack.state import running_stack
from mosaic_cli.stack.supervisor import Supervisor
from mosaic_cli.verbs.stack import present_stack
from mosaic_client.light import ServiceFields, StackFileFields

ANY = StartOptions()
Living = Callable[[], list[Process]]


def until(claim: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    """Whether the claim becomes true in time."""
    deadline_s = time.monotonic() + timeout_s
    while time.monotonic() < deadline_s:
        if claim():
            return True
        time.sleep(0.02)
    return False


def up(layout: Layout, options: StartOptions = ANY) -> StackFileFields:
    supervisor = start_detached(layout, options, tied=True)  # a killed pytest leaves no stack
    threading.Thread(target=supervisor.wait).start()  # reaps it, whoever ends it
    return wait_until_ready(layout, supervisor, lambda _: None, timeout_s=30)


def up_by_verb(layout: Layout) -> str:
    """Call `up -d` as a person does; what it says."""
    environ = {"MOSAIC_ROOT": layout.root, "MOSAIC_HOME": layout.home, "MOSAIC_VENVS": layout.venvs}
    done = subprocess.run(
        [sys.executable, "-m", "mosaic_cli", "up", "-d"],
        env={**os.environ, **{name: str(value) for name, value in environ.items()}},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def ignores(pid: int, number: signal.Signals) -> bool:
    """Whether a process ignores a signal, as the kernel says."""
    status = Path(f"/proc/{pid}/status").read_text()
    (mask,) = (line.split()[1] for line in status.splitlines() if line.startswith("SigIgn:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


def service(layout: Layout, name: str) -> ServiceFields:
    stack = running_stack(layout.home, layout.lock_file)
    assert stack is not None
    return next(entry for entry in stack.services if entry.name == name)


def test_a_stack_comes_up_and_goes_down(layout: Layout, living: Living) -> None:
    """All four services are up when it is ready, and after `down` nothing of it runs."""
    stack = up(layout)
    assert [s.name for s in stack.services] == ["broker", "recorder", "scheduler", "gateway"]
    assert until(lambda: all(service(layout, s.name).state == "up" for s in stack.services))
    assert take_down(layout)
    assert living() == []
    assert not take_down(layout)


def test_a_crashed_service_is_restarted_and_said(layout: Layout) -> None:
    """After kill -9 a new process is up, and stack.json counts the restart and names the signal."""
    up(layout)
    pid = service(layout, "recorder").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert until(lambda: service(layout, "recorder").restarts == 1)
    assert until(lambda: service(layout, "recorder").state == "up")
    entry = service(layout, "recorder")
    assert entry.pid != pid
    assert entry.last_exit == "signal SIGKILL"


def test_a_service_that_keeps_crashing_is_named_with_its_words(layout: Layout) -> None:
    """Starting fails soon, with the service, its restarts and the last line of its log; back-off doubles."""
    layout.prepare_home()
    (layout.home / "crash.scheduler").touch()
    began_s = time.monotonic()
    with pytest.raises(StackStartProblem, match="scheduler says why it cannot start") as caught:
        up(layout)
    assert "scheduler: " in str(caught.value)
    # between five restarts it waited 0.2 + 0.4 + 0.8 + 1.6 s
    assert time.monotonic() - began_s > 3
    (layout.home / "crash.scheduler").unlink()
    assert until(lambda: service(layout, "scheduler").state == "up")


def test_a_service_that_refuses_to_work_ends_the_start_at_once(
    layout: Layout, living: Living
) -> None:
    """The start fails with the service's own sentence and nothing else, and nothing is left running."""
    layout.prepare_home()
    (layout.home / "refuse.recorder").touch()
    with pytest.raises(StackStartProblem) as caught:
        up(layout)
    assert str(caught.value) == "The recorder cannot start: The file is newer. Update."
    assert until(lambda: living() == [])
    assert not is_held(layout.lock_file)
    (layout.home / "refuse.recorder").unlink()
    up(layout)


def test_a_refusal_of_a_stack_that_was_ready_is_tried_again(layout: Layout) -> None:
    """Runs depend on a stack that was ready: it stays, and shows why a service does not work."""
    up(layout)
    (layout.home / "refuse.recorder").touch()
    pid = service(layout, "recorder").pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    said = "refused: The file is newer. Update."
    assert until(lambda: service(layout, "recorder").last_exit == said)
    (layout.home / "refuse.recorder").unlink()
    assert until(lambda: service(layout, "recorder").state == "up")


def test_a_look_at_the_lock_is_not_taken_for_a_supervisor(layout: Layout) -> None:
    """The lock is taken although somebody holds it for the moment of a look."""
    layout.prepare_home()
    layout.lock_file.touch()
    with layout.lock_file.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        threading.Timer(0.2, lambda: fcntl.flock(file, fcntl.LOCK_UN)).start()
        StackLock.take(layout.lock_file).release()


DAMAGED = [b"", b'{"v": 1, "supervisor_pid": 12, "gat', b"{}", b"[1]", b"\xff\x00" * 200, b"null"]


@pytest.mark.nightly(by_day=["{}", "null"])
@pytest.mark.parametrize("content", DAMAGED)
def test_a_damaged_stack_file_is_set_aside_with_a_word(layout: Layout, content: bytes) -> None:
    """The stack starts all the same, the person hears of it, and what was there is kept."""
    layout.prepare_home()
    layout.stack_file.write_bytes(content)
    try:
        said = up_by_verb(layout)
        assert f"{layout.stack_file} was damaged" in said
        stack = running_stack(layout.home, layout.lock_file)
        assert stack is not None
        assert stack.ready
    finally:
        take_down(layout)
    assert layout.stack_file.with_suffix(".damaged.json").read_bytes() == content


@pytest.mark.nightly(by_day=["{}", "null"])
@pytest.mark.parametrize("content", [*DAMAGED, None])
def test_a_stack_file_that_is_damaged_while_the_stack_is_up_is_written_again(
    layout: Layout, content: bytes | None
) -> None:
    """A second start finds the stack, and nothing is restarted."""
    first = up(layout)
    if content is None:
        layout.stack_file.unlink()
    else:
        layout.stack_file.write_bytes(content)
    up_by_verb(layout)
    again = running_stack(layout.home, layout.lock_file)
    assert again is not None
    assert again.supervisor_pid == first.supervisor_pid
    assert [s.pid for s in again.services] == [s.pid for s in first.services]


def test_a_killed_supervisor_leaves_nothing_running(layout: Layout, living: Living) -> None:
    """The kernel informs the services that their supervisor died."""
    up(layout)
    holder = lock_holder(layout.lock_file)
    assert holder is not None
    os.kill(holder.pid, signal.SIGKILL)
    assert until(lambda: living() == [])
    assert running_stack(layout.home, layout.lock_file) is None


def test_the_next_start_ends_what_ignored_the_death(layout: Layout, living: Living) -> None:
    """A service that does not hear SIGTERM is found by stack.json and ended before a new one starts."""
    layout.prepare_home()
    (layout.home / "deaf.recorder").touch()
    first = up(layout)
    stray = service(layout, "recorder").pid
    assert stray is not None
    assert until(lambda: ignores(stray, signal.SIGTERM))  # it is started, but may not be deaf yet
    os.kill(first.supervisor_pid, signal.SIGKILL)
    assert until(lambda: [p.pid for p in living()] == [stray])
    (layout.home / "deaf.recorder").unlink()
    second = up(layout)
    assert service(layout, "recorder").pid != stray
    assert current(stray) is None
    assert second.gateway_url == first.gateway_url, "followers find it at its old address"


def test_a_second_supervisor_is_refused(layout: Layout) -> None:
    """One data root has one supervisor; the second start finds the first one's stack ready."""
    first = up(layout)
    second = start_detached(layout, ANY, tied=True)
    assert wait_until_ready(layout, second, lambda _: None).supervisor_pid == first.supervisor_pid
    assert second.wait(60) == 75
    with pytest.raises(StackAlreadyUp, match="mosaic status"):
        StackLock.take(layout.lock_file)


@pytest.mark.nightly(by_day=["-d"])
@pytest.mark.parametrize("way", ["-d", "xmpp"])
def test_a_start_waits_for_the_end_of_a_stack_that_is_taken_down(layout: Layout, way: str) -> None:
    """`up` right after `down &` waits until the old stack is gone, and then starts a new one."""
    layout.prepare_home()
    (layout.home / "deaf.recorder").touch()
    first = up(layout)
    pid = service(layout, "recorder").pid
    assert pid is not None
    assert until(lambda: ignores(pid, signal.SIGTERM))
    (layout.home / "deaf.recorder").unlink()
    os.kill(first.supervisor_pid, signal.SIGTERM)
    assert until(lambda: not service(layout, "gateway").pid)
    ending = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    ending.start()
    if way == "-d":
        up_by_verb(layout)
    else:
        assert present_stack(layout) is None
        up(layout)
    ending.join()
    second = running_stack(layout.home, layout.lock_file)
    assert second is not None
    assert (second.ready, second.supervisor_pid != first.supervisor_pid) == (True, True)


def test_a_start_that_finds_the_lock_held_starts_once_it_is_free(layout: Layout) -> None:
    """A supervisor that ends while ours asks for its lock leaves no `up` without a stack."""
    layout.prepare_home()
    lock = StackLock.take(layout.lock_file)
    letting_go = threading.Timer(1.5, lock.release)
    letting_go.start()
    program = "from mosaic_cli.verbs.stack import *; start_and_wait(Layout.of_environment(), StartOptions())"
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    letting_go.join()
    stack = running_stack(layout.home, layout.lock_file)
    assert stack is not None
    assert stack.ready


def test_a_stack_that_is_tied_ends_with_its_parent(layout: Layout, living: Living) -> None:
    """What a demo started goes when the demo is killed."""
    program = (
        "import signal; from mosaic_cli.stack.launch import *; "
        "start_detached(Layout.of_environment(), StartOptions(), tied=True); signal.pause()"
    )
    tied = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid())]
    parent = subprocess.Popen([*tied, sys.executable, "-c", program])
    assert until(lambda: running_stack(layout.home, layout.lock_file) is not None)
    wait_until_ready(layout, None, lambda _: None)
    parent.kill()
    parent.wait(60)
    assert until(lambda: living() == [])


def test_a_port_clash_names_port_and_owner(layout: Layout) -> None:
    """The message names the pid that holds the port, and the option that changes the port."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"Port {port} .*pid {os.getpid()} .*--port"):
            choose_ports(port, None)
        with pytest.raises(StackStartProblem, match=rf"Port {port} "):
            up(layout, StartOptions(port=port))


def test_ports_are_kept_where_they_are_free() -> None:
    """A restart takes the old ports, and any free one for what is taken meanwhile."""
    earlier = choose_ports(None, None)
    assert choose_ports(None, None, earlier) == earlier
    with socket.socket() as other:
        other.bind(("127.0.0.1", earlier.broker))
        other.listen()
        later = choose_ports(None, None, earlier)
    assert later.gateway == earlier.gateway
    assert later.broker != earlier.broker


def test_a_missing_environment_says_how_to_make_it(layout: Layout) -> None:
    """The message holds the command with the room's name."""
    (layout.venvs / "gateway" / "bin" / "python").unlink()
    with pytest.raises(EnvironmentMissing, match=r"\./mosaic sync gateway"):
        plan_stack(layout, Ports(1, 2))


@pytest.mark.parametrize(
    ("placement", "is_by_name"), [("slurm", True), ("ray", True), ("process", False)]
)
def test_jobs_of_a_cluster_reach_the_broker_by_the_name_of_the_machine(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, placement: str, is_by_name: bool
) -> None:
    """Loopback would be the node itself."""
    monkeypatch.setenv("MOSAIC_PLACEMENT", placement)
    planned = plan_stack(layout, Ports(1, 4222, "0.0.0.0"))  # noqa: S104 - nothing is started
    (scheduler,) = [each for each in planned.services if each.name == "scheduler"]
    by_name = f"tls://{socket.gethostname()}:4222"
    assert scheduler.env["MOSAIC_BROKER_RUNS_URL"] == (by_name if is_by_name else "")


def test_a_home_that_cannot_be_used_is_said_first(layout: Layout) -> None:
    """A file in the way and a full disk are named before anything starts."""
    with pytest.raises(HomeUnusable, match="MiB left"):
        layout.prepare_home(reserve_bytes=2**62)
    blocked = Layout(root=layout.root, home=layout.root / "file", venvs=layout.venvs)
    blocked.home.write_text("")
    with pytest.raises(HomeUnusable, match="MOSAIC_HOME"):
        blocked.prepare_home()


def test_the_end_is_an_end(layout: Layout) -> None:
    """A supervisor that is asked to stop at any moment of its own checks leaves no task that keeps it alive."""
    layout.prepare_home()

    async def is_ready() -> bool:
        return True

    async def run_and_stop(after_s: float) -> None:
        supervisor = Supervisor(layout, StackPlan(Ports(1, 2), [], is_ready), lock)
        asyncio.get_running_loop().call_later(after_s, supervisor.stop)
        await supervisor.run()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left

    lock = StackLock.take(layout.lock_file)
    for milliseconds in range(0, 40, 2):
        asyncio.run(run_and_stop(milliseconds / 1000))
    lock.release()


def delete(folder: Path) -> None:
    """As `rm -rf` does, again when the supervisor wrote into it meanwhile."""
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("gone", ["stack", "logs"])
def test_a_stack_that_nobody_can_see_ends_itself(layout: Layout, living: Living, gone: str) -> None:
    """Its lock's folder deleted, alone or with the logs, the supervisor takes the services down and goes."""
    up(layout)
    for folder in {gone, "stack"}:
        delete(layout.home / folder)
    assert until(lambda: living() == [])


def test_a_stack_whose_lock_was_replaced_leaves_the_other_ones_files(
    layout: Layout, living: Living
) -> None:
    """The one that has lost its lock goes; the next one's stack.json stays as that one wrote it."""
    first = up(layout)
    delete(layout.home / "stack")
    second = up(layout)
    assert second.supervisor_pid != first.supervisor_pid
    assert until(lambda: current(first.supervisor_pid) is None)
    assert until(lambda: service(layout, "gateway").state == "up")
    running = running_stack(layout.home, layout.lock_file)
    assert running is not None
    assert running.supervisor_pid == second.supervisor_pid
    assert take_down(layout)
    assert until(lambda: living() == [])


def test_down_finds_a_stack_that_has_lost_its_lock(layout: Layout, living: Living) -> None:
    """Asked right after the deletion it takes that stack down, instead of saying that none is up."""
    up(layout)
    delete(layout.home / "stack")
    # on a busy machine it may have noticed by itself before it is looked for
    assert take_down(layout) or living() == []
    assert living() == []
    assert not take_down(layout)


def test_a_start_that_is_watched_by_a_program_is_told_in_lines() -> None:
    """Off a terminal each change is one line on stderr, and the same is not said again at every look."""
    on = Console(file=io.StringIO(), force_terminal=False, width=100)
    entries = [
        ServiceFields(name="broker", state="starting", log=""),
        ServiceFields(name="gateway", state="up", log=""),
    ]
    stack = StackFileFields(
        supervisor_pid=1,
        gateway_url="",
        broker_url="",
        services=entries,
    )
    with StartDisplay(on) as display:
        for look in (None, None, stack, stack):
            display.show(look)
    assert isinstance(on.file, io.StringIO)
    assert on.file.getvalue().splitlines() == [
        "Starting the stack: waiting for its supervisor",
        "Starting the stack: broker starting",
    ]
