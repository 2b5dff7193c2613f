from typing import Any

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import report, run, worker

from mosaic_contracts.services import WorkerEntries
from mosaic_gui.viewmodels.launch import ARGUMENT, RUN, LaunchModel

WAIT_MS = 5_000


@pytest.fixture
def model() -> LaunchModel:
    """A model with the catalogue of one worker."""
    made = LaunchModel()
    made.take_catalogue(WorkerEntries(workers=[worker()]))
    return made


def asked(qtbot: QtBot, model: LaunchModel) -> dict[str, Any]:
    """The spec that the stack is asked about, once typing has settled."""
    with qtbot.waitSignal(model.preflight_wanted, timeout=WAIT_MS) as wanted:
        pass
    spec: dict[str, Any] = wanted.args[0]
    return spec


def test_the_first_ready_algorithm_is_chosen(qtbot: QtBot, model: LaunchModel) -> None:
    """Two clicks are to be enough for a first run: something sensible is there at once."""
    spec = asked(qtbot, model)
    assert (spec["algorithm"], spec["environment"]) == ("ppo", "CartPole-v1")


def test_launch_waits_for_the_preflight(qtbot: QtBot, model: LaunchModel) -> None:
    """Until the stack has answered there is an obstacle in words; after a good answer there is none."""
    assert model.obstacle == "Checking …"
    spec = asked(qtbot, model)
    model.take_report(spec, report())
    assert model.obstacle == ""
    launched = QSignalSpy(model.launch_wanted)
    model.launch()
    assert launched[0][0] == spec
    assert model.obstacle == "Launching …"


def test_typing_is_asked_about_once(qtbot: QtBot, model: LaunchModel) -> None:
    """A preflight asks a worker's program: one question when typing has settled, not one a key."""
    wanted = QSignalSpy(model.preflight_wanted)
    for text in ("0.", "0.9", "0.95"):
        model.set_text(ARGUMENT, "gamma", text)
    assert asked(qtbot, model)["parameters"] == {"gamma": 0.95}
    assert len(wanted) == 1


def test_an_answer_to_an_older_question_is_left_out(qtbot: QtBot, model: LaunchModel) -> None:
    """What was typed meanwhile is not launched on the strength of an older check."""
    old = asked(qtbot, model)
    model.set_text(RUN, "seed", "5")
    asked(qtbot, model)
    model.take_report(old, report())
    assert model.report is None
    assert model.obstacle == "Checking …"


def test_a_fault_is_told_without_asking(qtbot: QtBot, model: LaunchModel) -> None:
    """What is wrong by the schema is said while it is typed, and the stack is not asked."""
    asked(qtbot, model)
    model.set_text(ARGUMENT, "gamma", "7")
    assert model.fault(ARGUMENT, "gamma") == "at most 1"
    assert model.obstacle == "gamma: at most 1"
    assert not model.is_checking


def test_a_blocking_line_stands_at_its_field(qtbot: QtBot, model: LaunchModel) -> None:
    """What only the worker knows is shown at the field that it names, and hinders the launch."""
    spec = asked(qtbot, model)
    bad = report("blocking")
    bad.lines[1].where = "parameters.gamma"
    bad.lines[1].message = "parameters.gamma: too much with this map"
    model.take_report(spec, bad)
    assert model.fault(ARGUMENT, "gamma") == "too much with this map"
    assert model.obstacle.startswith("Device: ")


def test_needs_take_consent_once(qtbot: QtBot, model: LaunchModel) -> None:
    """What a run needs from outside hinders the launch until the user agrees to exactly that plan."""
    spec = asked(qtbot, model)
    model.take_report(spec, report(needs=["internet access to example.org"]))
    assert model.obstacle == "It needs your consent."
    model.agree()
    assert model.obstacle == ""
    launched = QSignalSpy(model.launch_wanted)
    model.launch()
    assert launched[0][0]["consent"] == "d1"


def test_a_refused_launch_says_why_and_where(qtbot: QtBot, model: LaunchModel) -> None:
    """The stack's word stands in the form, at the field where there is one."""
    spec = asked(qtbot, model)
    model.take_report(spec, report())
    model.launch()
    model.take_refusal(spec, "This cannot be run.", [{"where": "steps", "message": "at least 512"}])
    assert model.fault(RUN, "steps") == "at least 512"
    assert not model.launching


def test_each_algorithm_keeps_what_was_typed(qtbot: QtBot, model: LaunchModel) -> None:
    """Looking at another algorithm and coming back loses nothing."""
    model.set_text(ARGUMENT, "gamma", "0.5")
    model.choose("cleanrl", "dqn")
    assert model.text(ARGUMENT, "gamma") == "0.99"
    model.choose("cleanrl", "ppo")
    assert model.text(ARGUMENT, "gamma") == "0.5"
    model.reset()
    assert model.text(ARGUMENT, "gamma") == "0.99"
    asked(qtbot, model)


def test_a_copy_needs_its_algorithm(qtbot: QtBot, model: LaunchModel) -> None:
    """A run of a worker that this stack does not have cannot be copied, and says so."""
    spec = run(0, spec={"parameters": {"gamma": 0.1}}).spec.model_dump(mode="json")
    assert model.copy_from(spec)
    assert model.text(ARGUMENT, "gamma") == "0.1"
    assert not model.copy_from({**spec, "worker": "other"})
    asked(qtbot, model)


def test_a_worker_that_is_not_ready_is_shown_but_not_chosen() -> None:
    """The catalogue names what it lacks instead of hiding it."""
    model = LaunchModel()
    model.take_catalogue(WorkerEntries(workers=[worker(ready=False)]))
    assert model.draft is None
    assert model.obstacle == "Choose an algorithm."
