"""Files that are dropped on the window open the form that fits them."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtTest import QSignalSpy
from tests.specimen import worker

from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.dropped_forms import DroppedForms
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.dropped import Dropped, kind_of_dropped
from mosaic_gui.state.spec_file import is_sweep
from mosaic_gui.viewmodels.launch import ARGUMENT, LaunchModel
from mosaic_gui.views.main_window import TRAIN


def planner() -> WorkerEntry:
    """A worker whose algorithm takes AgentSpeak plans, as a path and as a text."""
    known = worker()
    assert known.description is not None
    algorithm = known.description.algorithms[0]
    properties = {
        "plan_file": {"type": ["string", "null"], "default": None, "x-file": ".asl"},
        "plan": {"type": ["string", "null"], "default": None, "x-file-text": ".asl"},
    }
    bdi = algorithm.model_copy(
        update={"id": "bdi", "parameters": {"type": "object", "properties": properties}}
    )
    manifest = known.manifest.model_copy(update={"id": "planner"})
    description = known.description.model_copy(update={"worker": "planner", "algorithms": [bdi]})
    return known.model_copy(update={"manifest": manifest, "description": description})


class Bench:
    """The form over two workers."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.launch = LaunchModel()
        self.forms = DroppedForms(self.launch, self.said.append)
        self.launch.take_catalogue(WorkerEntries(workers=[worker(), planner()]))
        self.filled = QSignalSpy(self.forms.filled)
        self.sweeps = QSignalSpy(self.forms.sweep_wanted)


@pytest.fixture
def bench() -> Iterator[Bench]:
    """A bench whose preflights are never sent."""
    made = Bench()
    yield made
    made.launch._settle.stop()


def write(folder: Path, name: str, content: object) -> Path:
    """A file of JSON, which is YAML, too; or of text."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


SPEC = {"worker": "cleanrl", "algorithm": "dqn", "environment": "CartPole-v1", "seed": 4}


def test_a_spec_fills_the_form(bench: Bench, tmp_path: Path) -> None:
    """YAML as `./mosaic run -f` takes it, and what `./mosaic show --json` prints."""
    text = "worker: cleanrl\nalgorithm: dqn\nenvironment: CartPole-v1\nseed: 4\nparameters: {gamma: 0.5}\n"
    path = write(tmp_path, "spec.yaml", text)
    assert kind_of_dropped(path) is Dropped.SPEC
    bench.forms.open_spec(path)
    assert len(bench.filled) == 1
    draft = bench.launch.draft
    assert draft is not None
    assert (draft.algorithm.id, draft.spec()["seed"]) == ("dqn", 4)
    assert draft.spec()["parameters"] == {"gamma": 0.5}
    bench.forms.open_spec(write(tmp_path, "run.json", {"run_id": "x", "spec": SPEC | {"seed": 5}}))
    assert draft.spec()["seed"] == 5


def test_a_group_fills_the_form_with_lists(bench: Bench, tmp_path: Path) -> None:
    """The body of `POST /groups` is read as it is sent."""
    group = {
        "run": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
        "seeds": [1, 2, 3],
        "parameters": {"gamma": [0.9, 0.99]},
    }
    bench.forms.open_spec(write(tmp_path, "group.json", group))
    draft = bench.launch.draft
    assert draft is not None
    assert draft.size == 6
    assert draft.group() is not None


def test_a_sweep_opens_its_own_form(bench: Bench, tmp_path: Path) -> None:
    """What has ranges in place of lists is a sweep."""
    sweep = {"run": SPEC, "parameters": {"gamma": {"low": 0.9, "high": 0.99}}, "trials": 20}
    assert is_sweep(sweep)
    path = write(tmp_path, "sweep.yaml", sweep)
    bench.forms.open_spec(path)
    assert bench.sweeps[0][0] == str(path)
    assert not bench.filled


def test_a_plan_goes_into_its_argument(bench: Bench, tmp_path: Path) -> None:
    """By its path where the stack reads this machine's files, else by its text."""
    path = write(tmp_path, "guard.asl", "!start.\n+!start <- act.\n")
    assert bench.forms.takes(path)
    bench.forms.is_local = True
    bench.forms.open_file(path)
    draft = bench.launch.draft
    assert draft is not None
    assert draft.algorithm.id == "bdi"
    assert draft.spec()["parameters"] == {"plan_file": str(path)}
    assert bench.filled[0][0] == f"{ARGUMENT}.plan_file"
    bench.forms.is_local = False
    bench.launch.reset()
    bench.forms.open_file(path)
    assert draft.spec()["parameters"] == {"plan": path.read_text().strip()}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: [1", "spec.yaml cannot be opened: line 1: it is no YAML."),
        ("a: 1", "spec.yaml cannot be opened: it names no worker and algorithm"),
        ({**SPEC, "worker": "other"}, "This stack has no worker other with dqn."),
        ({**SPEC, "parameters": [1]}, "its parameters are no names with values."),
    ],
)
def test_what_is_no_spec_is_refused_in_words(
    bench: Bench, tmp_path: Path, content: object, words: str
) -> None:
    """The form stays as it was."""
    before = bench.launch.command
    bench.forms.open_spec(write(tmp_path, "spec.yaml", content))
    assert words in bench.said[0]
    assert not bench.filled
    assert bench.launch.command == before


def test_a_file_that_nothing_takes_is_not_taken(bench: Bench, tmp_path: Path) -> None:
    """Its ending is declared by no algorithm."""
    assert not bench.forms.takes(write(tmp_path, "notes.txt", "x"))
    assert not bench.forms.takes(write(tmp_path, "noending", "x"))


def test_the_window_shows_the_form_of_a_dropped_spec(tmp_path: Path) -> None:
    """A drop on any page opens the form `Train new`."""
    client = DesktopClient(tmp_path / "home", PreferenceStore(None))
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    client.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    client.window.show()
    client.window.dropped.emit([write(tmp_path, "spec.json", SPEC)])
    assert client.window.page == TRAIN
    assert client.launch.draft is not None
    assert client.launch.draft.algorithm.id == "dqn"
    client.launch._settle.stop()
    client.window.close()
    client.window.deleteLater()
