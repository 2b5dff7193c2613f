from pathlib import Path

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot

from mosaic_gui.controllers.stack_start import StackStart

WAIT_MS = 60_000


def checkout(root: Path, script: str) -> Path:
    """A checkout whose `./mosaic` is this shell script."""
    root.mkdir()
    program = root / "mosaic"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return root


@pytest.mark.parametrize(("code", "is_up"), [(0, True), (6, False)])
def test_a_start_says_how_it_went(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, is_up: bool
) -> None:
    """Exit code and words of `./mosaic up -d` reach the page, colours and carriage returns taken out."""
    script = f'printf "\\033[32m$1 $2 in $MOSAIC_HOME\\033(B\\033[0m\\r\\n"; exit {code}'
    monkeypatch.setenv("MOSAIC_PROGRAM", str(checkout(tmp_path / "root", script) / "mosaic"))
    start = StackStart(tmp_path / "home")
    assert start.is_possible
    with qtbot.waitSignal(start.ended, timeout=WAIT_MS) as ended:
        start.start()
        start.start()  # a second click starts nothing
    assert ended.args == [is_up, f"up -d in {tmp_path / 'home'}"]


def test_a_sequence_cut_between_two_reads_is_removed(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second half of a sequence or of a letter does not appear as text of its own."""
    read = tmp_path / "read"
    script = f'printf "\\033[3"; until [ -e {read} ]; do sleep 0.01; done; printf "2mé"'
    monkeypatch.setenv("MOSAIC_PROGRAM", str(checkout(tmp_path / "root", script) / "mosaic"))
    start = StackStart(tmp_path / "home")
    start.output.connect(lambda _said: read.touch())
    with qtbot.waitSignal(start.ended, timeout=WAIT_MS) as ended:
        start.start()
    assert ended.args == [True, "é"]


def test_a_program_that_cannot_be_started_is_reported(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken checkout is a message, and a new try is possible afterwards."""
    root = checkout(tmp_path / "root", "exit 0")
    (root / "mosaic").chmod(0o644)
    monkeypatch.setenv("MOSAIC_PROGRAM", str(root / "mosaic"))
    start = StackStart(tmp_path)
    for _ in range(2):
        with qtbot.waitSignal(start.ended, timeout=WAIT_MS) as ended:
            start.start()
        assert ended.args[0] is False
        assert ended.args[1]


def test_without_a_checkout_no_start_is_offered(tmp_path: Path) -> None:
    """A client that was installed alone can only connect to a stack."""
    start = StackStart(tmp_path)
    ended = QSignalSpy(start.ended)
    assert not start.is_possible
    start.start()
    assert len(ended) == 0
