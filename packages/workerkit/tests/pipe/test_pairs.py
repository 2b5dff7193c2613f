"""Lines of pairs: which are read, which are text, and which are refused with a word."""

import math

import pytest

from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.number import HugeNumber, numbers_of
from mosaic_workerkit.pipe.pairs import read_pairs
from mosaic_workerkit.pipe.reading import STEP_KEYS

RETURN = {"global_step": 700, "episodic_return": 45.0}


@pytest.mark.parametrize(
    "value",
    [
        *("45.0", "45", "45.", "4.5e1", "+45", "[45.]", "[45.0]", "(45.0,)", "[[45.]]"),
        *("np.float64(45.0)", "np.float32(45.0)", "numpy.int64(45)", "float32(45.0)"),
        *("tensor(45.)", "tensor([45.])", "tensor(45., dtype=torch.float64)"),
        *("tensor([45.], device='cuda:0')", "torch.tensor(45.0, grad_fn=<MeanBackward0>)"),
        *("array(45.)", "array([45.], dtype=float32)", "np.array([45.])"),
        *("Array(45., dtype=float32)", "Array([45.], dtype=float32, weak_type=True)"),
    ],
)
@pytest.mark.parametrize("form", ["{0}", "{0}, ", "[12:00:01] {0}", "INFO:root:{0}"])
def test_one_return_in_every_printed_form(value: str, form: str) -> None:
    """A number is read as Python, NumPy 1 and 2, torch and JAX print it, alone and behind a log prefix."""
    line = form.format(f"global_step=700, episodic_return={value}")
    assert read_pairs(line, STEP_KEYS) == RETURN


@pytest.mark.parametrize(
    "prefix",
    [
        *("[rank0]: ", "(pid=123) ", "(RolloutWorker pid=1) INFO ", "INFO:     ", "[INFO] "),
        "2024-01-01 12:00:00,123 - my.trainer - INFO - ",
        "2024-01-01 12:00:00.123 | INFO     | __main__:main:12 - ",
        "2024-01-01T12:00:00Z WARNING train.py:12] ",
        "I0101 12:00:00.000000 1234 train.py:12] ",
        "[2024-01-01 12:00:00,123][root][INFO] - ",
        "12:00:01 ",
    ],
)
def test_log_prefixes_are_skipped(prefix: str) -> None:
    """What a logger writes in front of a line does not hide its pairs."""
    assert read_pairs(f"{prefix}global_step=700 episodic_return=45.0", STEP_KEYS) == RETURN


@pytest.mark.parametrize(
    "value",
    ["[45. 12.]", "[45.0, 12.0]", "(45.0, 12.0)", "array([45., 12.])", "tensor([[45.], [12.]])"],
)
def test_several_returns(value: str) -> None:
    """An array with several values is read as all of them."""
    fields = read_pairs(f"global_step=700, episodic_return={value}", STEP_KEYS)
    assert fields == {"global_step": 700, "episodic_return": [45.0, 12.0]}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("global_step: 700, episodic_return: 45.0", RETURN),
        ("global_step: np.int64(700) | episodic_return: tensor(45.)", RETURN),
        ("global_step = 700; episodic_return = 45.0", RETURN),
        ("global_step=np.int64(700), episodic_return=45", RETURN),
        ("step=1 env='Cart Pole' on=true x={'a': 1}", {"step": 1, "env": "Cart Pole", "on": True, "x": "{'a': 1}"}),
        ("step=1, lr=3%, n=1_000", {"step": 1, "lr": "3%", "n": 1000}),
        ("step=1, r=-inf", {"step": 1, "r": -math.inf}),
        ("we did step=4 of it", None),
        ("done with global_step=4", None),
        ("lr=0.1, eps=0.2", None),
        ("step: 5 of the recipe", None),
        ("Note: step: see below, count: 3", None),
        ("  7%|#     | 7/100 [00:01<00:10, 9.1it/s, step=5, loss=1]", None),
    ],
)  # fmt: skip
def test_other_lines(line: str, fields: dict[str, object] | None) -> None:
    """Pairs with a step are read whatever the rest of their values is; a sentence and a bar are text."""
    assert read_pairs(line, STEP_KEYS) == fields


@pytest.mark.parametrize(
    "line",
    [
        "Best so far: global_step=700, episodic_return=45.0",
        "global_step=700, episodic_return=45.0 (best)",
        "Resuming from step=5, loss=0.1",
        "global_step=700 episodic_return=[45.",
        "global_step=700, episodic_return=(45.]",
    ],
)
def test_pairs_in_other_text_are_refused(line: str) -> None:
    """Pairs that may mean something else than a measurement are refused with a reason, not lost without a word."""
    with pytest.raises(LineRefused) as refused:
        read_pairs(line, STEP_KEYS)
    assert refused.value.reason == "pairs_unread"


@pytest.mark.timeout(
    120
)  # what grows with the square of the length takes hours; the machine may be busy
@pytest.mark.parametrize(
    "part", ["a", "a=", "step=(", "step=[1 ", "'", "array(", "1:", "step=1 ", " ", "[x] ", "a:b "]
)
def test_a_long_line_costs_no_more_than_its_length(part: str) -> None:
    """A line of a megabyte, whatever it repeats, is read or refused at once."""
    for line in (
        f"step={part * (2**20 // len(part))}",
        f"{part * (2**20 // len(part))}step=1, a=2",
    ):
        try:
            read_pairs(line, STEP_KEYS)
        except LineRefused as refused:
            assert refused.reason == "pairs_unread"  # noqa: PT017 - either is right


def test_numbers_beyond_a_float() -> None:
    """A printed number keeps its text when no float holds it; text is no number."""
    assert numbers_of("1e400") == [HugeNumber("1e400")]
    assert isinstance((numbers_of("1" + "0" * 5000) or [0])[0], HugeNumber)
    assert numbers_of("[1 two]") is None
    assert numbers_of("None") is None
    assert numbers_of("[]") == []
    assert numbers_of("1__0") is None
