"""The whole program in a process of its own, which reports what it goes through: one JSON object a line.

    python -m tests.observed_client        (its stack is that of MOSAIC_HOME)

Lines to it: `open RUN`, `values RUN`. It is the program as it comes, but for one thing: no series is thinned, so that
every value can be compared with what the store has.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QSocketNotifier

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program import run as program
from mosaic_gui.program.arguments import Arguments
from mosaic_gui.state import series
from mosaic_gui.state.connection import ConnectionStatus
from mosaic_gui.state.run_row import elapsed_s, now
from mosaic_gui.state.store import Changes


def emit(**said: Any) -> None:
    """One line; NaN and infinities as Python writes them."""
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


class ObservedClient(DesktopClient):
    """Reports what a person would see: connection, notices, and how far each run has come."""

    def __init__(self, home: Path, *more: Any) -> None:
        super().__init__(home, *more)
        self._pill = ("", "")
        self.stack.status_changed.connect(self._tell_link)
        self.connection.changed.connect(self._tell_connection)
        self.clock.ticked.connect(self._show_changes)
        read = QSocketNotifier.Type.Read
        self._orders = QSocketNotifier(sys.stdin.fileno(), read, self)  # type: ignore[arg-type]  # the stubs want a pointer
        self._orders.activated.connect(self._obey)

    def _tell_link(self, connection: ConnectionStatus) -> None:
        emit(what="link", link=connection.link, reason=connection.reason)

    def _tell_connection(self) -> None:
        pill = (self.connection.word, self.connection.detail)
        if pill != self._pill:
            self._pill = pill
            emit(what="pill", word=pill[0], detail=pill[1])

    def _show_changes(self, changes: Changes) -> None:
        for problem in changes.problems:
            emit(what="notice", text=f"{problem.title}. {problem.detail}")
        for run_id in changes.curves & set(self.store.followed):
            curves = self.store.followed[run_id].curves.series
            emit(what="points", run=run_id, points=sum(len(one) for one in curves.values()))
        run = self.watch.run
        if run is not None and run.run_id in changes.runs | changes.ended:
            word, elapsed = self.window.watch.badge.text(), elapsed_s(run, now()) or 0.0
            emit(what="badge", run=run.run_id, word=word, elapsed_s=elapsed)
        for run_id in changes.ended:
            emit(what="ended", run=run_id)

    def _obey(self) -> None:
        lines = os.read(sys.stdin.fileno(), 4096).decode().splitlines()
        if not lines:
            self.closed.emit()
        for line in lines:
            self._do(*line.split())

    def _do(self, order: str, run_id: str) -> None:
        if order == "open":
            self.navigator.open_runs([run_id])
            return
        followed = self.store.followed[run_id]
        values = {name: one.values.tolist() for name, one in followed.curves.series.items()}
        phases = [event["phase"] for event in followed.log_events if event["type"] == "lifecycle"]
        reported = {"phases": phases, "config": followed.config, "joint": followed.joint}
        emit(what="values", values=values, has_gaps=bool(followed.gaps), **reported)


if __name__ == "__main__":
    series.MOST_RAW = 10**7
    vars(program)["DesktopClient"] = ObservedClient
    sys.exit(program.run_program(Arguments(size=(1280, 800))))
