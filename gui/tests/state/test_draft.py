from tests.specimen import run, worker

from mosaic_contracts.spec import RunSpec
from mosaic_gui.state.draft import SpecDraft, environments_for

ENTRY = worker()
PPO = ENTRY.description.algorithms[0]  # type: ignore[union-attr]


def test_alert_rules_are_separated_by_semicolons() -> None:
    """They go into the spec as a list, and come back as a line with a copy."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts["alerts"] = "return<50 for 50k steps; nan or inf;"
    rules = ["return<50 for 50k steps", "nan or inf"]
    assert draft.spec()["alerts"] == rules
    draft.fill_from({"alerts": rules})
    assert draft.run.texts["alerts"] == "; ".join(rules)


def test_a_fresh_draft_is_a_valid_spec() -> None:
    """Nothing needs to be typed: the defaults make a run."""
    draft = SpecDraft.of(ENTRY, PPO)
    assert draft.faults() == {}
    spec = RunSpec.model_validate(draft.spec())
    assert (spec.algorithm, spec.environment, spec.parameters) == ("ppo", "CartPole-v1", {})


def test_what_was_typed_goes_into_the_spec() -> None:
    """Fields of the run and arguments of the algorithm land where the spec has them."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts.update(seed="7", steps="2e4", tags="a, b ,", record="metrics")
    draft.arguments.texts["gamma"] = "0.9"
    spec = RunSpec.model_validate(draft.spec())
    assert (spec.seed, spec.steps, spec.tags, spec.record.value) == (
        7,
        20_000,
        ["a", "b"],
        "metrics",
    )
    assert spec.parameters == {"gamma": 0.9}


def test_the_steps_field_stands_once() -> None:
    """The argument that `steps` sets is not a field of its own: naming both is refused by the stack."""
    assert "total_timesteps" not in SpecDraft.of(ENTRY, PPO).arguments.fields


def test_faults_name_their_place() -> None:
    """A fault is found under the field's place in the spec."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.arguments.texts["gamma"] = "2"
    draft.environment = " "
    assert draft.faults() == {
        "parameters.gamma": "at most 1",
        "environment": "choose an environment",
    }


def test_an_algorithm_that_cannot_run_starts_nothing() -> None:
    """The worker's reason, or the command that installs its bundle, is what hinders the draft; no field is at fault."""
    gone = PPO.model_copy(update={"unavailable": "procgen has no package"})
    draft = SpecDraft.of(ENTRY, gone)
    draft.environment = ""
    assert draft.faults() == {"algorithm": "procgen has no package"}
    bundle = PPO.model_copy(update={"bundle": "jax", "install": "./mosaic sync x --bundle jax"})
    why = SpecDraft.of(ENTRY, bundle).faults()["algorithm"]
    assert "./mosaic sync x --bundle jax" in why


def test_environments_are_those_it_can_act_in() -> None:
    """Continuous actions are not offered to a discrete algorithm; what needs a bundle comes last."""
    assert [e.id for e in environments_for(ENTRY, PPO)] == ["CartPole-v1", "LunarLander-v2"]


def test_another_run_fills_the_form() -> None:
    """Clone and edit begins with the other run's choices."""
    other = run(
        4, spec={"steps": 1000, "tags": ["x", "y"], "parameters": {"gamma": 0.5, "gone": 1}}
    )
    draft = SpecDraft.of(ENTRY, PPO)
    draft.fill_from(other.spec.model_dump(mode="json"))
    spec = draft.spec()
    assert (spec["seed"], spec["steps"], spec["tags"]) == (5, 1000, ["x", "y"])
    assert spec["parameters"] == {"gamma": 0.5}


def test_a_copy_says_what_differs() -> None:
    """A variation of a run names it as its parent, and each field that is not as there, by its value."""
    other = run(
        4, spec={"steps": 1000, "parameters": {"gamma": 0.5, "anneal_lr": False, "gone": 1}}
    )
    draft = SpecDraft.of(ENTRY, PPO)
    draft.fill_from(other.spec.model_dump(mode="json"), other.run_id, other.name)
    assert draft.differences() == []
    assert draft.origin is not None
    assert draft.origin.lost == ("gone",)
    draft.arguments.texts.update(gamma="0.50", anneal_lr="True")
    draft.run.texts["seed"] = "6"
    found = {(one.label, one.before, one.now) for one in draft.differences()}
    assert found == {("anneal lr", "off", "on"), ("seed", "5", "6")}
    assert draft.spec()["parent"] == other.run_id
    draft.origin = None
    assert "parent" not in draft.spec()
