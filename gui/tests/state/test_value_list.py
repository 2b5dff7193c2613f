import re

import pytest
from tests.specimen import worker

from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.spec import RunSpec
from mosaic_gui.state.draft import SpecDraft
from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.value_list import is_list, list_of_choices, list_reading, read_values

ENTRY = worker()
PPO = ENTRY.description.algorithms[0]  # type: ignore[union-attr]
SEED = SpecDraft.of(ENTRY, PPO).run.fields["seed"]
ARGUMENTS = SpecDraft.of(ENTRY, PPO).arguments.fields
STEPS = FormField("n", "n", FieldKind.INTEGER, default=128, many=True, minimum=1)
TEXT = FormField("layers", "layers", FieldKind.TEXT, default="64,64", many=True)


@pytest.mark.parametrize(
    ("field", "text", "values"),
    [
        (SEED, "1", [1]),
        (SEED, "1-5", [1, 2, 3, 4, 5]),
        (SEED, "1–3", [1, 2, 3]),
        (SEED, "1,2,3", [1, 2, 3]),
        (SEED, "1-3, 7", [1, 2, 3, 7]),
        (SEED, "[4, 5]", [4, 5]),
        (SEED, "1,000", [1, 0]),
        (ARGUMENTS["gamma"], "0.9, 0.99", [0.9, 0.99]),
        (ARGUMENTS["gamma"], "0,9; 0,99", [0.9, 0.99]),
        (ARGUMENTS["learning_rate"], "1e-4,3e-4,1e-3", [1e-4, 3e-4, 1e-3]),
        (ARGUMENTS["learning_rate"], "[1e-4, 1e-3]", [1e-4, 1e-3]),
        (ARGUMENTS["loss"], "mse, huber", ["mse", "huber"]),
        (ARGUMENTS["loss"], '["huber", "mse"]', ["huber", "mse"]),
        (ARGUMENTS["anneal_lr"], "true, false", [True, False]),
        (STEPS, "64, 128", [64, 128]),
        (STEPS, "[64,128]", [64, 128]),
        (TEXT, "64,64", ["64,64"]),
        (TEXT, '["64,64", "32"]', ["64,64", "32"]),
    ],
)
def test_lists_are_read_as_the_command_line_reads_them(
    field: FormField, text: str, values: list[object]
) -> None:
    """Commas, semicolons, ranges of seeds and JSON lists; a text keeps its commas."""
    assert read_values(field, text) == values


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (STEPS, "64,128", 64_128),
        (ARGUMENTS["gamma"], "0,9", 0.9),
        (ARGUMENTS["target_kl"], "", None),
    ],
)
def test_one_number_stays_one_number(field: FormField, text: str, value: object) -> None:
    """Separators of thousands and decimal commas are no lists."""
    assert read_values(field, text) == [value]
    assert not is_list(field, text)


@pytest.mark.parametrize(
    ("field", "text", "fault"),
    [
        (SEED, "5-1", "value 1, 5-1: counts backwards, write 1-5"),
        (SEED, "1,,3", "value 2 is missing"),
        (SEED, "1-3,2", "2 is there twice"),
        (SEED, "1-2000", "at most 1,000"),
        (SEED, "1-3,x", "value 2, x: must be a number"),
        (SEED, "1-x", "must be a whole number, or several: 1-5 or 1,2,3"),
        (ARGUMENTS["gamma"], "0.9, 1.5", "value 2, 1.5: at most 1"),
        (ARGUMENTS["gamma"], "0.9, abc", "value 2, abc: must be a number"),
        (ARGUMENTS["gamma"], "0.9, 0.90", "0.9 is there twice"),
        (ARGUMENTS["loss"], "mse, l1", "value 2, l1: one of mse, huber"),
        (ARGUMENTS["anneal_lr"], "true, maybe", "value 2, maybe: must be true or false"),
        (ARGUMENTS["learning_rate"], "[0.1", "must be a value, or a list such as [1, 2]"),
    ],
)
def test_a_wrong_list_names_the_value(field: FormField, text: str, fault: str) -> None:
    """The user reads which value is wrong, and why."""
    with pytest.raises(ValueError, match=f"^{re.escape(fault)}$"):
        read_values(field, text)


def test_a_list_is_shown_as_it_was_read() -> None:
    """A range is written out as far as there is room; one value has no list."""
    assert list_reading(SEED, "1-3") == "1, 2, 3"
    assert list_reading(SEED, "1-9") == "1, 2, 3, 4, 5, 6, …"
    assert list_reading(SEED, "1") == ""
    assert list_of_choices(ARGUMENTS["anneal_lr"]) == "true, false"
    assert list_of_choices(ARGUMENTS["loss"]) == "mse, huber"


def test_a_draft_with_lists_is_a_group() -> None:
    """All combinations are its runs; the preflight is of the first one."""
    draft = SpecDraft.of(ENTRY, PPO)
    assert draft.group() is None
    draft.run.texts.update(seed="1-3", name="mine")
    draft.arguments.texts.update(learning_rate="1e-4, 1e-3", gamma="0.9")
    draft.environment = "CartPole-v1, Acrobot-v1"
    assert draft.faults() == {}
    assert draft.size == 12
    found = draft.group()
    assert found is not None
    group = GroupSpec.model_validate(found)
    assert (group.size, group.name) == (12, "mine")
    assert group.specs()[0]["parameters"] == {"learning_rate": 1e-4, "gamma": 0.9}
    spec = RunSpec.model_validate(draft.spec())
    assert (spec.seed, spec.environment, spec.parameters["learning_rate"]) == (
        1,
        "CartPole-v1",
        1e-4,
    )


def test_a_value_that_is_the_default_is_part_of_its_list() -> None:
    """The first value of a list is given also where it is the default."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.arguments.texts.update(gamma="0.99, 0.9", anneal_lr="true, false")
    group = draft.group()
    assert group is not None
    assert group["parameters"] == {"gamma": [0.99, 0.9], "anneal_lr": [True, False]}
    assert draft.spec()["parameters"] == {"gamma": 0.99, "anneal_lr": True}


def test_too_many_runs_are_a_fault_of_the_first_list() -> None:
    """A group has at most 1,000 runs, and the form says so before the stack does."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts["seed"] = "1-600"
    draft.arguments.texts["gamma"] = "0.9, 0.99"
    assert draft.faults() == {"seed": "1,200 runs are more than the 1,000 that start together"}


def test_lists_are_kept_for_the_next_start() -> None:
    """What was typed last fills the form again, lists included."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts["seed"] = "1-3, 9"
    draft.arguments.texts.update(gamma="0.9, 0.99", anneal_lr="true, false")
    draft.environment = "CartPole-v1, Acrobot-v1"
    other = SpecDraft.of(ENTRY, PPO)
    other.fill_from(draft.typed_spec())
    assert other.group() == draft.group()
    assert other.run.texts["seed"] == "1-3,9"


def test_the_command_starts_the_same() -> None:
    """Seeds and lists are written as `./mosaic run` takes them."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts["seed"] = "1-3"
    draft.arguments.texts["learning_rate"] = "1e-4, 1e-3"
    assert draft.command() == (
        "./mosaic run cleanrl ppo CartPole-v1 --seed 1-3 -p learning_rate=0.0001,0.001"
    )
