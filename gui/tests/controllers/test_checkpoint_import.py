"""Imports of checkpoints over a real HTTP connection."""

import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.net.gateway_stub import Answer, HttpStub
from tests.specimen import run, run_id

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.checkpoint_import import CheckpointImportController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.location import StackLocation
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel

WAIT_MS = 60_000


class Bench:
    """The controller with a client of a stub."""

    def __init__(self, folder: Path) -> None:
        self.stub = HttpStub()
        self.api = ApiClient(StackLocation(self.stub.url, "secret"))
        self.store = Store()
        self.model = CheckpointsModel(self.store)
        self.notices: list[str] = []
        self.imports = CheckpointImportController(
            self.model, lambda text, _act, _then: self.notices.append(text)
        )
        noted: list[Changes] = []
        session = SimpleNamespace(api=self.api, store=self.store, note=noted.append)
        self.imports.session = cast(StreamSession, session)
        self.asked = QSignalSpy(self.model.import_asked)
        self.file = folder / "my best.zip"
        self.file.write_bytes(b"x" * 300_000)

    def start(self, **fields: str) -> None:
        """Import the file."""
        self.model.import_wanted.emit(str(self.file), fields)

    def wait(self, qtbot: QtBot) -> None:
        """Wait for the end of the import."""
        qtbot.waitUntil(lambda: self.model.upload is None, timeout=WAIT_MS)


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    """A bench whose connections end with it."""
    made = Bench(tmp_path)
    yield made
    made.imports.detach()
    made.api.close()
    made.stub.close()


def refusal(where: str) -> Answer:
    """The stack does not take the file."""
    problem = Problem(
        code=ProblemCode.CHECKPOINT_REFUSED,
        title="The file cannot be imported",
        detail="It does not say its algorithm.",
        fields=[{"where": where, "message": "m"}],
    )
    return Answer(422, problem.model_dump(mode="json"))


def test_a_file_becomes_a_run_whose_card_is_chosen(qtbot: QtBot, bench: Bench) -> None:
    """Its bytes are the body, its name is in the query; progress is shown meanwhile."""
    imported = run(8, RunState.SUCCEEDED)
    bench.stub.answers.append(Answer(201, imported.model_dump(mode="json")))
    bench.start(algorithm="ppo")
    assert bench.model.upload == ("my best.zip", 0, 300_000)
    bench.start()
    bench.wait(qtbot)
    (asked,) = bench.stub.asked
    assert asked.path == "/api/v1/checkpoints?file=my+best.zip&algorithm=ppo"
    assert asked.body == b"x" * 300_000
    assert asked.headers["idempotency-key"]
    assert bench.notices == [
        "Another import is under way. Wait for it, or cancel it.",
        "Imported: my best.zip",
    ]
    assert run_id(8) in bench.store.runs
    assert bench.model._expected == run_id(8)


def test_what_a_file_does_not_say_is_asked(qtbot: QtBot, bench: Bench) -> None:
    """With what was named for it before; everything else is said."""
    bench.stub.answers += [refusal("environment"), refusal("file")]
    bench.start(algorithm="ppo")
    bench.wait(qtbot)
    (question,) = bench.asked[0]
    assert (question.name, question.fields) == ("my best.zip", {"algorithm": "ppo"})
    assert "does not say its algorithm" in question.words
    bench.start()
    bench.wait(qtbot)
    assert bench.notices == ["The file cannot be imported. It does not say its algorithm."]


def test_a_busy_stack_gets_the_same_import_again(qtbot: QtBot, bench: Bench) -> None:
    """From the start, with the same key: it is one import."""
    imported = run(8, RunState.SUCCEEDED)
    busy = Problem(code=ProblemCode.SERVICE_UNAVAILABLE, title="Away")
    bench.stub.answers += [
        Answer(503, busy.model_dump(mode="json")),
        Answer(201, imported.model_dump(mode="json")),
    ]
    bench.start()
    bench.wait(qtbot)
    keys = {one.headers["idempotency-key"] for one in bench.stub.asked}
    assert (len(bench.stub.asked), len(keys)) == (2, 1)
    assert bench.notices == ["Imported: my best.zip"]


def test_a_file_that_cannot_be_sent_is_refused_here(bench: Bench, tmp_path: Path) -> None:
    """A pipe would never end, and an empty file is none."""
    bench.file.write_bytes(b"")
    bench.start()
    os.mkfifo(tmp_path / "pipe")
    bench.file = tmp_path / "pipe"
    bench.start()
    bench.file = tmp_path / "none"
    bench.start()
    assert [notice.rpartition("/")[2] for notice in bench.notices] == [
        "my best.zip is empty. Copy it again from where it comes from.",
        "pipe is no regular file. Choose a file.",
        "none cannot be read: No such file or directory.",
    ]
    assert bench.stub.asked == []


def test_a_cancelled_import_ends_and_says_so(qtbot: QtBot, bench: Bench) -> None:
    """The connection is closed."""
    bench.start()
    bench.model.cancel()
    assert bench.model.upload is None
    assert bench.notices == ["Import cancelled; nothing was left."]
