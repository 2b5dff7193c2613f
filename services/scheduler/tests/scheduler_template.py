"""A process that has imported the scheduler, and forks one for each start that a test asks for.

A start takes half a second of processor time, four fifths of it for imports, and these tests start about eighty
schedulers. A forked one is a process of its own with the environment, umask and log that the test names; nothing of it
is replaced. `tests/kills` and `tests/e2e` of the checkout start schedulers as users do.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from tests import scheduler_process


class ForkedScheduler:
    """A scheduler that the template has forked. It can be used as a `subprocess.Popen`."""

    def __init__(self, template: "SchedulerTemplate", pid: int) -> None:
        self.pid = pid
        self._template = template
        self._handle = os.pidfd_open(pid)
        self._code: int | None = None

    def send_signal(self, number: int) -> None:
        """Send it, unless the process has ended."""
        if self._code is None:
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """kill -9."""
        self.send_signal(signal.SIGKILL)

    def poll(self) -> int | None:
        """Its exit code; None: it has not ended."""
        return self._code if self._code is not None or not self._has_ended(0) else self.wait()

    def wait(self) -> int:
        """Wait for its end; return its exit code, negative for a signal."""
        if self._code is None:
            self._has_ended(None)
            self._code = int(self._template.ask({"wait": self.pid}))
            os.close(self._handle)
        return self._code

    def _has_ended(self, timeout_ms: int | None) -> bool:
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(timeout_ms))


class SchedulerTemplate:
    """The process, from the test's side. It ends with the test's process; schedulers are the tests' to end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.scheduler_template"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> Any:
        """Send a request; return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def start(self, environment: dict[str, str], log: Path) -> ForkedScheduler:
        """Fork a scheduler that writes its output to the end of `log`."""
        (umask,) = [
            line.split()[1]
            for line in Path("/proc/self/status").read_text().splitlines()
            if line.startswith("Umask:")
        ]
        request = {"environment": environment, "log": str(log), "umask": int(umask, 8)}
        return ForkedScheduler(self, self.ask({"start": request}))


def _serve() -> int:
    """Answer requests until there are no more; in a forked process be a scheduler."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    while line := sys.stdin.readline():
        request = json.loads(line)
        if "wait" in request:
            _, status = os.waitpid(request["wait"], 0)
            answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
            continue
        pid = os.fork()
        if not pid:
            return _be_scheduler(answers.fileno(), **request["start"])
        answers.write(f"{pid}\n")
    return 0


def _be_scheduler(answers: int, environment: dict[str, str], log: str, umask: int) -> int:
    with Path(os.devnull).open("rb") as nothing, Path(log).open("ab") as output:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), answers)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.umask(umask)
    os.environ.clear()
    os.environ.update(environment)
    return scheduler_process.run()


if __name__ == "__main__":
    sys.exit(_serve())
