"""A client in a process of its own (see observed_client.py), in reach of signals, and all that it reported."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

Report = dict[str, Any]
GUI = Path(__file__).resolve().parent.parent
WAIT_S = 90.0


class ClientProcess:
    """One client. `reported` holds its lines in their order."""

    def __init__(self, home: Path) -> None:
        environ = os.environ | {"MOSAIC_HOME": str(home), "QT_QPA_PLATFORM": "offscreen"}
        self.reported: list[Report] = []
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.observed_client"],
            cwd=GUI,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def order(self, *words: str) -> None:
        """One line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join(words) + "\n")
        self._process.stdin.flush()

    def wait(self, claim: Callable[[Report], bool], words: str, after: int = 0) -> Report:
        """The first line behind `after` for which the claim holds, once it has come.

        Raises:
            AssertionError: it did not in time, or the client has ended.
        """
        with self._news:
            self._news.wait_for(
                lambda: any(map(claim, self.reported[after:])) or not self._reader.is_alive(),
                WAIT_S,
            )
            found = next((line for line in self.reported[after:] if claim(line)), None)
        assert found is not None, (
            f"not within {WAIT_S:.0f} s: {words}; its last: {self.reported[-3:]}"
        )
        return found

    def wait_link(self, link: str, after: int = 0) -> Report:
        """It stands so to its stack."""
        return self.wait(lambda line: line["what"] == "link" and line["link"] == link, link, after)

    def wait_points(self, run_id: str, more_than: int, after: int = 0) -> int:
        """So many points of a run are there."""

        def enough(line: Report) -> bool:
            is_of_it = line["what"] == "points" and line["run"] == run_id
            return is_of_it and int(line["points"]) > more_than

        return int(self.wait(enough, f"more than {more_than} points of {run_id}", after)["points"])

    def wait_ended(self, run_id: str) -> None:
        """It has all of a run."""
        self.wait(lambda line: line["what"] == "ended" and line["run"] == run_id, "the run's end")

    def values(self, run_id: str) -> Report:
        """All that it has of a run."""
        after = len(self.reported)
        self.order("values", run_id)
        return self.wait(lambda line: line["what"] == "values", "values", after)

    def links(self, after: int) -> list[str]:
        """How it stood, each once in a row."""
        links = [line["link"] for line in self.reported[after:] if line["what"] == "link"]
        return [link for n, link in enumerate(links) if n == 0 or link != links[n - 1]]

    def notices(self, after: int) -> list[str]:
        """Notices that it showed to its user."""
        return [line["text"] for line in self.reported[after:] if line["what"] == "notice"]

    @contextmanager
    def asleep(self) -> Iterator[None]:
        """SIGSTOP, and SIGCONT behind the block: a laptop that is closed and opened again."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def close(self) -> int:
        """End it as a user does; its exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(60)
        finally:
            self._process.kill()
            self._reader.join()
            assert self._process.stdout is not None
            self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self.reported.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._news.notify_all()
