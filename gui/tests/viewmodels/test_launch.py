from typing import Any

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import machine_sample as sample
from tests.specimen import report, run, run_id, summary, worker

from mosaic_contracts.machine import RunUse
from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_gui.viewmodels.launch import ARGUMENT, RUN, LaunchModel

WAIT_MS = 60_000


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


def test_a_fault_is_reported_without_a_request(qtbot: QtBot, model: LaunchModel) -> None:
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
    """The form shows the stack's message, at its field where there is one."""
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


def test_a_form_follows_its_worker(qtbot: QtBot, model: LaunchModel) -> None:
    """A script that was edited has a new argument in the form at once, and what was typed stays."""
    model.set_text(ARGUMENT, "gamma", "0.95")
    changed = worker()
    assert changed.description is not None
    parameters = changed.description.algorithms[0].parameters
    parameters["properties"]["resume"] = {"type": ["string", "null"], "default": None}
    replaced = QSignalSpy(model.draft_replaced)
    model.take_catalogue(WorkerEntries(workers=[worker()]))
    assert not replaced
    model.take_catalogue(WorkerEntries(workers=[changed]))
    assert len(replaced) == 1
    assert model.draft is not None
    assert "resume" in model.draft.arguments.fields
    assert asked(qtbot, model)["parameters"] == {"gamma": 0.95}


def test_an_edit_is_taken_back_and_brought_again(qtbot: QtBot, model: LaunchModel) -> None:
    """Undo goes edit by edit, over defaults and environment too; what it brings back is checked like typing."""
    asked(qtbot, model)
    model.set_text(ARGUMENT, "gamma", "0.5")
    asked(qtbot, model)
    model.set_environment("LunarLander-v2")
    model.reset()
    assert model.text(ARGUMENT, "gamma") == "0.99"
    replaced = QSignalSpy(model.typed_replaced)
    model.undo()
    assert (model.text(ARGUMENT, "gamma"), model.draft.environment) == ("0.5", "LunarLander-v2")  # type: ignore[union-attr]
    model.undo()
    model.undo()
    model.undo()  # there is nothing more
    assert (model.text(ARGUMENT, "gamma"), model.draft.environment) == ("0.99", "CartPole-v1")  # type: ignore[union-attr]
    model.redo()
    assert model.text(ARGUMENT, "gamma") == "0.5"
    assert len(replaced) == 4
    assert asked(qtbot, model)["parameters"] == {"gamma": 0.5}


def test_an_undo_ends_at_what_was_remembered(qtbot: QtBot) -> None:
    """A form that begins with the last start's values does not lose them by an undo."""
    model = LaunchModel()
    model.presets[("cleanrl", "ppo")] = {"parameters": {"gamma": 0.5}}
    model.take_catalogue(WorkerEntries(workers=[worker()]))
    model.set_text(ARGUMENT, "gamma", "0.6")
    model.undo()
    model.undo()
    assert model.text(ARGUMENT, "gamma") == "0.5"
    asked(qtbot, model)


def test_one_field_goes_back_to_its_default(qtbot: QtBot, model: LaunchModel) -> None:
    """The others keep what was typed."""
    model.set_text(ARGUMENT, "gamma", "0.5")
    model.set_text(RUN, "seed", "7")
    model.reset_field(ARGUMENT, "gamma")
    spec = asked(qtbot, model)
    assert (spec["parameters"], spec["seed"]) == ({}, 7)


def needing(*needs: str, digest: str = "d1") -> Any:
    """A report as the stack makes it: without consent its line blocks."""
    line = {"id": "consent", "title": "Consent", "level": "blocking", "message": "It needs: …"}
    return report(ok=False, lines=[line], needs=list(needs), digest=digest)


def test_access_is_asked_for_once(qtbot: QtBot, model: LaunchModel) -> None:
    """What was agreed to is not asked for again in another plan of that worker; another kind of access is."""
    kept = QSignalSpy(model.consents_changed)
    model.take_report(asked(qtbot, model), needing("internet"))
    assert (model.obstacle, model.lines[0].level) == ("It needs your consent.", "blocking")
    model.agree()
    assert (model.obstacle, model.lines[0].level) == ("", "ok")
    assert kept[0][0] == ["cleanrl: internet"]
    model.set_text(RUN, "seed", "9")
    model.take_report(asked(qtbot, model), needing("internet", digest="d2"))
    assert (model.obstacle, model.agreed) == ("", ["internet"])
    launched = QSignalSpy(model.launch_wanted)
    model.launch()
    assert launched[0][0]["consent"] == "d2"
    model.take_launched()
    model.set_text(RUN, "seed", "10")
    model.take_report(asked(qtbot, model), needing("internet", "a script", digest="d3"))
    assert model.obstacle == "It needs your consent."


def test_agreement_can_be_taken_back(qtbot: QtBot, model: LaunchModel) -> None:
    """From then on it is asked for again."""
    model.consents = {"cleanrl: internet", "other: internet"}
    model.take_report(asked(qtbot, model), needing("internet"))
    assert model.obstacle == ""
    model.disagree()
    assert model.obstacle == "It needs your consent."
    assert model.consents == {"other: internet"}


def is_checking(model: LaunchModel) -> bool:
    """Whether the stack is asked just now."""
    return model.is_checking


def test_a_machine_that_changes_is_asked_about_again(qtbot: QtBot, model: LaunchModel) -> None:
    """A run that ended or a GPU that came renews the preflight by itself; what is known holds until the answer."""
    model.take_machine(sample(t=100.0))
    model.set_shown(True)
    spec = asked(qtbot, model)
    model.take_report(spec, report())
    use = RunUse(run_id="r", cpu_percent=1, rss_bytes=1, processes=1)
    model.take_machine(sample(t=103.0))
    assert not is_checking(model)  # nothing is different
    model.take_machine(sample(t=106.0, runs=[use]))
    assert is_checking(model)
    assert model.obstacle == ""  # it may be launched all the while
    assert asked(qtbot, model) == spec
    model.take_report(spec, report("blocking"))
    assert model.obstacle.startswith("Device")
    model.take_machine(sample(t=108.0))  # too soon: a preflight starts the worker's program
    assert not is_checking(model)
    model.take_machine(sample(t=127.0, runs=[use]))  # an obstacle is looked at again by itself
    assert is_checking(model)
    asked(qtbot, model)
    model.take_report(spec, report())
    model.set_shown(False)
    model.take_machine(sample(t=900.0))
    assert not is_checking(model)  # nobody sees it
    model.set_shown(True)
    assert asked(qtbot, model) == spec  # who comes back sees how it is now


def test_a_run_to_go_on_from(qtbot: QtBot, model: LaunchModel) -> None:
    """Runs of the chosen algorithm that left a checkpoint are offered, those in its environment first."""
    asked(qtbot, model)
    runs = [
        run(0, summary=summary(0, checkpoints=0)),
        run(1, summary=summary(1, checkpoints=2), spec={"environment": "CartPole-v1"}),
        run(2, summary=summary(2, checkpoints=1), spec={"environment": "Acrobot-v1"}),
        run(3, summary=summary(3, checkpoints=1), spec={"algorithm": "dqn"}),
    ]
    model.store.take_runs(runs)
    assert [found.run_id for found in model.continuable] == [run_id(1), run_id(2)]
    reported: list[Any] = []
    model.checkpoints_read.connect(lambda run_id, rows: reported.append((run_id, rows)))
    rows = [
        ArtifactRow(path="checkpoints/1.pt", kind="checkpoint", bytes=1, step=10),
        ArtifactRow(path="checkpoints/2.pt", kind="checkpoint", bytes=1, step=20),
        ArtifactRow(path="checkpoints/3.pt", kind="checkpoint", bytes=1, step=30, exists=False),
        ArtifactRow(path="a.csv", kind="table", bytes=1),
    ]
    model.take_checkpoints(run_id(1), rows)
    assert [row.path for row in reported[0][1]] == ["checkpoints/2.pt", "checkpoints/1.pt"]


def test_what_is_in_the_way_has_a_place(qtbot: QtBot, model: LaunchModel) -> None:
    """A fault leads to its field; what is no field of the form leads nowhere."""
    spec = asked(qtbot, model)
    model.set_text(ARGUMENT, "gamma", "7")
    assert model.obstacle_field == "parameters.gamma"
    model.set_text(ARGUMENT, "gamma", "0.99")
    asked(qtbot, model)
    bad = report("blocking")
    bad.lines[1].where = "xmpp"
    model.take_report(spec, bad)
    assert model.obstacle_field == ""


def test_a_run_goes_on_from_a_checkpoint(model: LaunchModel) -> None:
    """The parameter that takes a checkpoint names it; where the algorithm begins with none, nothing is typed."""
    assert model.begin_with(f"{run_id(0)}/a.pt") == ""
    entry = worker().model_dump(mode="json")
    algorithm = entry["description"]["algorithms"][0] | {"id": "warm", "warm_start": True}
    properties = {"start": {"type": ["string", "null"], "default": None, "x-checkpoint": True}}
    algorithm["parameters"] = {"type": "object", "properties": properties}
    entry["description"]["algorithms"] = [algorithm]
    model.take_catalogue(WorkerEntries(workers=[WorkerEntry.model_validate(entry)]))
    model.choose("cleanrl", "warm")
    assert model.begin_with(f"{run_id(0)}/a.pt") == "start"
    assert model.draft is not None
    assert model.draft.spec()["parameters"] == {"start": f"{run_id(0)}/a.pt"}
    model._settle.stop()


def test_a_stack_without_a_broker_is_a_red_line(qtbot: QtBot, model: LaunchModel) -> None:
    """Nobody can look at the run: that is the checklist's one line, and it is asked again when somebody answers."""
    spec = asked(qtbot, model)
    model.set_shown(True)
    model.take_refusal(spec, "The broker cannot be reached.", [], "broker_unavailable")
    (line,) = model.lines
    assert (line.id, line.level, line.message) == ("broker", "blocking", model.refusal)
    assert "mosaic status" in line.todo
    assert model.obstacle == model.refusal
    model.take_machine(sample(t=100.0))
    again = asked(qtbot, model)
    model.take_report(again, report())
    assert [entry.id for entry in model.lines] == ["worker", "device"]
