import pytest
from tests.specimen import worker

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.inputs import Inputs
from mosaic_gui.state.schema_form import read_schema

SCHEMA = worker().description.algorithms[0].parameters  # type: ignore[union-attr]


def inputs() -> Inputs:
    """A form of the specimen's schema."""
    return Inputs(tuple(read_schema(SCHEMA, frozenset({"total_timesteps"}))))


def test_a_schema_becomes_groups_of_fields() -> None:
    """Groups keep the order of the schema; kinds, defaults and help are the worker's own."""
    groups = {group.name: [f.name for f in group.fields] for group in inputs().groups}
    assert groups == {
        "run": ["exp_name"],
        "algorithm": ["learning_rate", "gamma", "anneal_lr", "target_kl", "loss"],
    }
    fields = inputs().fields
    assert [fields[n].kind for n in ("learning_rate", "anneal_lr", "loss")] == [
        FieldKind.NUMBER,
        FieldKind.BOOLEAN,
        FieldKind.CHOICE,
    ]
    assert fields["gamma"].bounds == "0 to 1"
    assert fields["learning_rate"].help == "the learning rate of the optimizer"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-3", 0.001), ("0.5", 0.5), ("2.5e-4", 0.00025), (" 7 ", 7.0), ("1,000", 1000.0)],
)
def test_numbers_are_read_as_people_write_them(text: str, value: float) -> None:
    """Exponents, spaces and thousands are understood."""
    assert FormField("x", "x", FieldKind.NUMBER).parse(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [("1e6", 1_000_000), ("100_000", 100_000), ("2,000", 2000), ("-3", -3)]
)
def test_whole_numbers_may_have_exponents(text: str, value: int) -> None:
    """A million steps may be written 1e6, and stays a whole number."""
    parsed = FormField("x", "x", FieldKind.INTEGER).parse(text)
    assert parsed == value
    assert type(parsed) is int


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("gamma", "1.5", "at most 1"),
        ("gamma", "-1", "at least 0"),
        ("learning_rate", "0", "must be above 0"),
        ("learning_rate", "fast", "must be a number"),
        ("learning_rate", "nan", "must be a finite number"),
        ("learning_rate", "", "a value is needed"),
        ("loss", "l1", "one of mse, huber"),
    ],
)
def test_what_is_wrong_is_said_in_words(name: str, text: str, fault: str) -> None:
    """Each fault names what would be right, while it is typed."""
    form = inputs()
    form.texts[name] = text
    assert form.faults() == {name: fault}


def test_only_what_differs_is_sent() -> None:
    """Values equal to their default are left to the worker; an emptied optional one counts as empty."""
    form = inputs()
    form.texts.update(learning_rate="0.00025", gamma="0.9", anneal_lr="False", target_kl="")
    assert form.changed() == {"gamma": 0.9, "anneal_lr": False}


def test_a_nullable_field_may_be_empty() -> None:
    """Nothing typed is a value where the schema allows null."""
    assert inputs().fields["target_kl"].parse("") is None


def one(**part: object) -> FormField:
    """The field of a schema with one property."""
    (group,) = read_schema({"properties": {"x": part}})
    return group.fields[0]


def test_a_switch_that_may_be_left_open_has_three_choices() -> None:
    """`null` is a value of its own: a box would turn it into `false` at the first click."""
    found = one(type=["boolean", "null"], default=None)
    assert (found.kind, found.choices) == (FieldKind.CHOICE, (None, True, False))
    assert [found.parse(text) for text in ("", "True", "False")] == [None, True, False]


def test_a_fixed_value_can_only_be_that() -> None:
    """What the worker asserts is its default, and anything else is refused while it is typed."""
    found = one(type="integer", default=4, const=1)
    assert (found.fixed, found.default, found.parse("1")) == (True, 1, 1)
    with pytest.raises(ValueError, match="only 1 is possible"):
        found.parse("2")


def test_a_checkpoint_is_chosen() -> None:
    """A parameter that the schema marks is offered a list of earlier runs; left empty it is none."""
    found = one(type=["string", "null"], default=None, **{"x-checkpoint": True})
    assert found.kind is FieldKind.CHECKPOINT
    assert found.parse("") is None
    assert found.parse("RUN/checkpoints/a.npz") == "RUN/checkpoints/a.npz"
