"""Starting a detached stack and waiting for it; taking one down. Used by `up -d`, `down` and `demo`."""

import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from mosaic_cli.errors import StackEnded, StackStartProblem
from mosaic_cli.stack import tether, xmpp_wish
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lock import is_held, lock_holder, lost_holders
from mosaic_cli.stack.private import open_log
from mosaic_cli.stack.service_log import last_message, log_tail, rotate
from mosaic_cli.stack.start_options import EXIT_ALREADY_UP, STACK_REFUSED, StartOptions
from mosaic_cli.stack.state import earlier_stack, end_strays, running_stack
from mosaic_client.light import StackFileFields
from mosaic_contracts.interpreter import python_module

READY_TIMEOUT_S = 90.0
LOOK_EVERY_S = 0.05
REMIND_EVERY_S = 1.0
"""The watcher is called so often although nothing changed, for it counts the time."""
_MANY_CHANGES = 4096
DOWN_TIMEOUT_S = 90.0
"""Above the sum of what the services may take to end."""
MANY_RESTARTS = 5
"""A service that crashed so often before the stack was ever ready will not get better by waiting."""

Watch = Callable[[StackFileFields | None], None]
"""Gets each look at the stack; None while no supervisor has written anything."""


def start_detached(
    layout: Layout, options: StartOptions, *, tied: bool = False
) -> "subprocess.Popen[bytes]":
    """Start a supervisor in its own session; with `tied` it ends when this process does.

    Its stdout is a pipe for `wait_until_ready`, which closes it.

    Raises:
        HomeUnusable: read-only or full.
    """
    layout.prepare_home()
    argv = python_module(sys.executable, "mosaic_cli.stack")
    for option, value in (
        ("--port", options.port),
        ("--broker-port", options.broker_port),
        ("--broker-bind", options.broker_bind),
        ("--broker-runs-url", options.broker_runs_url),
    ):
        if value is not None:
            argv += [option, str(value)]
    if tied:
        argv = [sys.executable, "-I", "-S", tether.__file__, str(os.getpid()), *argv]
    rotate(layout.supervisor_log)
    environ = {
        **os.environ,
        "MOSAIC_HOME": str(layout.home),
        "MOSAIC_ROOT": str(layout.root),
        "MOSAIC_VENVS": str(layout.venvs),
    }
    with open_log(layout.supervisor_log) as log:
        return subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # a byte at every change
            stderr=log,
            env=environ,
            cwd=layout.home,
            start_new_session=True,
        )


def await_present_stack(layout: Layout, watch: Watch) -> StackFileFields | None:
    """Wait until the stack that is up, starts or ends here is ready or gone; return it, or None where none is left.

    Raises:
        StackStartProblem: it does not become ready.
    """
    if lock_holder(layout.lock_file) is None:
        return None
    try:
        return wait_until_ready(layout, None, watch)
    except StackEnded:
        return None


def wait_until_ready(
    layout: Layout,
    supervisor: "subprocess.Popen[bytes] | None",
    watch: Watch,
    timeout_s: float = READY_TIMEOUT_S,
) -> StackFileFields:
    """Wait until every service answers; `watch` gets each state on the way.

    Raises:
        StackEnded: the supervisor is another's, and it ended.
        StackStartProblem: the supervisor refused, a service does not come up, or time is over.
    """
    try:
        return _wait_until_ready(layout, supervisor, watch, timeout_s)
    finally:
        if supervisor is not None and supervisor.stdout is not None:
            supervisor.stdout.close()


def _wait_until_ready(
    layout: Layout,
    supervisor: "subprocess.Popen[bytes] | None",
    watch: Watch,
    timeout_s: float,
) -> StackFileFields:
    deadline_s = time.monotonic() + timeout_s
    stack: StackFileFields | None = None
    restarts_before: dict[str, int] = {}
    while time.monotonic() < deadline_s:
        if supervisor is not None and (code := supervisor.poll()) is not None:
            if code != EXIT_ALREADY_UP:
                raise StackStartProblem(_refusal(layout.supervisor_log, code))
            supervisor = None  # somebody else was faster, so theirs is the one to wait for
        if supervisor is None and not is_held(layout.lock_file):
            raise StackEnded(_refusal(layout.supervisor_log, None))
        stack = running_stack(layout.home, layout.lock_file)
        watch(stack)
        if stack is not None:
            if stack.ready:
                return stack
            # without its XMPP server the stack can be ready all the same
            needed = {s.name: s.restarts for s in stack.services if s.name != xmpp_wish.NAME}
            restarts_before = {name: restarts_before.get(name, n) for name, n in needed.items()}
            if any(n - restarts_before[name] >= MANY_RESTARTS for name, n in needed.items()):
                break
        _wait_for_change(supervisor, deadline_s - time.monotonic())
    raise StackStartProblem(_not_ready(layout, stack, timeout_s))


def _wait_for_change(supervisor: "subprocess.Popen[bytes] | None", timeout_s: float) -> None:
    """Return when the supervisor says that something changed, when it has ended, or after a while."""
    if supervisor is None or supervisor.stdout is None:
        time.sleep(LOOK_EVERY_S)  # somebody else's: nothing announces its changes to us
        return
    pipe = supervisor.stdout.fileno()
    ready, _, _ = select.select([pipe], [], [], max(0.0, min(timeout_s, REMIND_EVERY_S)))
    if ready and not os.read(pipe, _MANY_CHANGES):
        supervisor.wait()  # it closes the pipe by its end alone


def take_down(layout: Layout, timeout_s: float = DOWN_TIMEOUT_S) -> bool:
    """End the stack of this data root; False when none was up. Runs go on under their runners."""
    holder = lock_holder(layout.lock_file)
    lost = lost_holders(layout.lock_file)
    if holder is None and not lost:
        return False
    for supervisor in (*lost, *([holder] if holder is not None else [])):
        supervisor.end(timeout_s)
    stack = earlier_stack(layout.home)
    if stack is not None:
        end_strays(stack)  # only when the supervisor itself had to be killed is there one
    return True


def _refusal(log: Path, code: int | None) -> str:
    said = last_message(log, STACK_REFUSED)
    if said is not None:
        return said
    tail = "\n  ".join(log_tail(log))
    ended = "ended" if code is None else f"ended with exit code {code}"
    return f"The supervisor {ended} before the stack was ready. Its log, {log}:\n  {tail}"


def _not_ready(layout: Layout, stack: StackFileFields | None, timeout_s: float) -> str:
    if stack is None:
        return (
            f"No supervisor of {layout.home} said within {timeout_s:.0f} s how it is. Its log is "
            f"{layout.supervisor_log}; `./mosaic down` ends it, `./mosaic doctor` looks for causes."
        )
    words = [f"The stack at {stack.gateway_url} is not ready."]
    for service in stack.services:
        if service.state == "up" and service.restarts == 0:
            continue
        log = layout.home / service.log
        exit_words = f", last {service.last_exit}" if service.last_exit else ""
        words.append(
            f"{service.name}: {service.state}, {service.restarts} restarts{exit_words}; {log}:"
        )
        words += [f"  {line[:300]}" for line in log_tail(log, 4)]
    words.append(
        "`./mosaic status` watches it, `./mosaic down` ends it, `./mosaic doctor` looks for causes."
    )
    return "\n".join(words)
