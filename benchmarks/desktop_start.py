"""The desktop client from the start of its process to its first paint: a part of desktop.py.

    var/venvs/gui/bin/python benchmarks/desktop_start.py

The program is the client's own (`run_program`), with MOSAIC_HOME as its data root; it ends after the first paint. CPU
time is that of the whole process, the interpreter's start included. One JSON object.
"""

import json
import sys
import time

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program import run as program
from mosaic_gui.program.arguments import Arguments, parse_arguments

connect = program._connect


def main() -> None:
    """Run the client until its window was painted."""
    from PyQt6.QtCore import QEvent, QObject, QTimer
    from PyQt6.QtWidgets import QApplication

    class FirstPaint(QObject):
        """Ends the program with the turn of the loop after the first paint of the window."""

        def eventFilter(self, target: QObject | None, event: QEvent | None) -> bool:
            if event is not None and event.type() == QEvent.Type.Paint and target is not None:
                target.removeEventFilter(self)
                QTimer.singleShot(0, self.tell)
            return False

        def tell(self) -> None:
            """Print what was used."""
            modules = [n for n in ("numpy", "pyqtgraph", "keyring") if n in sys.modules]
            told = {"cpu_ms": round(1000 * time.process_time()), "imported": modules}
            print(json.dumps(told), flush=True)
            QApplication.quit()

    paints = FirstPaint()

    def connect_and_watch(client: DesktopClient, arguments: Arguments) -> None:
        client.window.installEventFilter(paints)
        connect(client, arguments)

    program._connect = connect_and_watch
    program.run_program(parse_arguments([]))


if __name__ == "__main__":
    main()
