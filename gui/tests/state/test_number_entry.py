import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.form_field import FieldKind, FormField
from mosaic_gui.state.number_entry import read_number, read_whole

NUMBERS = {
    "0.001": 0.001,
    "0,001": 0.001,
    "0,00025": 0.00025,
    "-0,5": -0.5,
    ",5": 0.5,
    ".5": 0.5,
    "5.": 5.0,
    "1,5": 1.5,
    "2,5e-4": 0.00025,
    "1,000": 1000.0,
    "1,234,567": 1_234_567.0,
    "1,234.5": 1234.5,
    "1.234,5": 1234.5,
    "1.234.567": 1_234_567.0,
    "1.234.567,25": 1_234_567.25,
    "1 234 567": 1_234_567.0,
    "1 234,5": 1234.5,
    "1 234.5": 1234.5,
    "1\u202f234,5": 1234.5,
    "1\u00a0000": 1000.0,
    "1'234.5": 1234.5,
    "1’234.5": 1234.5,
    "1_000_000": 1e6,
    "1_000e-3": 1.0,
    "1e-3": 0.001,
    "1E+3": 1000.0,
    "1e\u22124": 1e-4,
    "\u22120.5": -0.5,
    "007": 7.0,
    "00,5": 0.5,
    "１２３．５": 123.5,
    "٠٫٠٠١": 0.001,
    "+3": 3.0,
    "1234,567": 1234.567,
}
"""Texts that mean one number, and which."""

NO_NUMBERS = (
    "1,2,3",
    "1, 2, 3",
    "1 2 3",
    "1;2;3",
    "[1, 2]",
    "(1,2)",
    "0,001,5",
    "0,001,000",
    "0 001",
    "0_001",
    "00,001,000",
    "01,000,000",
    "12,34,567",
    "1,23,456",
    "1,0000,000",
    "12,345,67",
    "1,234,56",
    "1_0_0",
    "1__000",
    "1_000,000_000",
    "1 000_000",
    "1, 000",
    "1,000e-3",
    "1.000.000e2",
    "1.2.3",
    "1..5",
    "1,,5",
    "5,",
    ",",
    ".",
    "- 5",
    "--5",
    "1e",
    "1e5.5",
    "1e 5",
    "e5",
    "0x10",
    "1k",
    "10%",
    "1/3",
    "nan",
    "inf",
    "-Infinity",
    "1e400",
    "1e-400",
    "true",
    "ⅷ",
    "²",
)
"""Texts that mean no number, several, or one of two."""

WHOLE = {
    "1": 1,
    "500000": 500_000,
    "500,000": 500_000,
    "500 000": 500_000,
    "500_000": 500_000,
    "500'000": 500_000,
    "1.000.000": 1_000_000,
    "1e6": 1_000_000,
    "2.5e5": 250_000,
    "100.0": 100,
    "007": 7,
    "-3": -3,
    "9007199254740993": 9_007_199_254_740_993,
    "9007199254740993.0": 9_007_199_254_740_993,
    "1e30": 10**30,
}

NO_WHOLE = (
    "1,2,3",
    "1,5",
    "0,001",
    "1,0",
    "1.5",
    "1e-3",
    "1.000",
    "500.000",
    "-1.000",
    "1e99",
    "1e999999",
    "1e-999999",
    "12,34",
    "1,2",
)


@pytest.mark.parametrize("text", NUMBERS)
def test_number_is_read_as_its_country_writes_it(text: str) -> None:
    """Decimal comma, thousands of several countries, exponents and leading zeros mean one number each."""
    assert read_number(text) == NUMBERS[text]


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_text_that_is_not_one_number_is_refused(text: str) -> None:
    """Lists, groups of another size, groups that begin with 0 and numbers out of range are refused."""
    with pytest.raises(ValueError, match=r"^(must be|too) "):
        read_number(text)


@pytest.mark.parametrize("text", WHOLE)
def test_whole_number_is_exact(text: str) -> None:
    """A whole number keeps all of its digits, whichever way it is written."""
    found = read_whole(text)
    assert (found, type(found)) == (WHOLE[text], int)


@pytest.mark.parametrize("text", [*NO_NUMBERS, *NO_WHOLE])
def test_text_that_is_not_one_whole_number_is_refused(text: str) -> None:
    """Neither a list nor a decimal comma becomes a whole number; a point before three digits is ambiguous."""
    with pytest.raises(ValueError, match=r"^(must be|too|can mean) "):
        read_whole(text)


def test_point_before_three_digits_is_explained() -> None:
    """A whole number typed as `500.000` is refused with both numbers that it can mean."""
    with pytest.raises(ValueError, match="can mean 500 or 500000"):
        read_whole("500.000")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_number_written_by_python_comes_back(value: float) -> None:
    """Whatever the form itself writes into a field is read as the same number."""
    assert read_number(repr(value)) == value


@given(st.integers(-(10**20), 10**20), st.sampled_from(",_ '"))
def test_grouped_whole_number_comes_back(value: int, separator: str) -> None:
    """Thousands may be separated by any of the common signs."""
    assert read_whole(f"{value:,}".replace(",", separator)) == value


@given(st.text(alphabet="0123456789.,_ 'eE+-", max_size=12))
def test_any_text_is_a_finite_number_or_refused(text: str) -> None:
    """No text ends in another error, and no number out of range comes out."""
    try:
        value = read_number(text)
    except ValueError:
        return
    assert math.isfinite(value)


def test_reading_is_shown_where_the_text_could_mean_something_else() -> None:
    """A number that is not written as the form writes it comes with what it was read as."""
    number = FormField("lr", "lr", FieldKind.NUMBER)
    whole = FormField("seed", "seed", FieldKind.INTEGER)
    assert number.reading("0,001") == "0.001"
    assert number.reading("1,000") == "1000"
    assert number.reading("0.001") == ""
    assert number.reading("1,2,3") == ""
    assert whole.reading("1e6") == "1000000"
    assert whole.reading("007") == "7"
    assert whole.reading("12") == ""


def test_bound_names_what_was_read() -> None:
    """A value out of bounds that was written with separators is refused with the number that was read."""
    gamma = FormField("gamma", "gamma", FieldKind.NUMBER, minimum=0, maximum=1)
    with pytest.raises(ValueError, match=r"read as 1000: at most 1"):
        gamma.parse("1,000")
    assert gamma.parse("0,990") == 0.99
