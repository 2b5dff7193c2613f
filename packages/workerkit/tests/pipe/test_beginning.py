"""When a piped run begins: with what the program itself prints."""

from pathlib import Path

import pytest
from tests.run_folder import RUN_ID, make_run_folder

from mosaic_contracts.wire import event_type
from mosaic_workerkit.outbox.unshipped import read_unshipped
from mosaic_workerkit.pipe import translation
from mosaic_workerkit.pipe.translation import Translator
from mosaic_workerkit.telemetry import Telemetry


def kinds(folder: Path) -> list[str]:
    return [event_type(record) for _, record in read_unshipped(folder, RUN_ID)]


def test_a_silent_program_has_no_first_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the program's own output begins the run, so that the start deadline ends a program that hangs silently."""
    monkeypatch.setattr(translation, "CONFIG_WAIT_S", -1.0)
    folder = make_run_folder(tmp_path / "run")
    with Telemetry.open(folder) as telemetry:
        translator = Translator(telemetry, {"spaces": {}}, folder)
        translator.tick()
        assert kinds(folder) == []
        translator.note_output()
        translator.tick()
        assert kinds(folder) == ["config", "lifecycle"]


def test_a_program_that_prints_text_can_still_name_its_config(tmp_path: Path) -> None:
    """Text before the config line does not begin the run at once."""
    folder = make_run_folder(tmp_path / "run")
    with Telemetry.open(folder) as telemetry:
        translator = Translator(telemetry, {"spaces": {}}, folder)
        translator.note_output()
        translator.take_all([b"Using cpu device", b'{"type": "config", "lib": "mine"}'])
        assert kinds(folder) == ["config", "lifecycle"]
        assert not translator.refused
