"""The form of a sweep: ranges that fit, the specification, faults next to their fields, files, undo."""

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.sweeps import SweepSpec
from mosaic_contracts.worker import CheckReport
from mosaic_gui.controllers.sweep_form import SweepFormController
from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.store import Store
from mosaic_gui.state.sweep_file import read_sweep
from mosaic_gui.state.sweep_ranges import first_texts
from mosaic_gui.state.sweep_settings import parse_seeds
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.viewmodels.sweep_form import SweepFormModel


@pytest.fixture
def form(qtbot: QtBot) -> SweepFormModel:
    """The form of PPO on CartPole, opened; checks are asked for by the test."""
    launch = LaunchModel()
    launch.take_catalogue(WorkerEntries(workers=[worker()]))
    launch._settle.stop()
    made = SweepFormModel(launch, Store(), launch)
    made.setProperty("launch", launch)
    assert made.open()
    made._settle.stop()
    return made


def vary(form: SweepFormModel, *names: str) -> None:
    """Tick some parameters."""
    for name in names:
        form.vary(name, True)
    form._settle.stop()


@pytest.mark.parametrize(
    ("field", "low", "high", "log"),
    [
        (FormField("lr", "lr", FieldKind.NUMBER, 2.5e-4, above=0), "2.5e-05", "0.0025", "True"),
        (
            FormField("g", "g", FieldKind.NUMBER, 0.99, minimum=0, maximum=1),
            "0.9",
            "0.999",
            "False",
        ),
        (FormField("n", "n", FieldKind.INTEGER, 128, minimum=1), "32", "512", "True"),
        (FormField("e", "e", FieldKind.INTEGER, 4, minimum=1), "2", "8", "False"),
        (FormField("c", "c", FieldKind.NUMBER, 0.0, minimum=0), "0", "1", "False"),
        (FormField("k", "k", FieldKind.NUMBER, None, nullable=True), "0", "1", "False"),
    ],
)
def test_a_range_is_offered_around_the_default(
    field: FormField, low: str, high: str, log: str
) -> None:
    """Within the bounds; small and large defaults on a logarithmic scale."""
    texts = first_texts(field)
    assert (texts["low"], texts["high"], texts["log"]) == (low, high, log)


def test_the_specification_is_what_the_contract_takes(form: SweepFormModel) -> None:
    """Fixed parameters stay in the run; what varies is not among them."""
    form._launch.set_text("parameters", "gamma", "0.5")
    form._launch.set_text("parameters", "target_kl", "0.1")
    form._launch._settle.stop()
    vary(form, "learning_rate", "gamma", "anneal_lr", "loss")
    form.set_part("gamma", "kind", "values")
    form.set_part("gamma", "choices", "0.9, 0.99")
    form.set_part("learning_rate", "when", "loss")
    form.set_part("learning_rate", "when_values", "huber")
    form.set_setting("seeds", "1, 3-4")
    form.set_setting("trials", "40")
    form.set_setting("hours", "0.5")
    form.set_setting("pruner", "asha")
    form._settle.stop()
    assert (form.faults, form.words) == ({}, "40 trials × 3 seeds = 120 runs")
    assert form.spec is not None
    spec = SweepSpec.model_validate(form.spec)
    assert spec.run["parameters"] == {"target_kl": 0.1}
    assert (spec.run["worker"], spec.run["algorithm"], "kind" in spec.run) == (
        "cleanrl",
        "ppo",
        False,
    )
    dimensions = form.spec["parameters"]
    assert dimensions["gamma"] == {"type": "categorical", "choices": [0.9, 0.99]}
    assert dimensions["anneal_lr"]["choices"] == [True, False]
    assert dimensions["learning_rate"]["when"] == {"parameter": "loss", "values": ["huber"]}
    assert (spec.budget.wall_time_s, spec.seeds, spec.pruner.name) == (1800.0, [1, 3, 4], "asha")


def test_faults_are_next_to_their_fields(form: SweepFormModel) -> None:
    """Found here, by the contract, or by the stack."""
    assert form.faults["parameters"] == "choose a parameter that varies"
    vary(form, "gamma", "learning_rate")
    form.set_part("gamma", "high", "1.5")
    assert (form.fault_of("gamma"), form.wrong_parts("gamma")) == ("at most 1", {"high"})
    assert form.fault_of("learning_rate") == ""
    form.set_part("gamma", "low", "0.99")
    form.set_part("gamma", "high", "0.9")
    assert form.fault_of("gamma") == "low must not be greater than high"
    form.set_part("gamma", "high", "1")
    form.set_setting("seeds", "1-x")
    assert form.fault("seeds").startswith("1-x is no seed")
    form.set_setting("seeds", "")
    form.set_setting("sampler", "grid")
    assert "needs a step" in form.obstacle
    form.set_setting("sampler", "tpe")
    form._settle.stop()
    form._ask()
    findings = [
        {"level": "blocking", "where": "sweep.parameters.gamma.low", "message": "too low"},
        {"level": "warning", "where": "device", "message": "It has no GPU."},
    ]
    spec = form.spec
    assert spec is not None
    form.take_report(spec, CheckReport.model_validate({"ok": False, "findings": findings}))
    assert (form.fault_of("gamma"), form.obstacle) == ("too low", "too low")
    assert [one.message for one in form.findings] == ["It has no GPU."]
    form._ask()
    form.take_refusal(spec, "No stack answers.", [])
    assert form.obstacle == "No stack answers."
    form.check_again()
    assert form.obstacle == "Checking …"
    form._settle.stop()


def test_edits_are_undone_together_with_ticks(form: SweepFormModel) -> None:
    """A tick, a number, a setting: each is one step."""
    vary(form, "gamma")
    form.set_part("gamma", "low", "0.5")
    form.set_setting("trials", "7")
    form.undo()
    form.undo()
    assert form.draft is not None
    assert (form.draft.text("gamma", "low"), form.words) == ("0.9", "20 trials")
    form.undo()
    assert form.draft.names == []
    for _ in range(3):
        form.redo()
    assert (form.draft.text("gamma", "low"), form.words) == ("0.5", "7 trials")
    form._settle.stop()


def test_a_file_is_written_and_read_again(form: SweepFormModel, tmp_path: Path) -> None:
    """The same specification; what cannot be read says why."""
    said: list[str] = []
    controller = SweepFormController(form, lambda text, *_more: said.append(text), form)
    vary(form, "learning_rate", "loss")
    form.set_setting("seeds", "1-2")
    form.set_setting("second_metric", "losses/value")
    form.set_setting("sampler", "nsga2")
    before, path = form.spec, tmp_path / "sweep.yaml"
    controller.save(str(path))
    assert said[-1] == f"Saved. It can be started with: ./mosaic sweep {path}"
    assert read_sweep(path) == before
    for name in ("learning_rate", "loss"):
        form.vary(name, False)
    form.set_setting("seeds", "")
    controller.load(str(path))
    assert form.spec == before
    path.write_text("run: [")
    controller.load(str(path))
    assert "it is no YAML" in said[-1]
    path.write_text('{"run": {"worker": "x", "algorithm": "y"}, "parameters": {}}')
    controller.load(str(path))
    assert said[-1] == "This stack has no worker x with y."
    form._settle.stop()
    form._launch._settle.stop()


def test_seeds_are_numbers_and_ranges() -> None:
    """Each once, in their order."""
    assert parse_seeds("3, 1-2; 2") == [3, 1, 2]
    assert parse_seeds("") == []
    with pytest.raises(ValueError, match="no range"):
        parse_seeds("5-1")


def test_metrics_are_those_of_the_newest_run_of_the_algorithm(form: SweepFormModel) -> None:
    """Names of other curves (returns by episode) are no metrics."""
    asked: list[str] = []
    form.metrics_wanted.connect(asked.append)
    form._store.replace_runs(
        [
            run(1, summary=summary(1)),
            run(2, summary=summary(2)),
            run(3, summary=summary(3), spec={"algorithm": "dqn"}),
        ]
    )
    form.open()
    assert asked == [run_id(2)]
    form.take_metrics(run_id(2), ["episode/return", "losses/value_loss", "charts/SPS", "odd"])
    assert form.metrics[-2:] == ["charts/SPS", "losses/value_loss"]
    form.open()
    assert len(asked) == 1
    form._settle.stop()
