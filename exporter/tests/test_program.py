"""The program that the command line and the window start: what it reads, what it says, and how it ends."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import gymnasium
import pytest
from tests.doubles import RUN_ID, RecordedRun
from tests.test_dataset import CARTPOLE, CONFIG, play, records_of

from mosaic_contracts.exports import (
    DatasetExport,
    ExporterLine,
    ExportOrder,
    ExportPhase,
    StackAddress,
    exporter_argv,
)

Start = Callable[[], "subprocess.Popen[str]"]


class Stack(http.server.BaseHTTPRequestHandler):
    """Answers for one run; of its batches the second page never comes."""

    run: RecordedRun
    is_whole = True
    waits = threading.Event()

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        cursor = parse_qs(asked.query).get("cursor", [""])[0]
        if asked.path.endswith("/batches") and cursor and not type(self).is_whole:
            type(self).waits.set()
            return  # the connection closes without an answer, and the exporter tries again
        body = type(self).run.answer(asked.path, cursor)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts the exporter with the order of a dataset; its standard input stays open."""
    with gymnasium.make("CartPole-v1") as env:
        records = records_of([play(env, seed) for seed in range(5)])
    monkeypatch.setattr(Stack, "run", RecordedRun(records, CARTPOLE, CONFIG, per_page=20), False)
    monkeypatch.setattr(Stack, "is_whole", True)
    monkeypatch.setattr(Stack, "waits", threading.Event())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # started by a shell that does not wait
        signal.signal(signal.SIGINT, signal.default_int_handler)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stack) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        order = ExportOrder(
            stack=StackAddress(url=f"http://127.0.0.1:{server.server_port}", token="secret"),
            export=DatasetExport(run_id=RUN_ID, name="a-v0"),
        )

        def begin() -> "subprocess.Popen[str]":
            program = subprocess.Popen(
                exporter_argv(sys.executable),
                env={**os.environ, "MINARI_DATASETS_PATH": str(tmp_path / "datasets")},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            assert program.stdin is not None
            program.stdin.write(order.model_dump_json() + "\n")
            program.stdin.flush()
            return program

        yield begin
        server.shutdown()
        thread.join(60)


def ended(program: "subprocess.Popen[str]") -> tuple[int, list[ExporterLine]]:
    """Exit code and what was said; standard input is open to the end."""
    assert program.stdout is not None
    with program:
        lines = [ExporterLine.model_validate_json(line) for line in program.stdout]
        code = program.wait(60)
    return code, lines


def test_a_dataset_is_made_and_reported(start: Start, tmp_path: Path) -> None:
    """Progress line by line, then the report; a second one of the same name is one problem."""
    code, lines = ended(start())
    assert code == 0
    phases = [line.progress.phase for line in lines if line.progress is not None]
    assert phases[0] is ExportPhase.READING
    assert phases[-1] is ExportPhase.CHECKING
    report = lines[-1].dataset
    assert report is not None
    assert (report.name, report.episodes, report.is_rebuilt) == ("a-v0", 5, False)
    assert Path(report.folder) == tmp_path / "datasets" / "a-v0"
    code, lines = ended(start())
    assert (code, len(lines)) == (1, 1)
    assert "a-v0 exists" in lines[0].problem


def test_an_order_is_refused_that_is_none() -> None:
    """A person who starts the program by hand learns what it reads."""
    done = subprocess.run(
        exporter_argv(sys.executable), input=json.dumps({"x": 1}), capture_output=True, text=True, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert "An ExportOrder is expected" in done.stderr


def by_signal(number: signal.Signals) -> Callable[["subprocess.Popen[str]"], Any]:
    return lambda program: program.send_signal(number)


def by_death(program: "subprocess.Popen[str]") -> None:
    """As when the program that started it has died."""
    assert program.stdin is not None
    program.stdin.close()


@pytest.mark.parametrize("cancel", [by_signal(signal.SIGINT), by_signal(signal.SIGTERM), by_death])
def test_a_cancelled_export_leaves_nothing(
    start: Start, tmp_path: Path, cancel: Callable[["subprocess.Popen[str]"], Any]
) -> None:
    """Ctrl-C, or the end of the program that started it: what was begun is removed, at once."""
    Stack.is_whole = False
    program = start()
    assert Stack.waits.wait(60)
    cancel(program)
    assert ended(program)[0] == 130
    assert list((tmp_path / "datasets").iterdir()) == []
