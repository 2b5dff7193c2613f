"""The program that `./mosaic export` starts: what it says, and how it ends."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.doubles import frame_of, moving_square

from mosaic_contracts.frames import EpisodeFrames, encode_frame, encode_page

REPLAY = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
LAST = 30


class Stack(http.server.BaseHTTPRequestHandler):
    """Answers with one page of frames at a time, the last page never."""

    last_page_comes = True
    waits = threading.Event()

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        first = int(asked["first"][0])
        if first >= 20 and not type(self).last_page_comes:
            type(self).waits.set()
            return  # the connection closes without an answer, and the exporter tries again
        steps = range(first, min(first + 10, LAST + 1))
        frames = [encode_frame(frame_of(step, moving_square(step))) for step in steps]
        following = steps[-1] + 1 if steps[-1] < LAST else None
        body = encode_page(EpisodeFrames(frames, following, LAST))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """The environment of a program that is to talk to the stand-in."""
    monkeypatch.setattr(Stack, "last_page_comes", True)
    monkeypatch.setattr(Stack, "waits", threading.Event())
    token = tmp_path / "token"
    token.write_text("secret")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stack) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield {
            **os.environ,
            "MOSAIC_URL": f"http://127.0.0.1:{server.server_port}",
            "MOSAIC_TOKEN_FILE": str(token),
        }
        server.shutdown()
        thread.join(30)


def command(*words: str) -> list[str]:
    return [sys.executable, "-I", "-m", "mosaic_exporter", *words]


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_video_is_made_and_reported(tmp_path: Path, environ: dict[str, str]) -> None:
    """Progress line by line, then the result."""
    target = tmp_path / "a.gif"
    words = command("video", REPLAY, str(target), "--form", "gif")
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
    said = lines(done.stdout)
    assert {"done": 31, "total": 31} in said
    assert said[-1]["result"]["frames"] == 31
    assert target.stat().st_size > 100


def test_a_problem_is_one_line(tmp_path: Path, environ: dict[str, str]) -> None:
    """Exit code 1, in words, no traceback."""
    words = command("video", REPLAY, str(tmp_path / "no-folder" / "a.mp4"))
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert "cannot be written (No such file or directory)" in lines(done.stdout)[-1]["problem"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_cancelled_export_leaves_nothing(
    tmp_path: Path, environ: dict[str, str], number: signal.Signals
) -> None:
    """Ctrl-C, or the end of the program that started it: the draft is removed, at once."""
    Stack.last_page_comes = False
    folder = tmp_path / "videos"
    folder.mkdir()
    words = command("video", REPLAY, str(folder / "a.mp4"))
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as program:
        assert Stack.waits.wait(20)
        program.send_signal(number)
        assert program.wait(30) == 130
    assert list(folder.iterdir()) == []
