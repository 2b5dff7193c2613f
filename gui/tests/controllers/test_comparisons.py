"""Comparisons: a real process of a stand-in program gets its order, reports, and is ended."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pytestqt.qtbot import QtBot
from tests.comparison_specimen import policies
from tests.specimen import run, summary

from mosaic_contracts.states import RunState
from mosaic_gui.controllers.comparisons import ComparisonController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.comparison import ComparisonModel

PROGRAM = """#!{python}
import json, sys
order = json.loads(sys.stdin.readline())
json.dump(order, open({seen!r}, "w"))
for said in json.loads({says!r}):
    print(json.dumps(said), flush=True)
if {waits!r}:
    sys.stdin.read()
    open({seen!r} + ".stopped", "w").close()
    sys.exit(130)
sys.exit({code!r})
"""
PROGRESS = {"progress": [{"name": "ppo", "state": "running", "episodes": 3}]}
TIMEOUT_MS = 60_000


class Bench:
    """A controller with two actors, and the folder of its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notices: list[str] = []
        store = Store()
        trained = run(0, RunState.SUCCEEDED, summary=summary(0, checkpoints=1))
        store.replace_runs([trained])
        self.model = ComparisonModel(store)
        self.comparisons = ComparisonController(
            self.model,
            folder,
            lambda text, *_more: self.notices.append(text),
            {"MOSAIC_VENVS": str(folder / "venvs")},
        )
        self.model.begin([trained.run_id])
        self.model.add_random()
        location = SimpleNamespace(url="http://127.0.0.1:1", token="secret", ca_file=None)
        self.comparisons.session = cast(StreamSession, SimpleNamespace(location=location))

    def install(self, *says: dict[str, Any], code: int = 0, waits: bool = False) -> None:
        """Make the environment of the comparer, with a program that says this."""
        text = PROGRAM.format(
            python=sys.executable,
            seen=str(self.folder / "seen.json"),
            says=json.dumps(says),
            waits=waits,
            code=code,
        )
        path = self.folder / "venvs" / "analysis" / "bin" / "python"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


@pytest.fixture
def bench(tmp_path: Path, qtbot: QtBot) -> Iterator[Bench]:
    """A controller of a session."""
    made = Bench(tmp_path)
    yield made
    made.comparisons.cancel()
    qtbot.waitUntil(lambda: not made.model.is_running, timeout=TIMEOUT_MS)


def wait_for_end(bench: Bench, qtbot: QtBot) -> None:
    """Wait until the program has ended."""
    qtbot.waitUntil(lambda: not bench.model.is_running, timeout=TIMEOUT_MS)


def test_a_comparison_is_ordered_followed_and_saved(bench: Bench, qtbot: QtBot) -> None:
    """The order has stack and actors; the result is there with its files."""
    result = policies().model_dump(mode="json")
    bench.install(
        PROGRESS, {"analysing": True}, {"policies": result, "left_out": ["x is left out."]}
    )
    bench.model.start()
    assert bench.model.is_running
    wait_for_end(bench, qtbot)
    assert (bench.model.problem, bench.model.result) == ("", policies())
    assert bench.model.progress[0].episodes == 3
    assert bench.model.cautions == ["x is left out.", "Too few seeds: take more."]
    order = json.loads((bench.folder / "seen.json").read_text())
    assert order["stack"] == {"url": "http://127.0.0.1:1", "token": "secret", "ca_file": None}
    assert [actor["random"] for actor in order["comparison"]["plan"]["actors"]] == [False, True]
    folder = Path(order["folder"])
    folder.mkdir()
    (folder / "result.json").write_text("{}")
    bench.comparisons.save("result.json", bench.folder / "mine.json")
    assert (bench.folder / "mine.json").read_text() == "{}"
    bench.comparisons.save("result.json", bench.folder / "nowhere" / "mine.json")
    assert "cannot be written" in bench.notices[-1]


def test_a_comparison_that_cannot_be_made_says_why(bench: Bench, qtbot: QtBot) -> None:
    """In the comparer's words, by its exit code, or with the command that installs it."""
    bench.model.start()
    assert "`./mosaic sync analysis`" in bench.model.problem
    bench.install({"problem": "Fewer than two actors have returns."}, code=1)
    bench.model.start()
    wait_for_end(bench, qtbot)
    assert bench.model.problem == "Fewer than two actors have returns."
    bench.install(code=9)
    bench.model.start()
    wait_for_end(bench, qtbot)
    assert "exit code 9" in bench.model.problem
    started = {"progress": [{"name": "ppo", "run_id": run(1).run_id, "episodes": 3}]}
    bench.install(started, code=9)
    bench.model.start()
    wait_for_end(bench, qtbot)
    assert bench.model.problem.endswith("Its evaluations go on, and the next comparison uses them.")


def test_a_cancelled_comparison_stops_what_it_started(bench: Bench, qtbot: QtBot) -> None:
    """The comparer learns it from its closed input; so does one whose window closes."""
    bench.install(PROGRESS, waits=True)
    bench.model.start()
    qtbot.waitUntil(lambda: bool(bench.model.progress), timeout=TIMEOUT_MS)
    closed: list[bool] = []
    bench.comparisons.close(lambda: closed.append(True))
    qtbot.waitUntil(lambda: bool(closed), timeout=TIMEOUT_MS)
    assert (bench.folder / "seen.json.stopped").exists()
    assert bench.model.problem.startswith("Cancelled.")
