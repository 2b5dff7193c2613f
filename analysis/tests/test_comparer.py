"""The comparer as the program that a window starts."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic_contracts.comparison_orders import comparer_argv


@pytest.mark.skipif(sys.platform == "win32", reason="signals cannot be ignored for a child there")
def test_it_ends_with_its_window_also_where_ctrl_c_is_ignored(tmp_path: Path) -> None:
    """A shell that starts a program in the background has it ignore Ctrl-C, and its children with it."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        order = {
            "stack": {"url": f"http://127.0.0.1:{deaf.getsockname()[1]}", "token": "t"},
            "comparison": {"kind": "policies", "plan": {"actors": ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "random"]}},
            "folder": str(tmp_path / "result"),
        }  # fmt: skip
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            program = subprocess.Popen(comparer_argv(sys.executable), stdin=subprocess.PIPE)
        finally:
            signal.signal(signal.SIGINT, before)
        with program:
            assert program.stdin is not None
            program.stdin.write(json.dumps(order).encode() + b"\n")
            program.stdin.flush()
            request, _ = deaf.accept()
            with request:
                assert request.recv(1)  # it has read its order, and waits for an answer
                program.stdin.close()
                assert program.wait(60) == 130
