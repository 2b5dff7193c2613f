"""The language of alert rules: what it takes, how it says it, and where it points in an error."""

import pytest

from mosaic_contracts.alert_rules import AlertError, parse_alert
from mosaic_contracts.alert_words import EXAMPLES
from mosaic_contracts.spec import RunSpec


@pytest.mark.parametrize(
    ("written", "text", "plain"),
    [
        (
            "return < 50 for 50k steps",
            "return<50 for 50k steps",
            "The return of an episode is below 50 for 50,000 steps",
        ),
        (
            "last_return<50 for 50000 steps",
            "return<50 for 50k steps",
            "The return of an episode is below 50 for 50,000 steps",
        ),
        (
            "mean_return>=475",
            "mean>=475",
            "The mean return of the last 20 episodes is at least 475",
        ),
        ("best > 400 for 90s", "best>400 for 90s", "The best return is above 400 for 90s"),
        (
            "m.losses/value_loss>1e3",
            "m.losses/value_loss>1k",
            "losses/value_loss is above 1,000",
        ),
        ('m."my metric" <= -.5', 'm."my metric"<=-0.5', "my metric is at most -0.5"),
        ("NaN", "nan", "A value of a loss is NaN"),
        ("inf or nan", "nan or inf", "A value of a loss is NaN or infinite"),
        ("nan in m.losses/*", "nan in losses/*", "A value of losses/* is NaN"),
        (
            "no episode for 20k steps",
            "no episode for 20k steps",
            "No episode has ended for 20,000 steps",
        ),
        ("no episode for 600s", "no episode for 10m", "No episode has ended for 10m"),
        ("length<5 for 10m steps", "length<5 for 10m steps", None),
        ("disk LOW", "disk low", "Free space on a disk of the stack is low"),
        ("failed", "failed", "The run is failed or crashed"),
        ("state:failed,crashed", "failed", None),
        ("ended", "ended", "The run has ended"),
        ("state:interrupted", "state:interrupted", "The run is interrupted"),
        ("unresponsive", "unresponsive", "The run does not respond"),
    ],
)
def test_a_rule_has_one_short_text_and_a_sentence(
    written: str, text: str, plain: str | None
) -> None:
    """Rules that mean the same have the same text, and the text is read as the same rule."""
    rule = parse_alert(written)
    assert rule.text == text
    assert parse_alert(rule.text) == rule
    if plain is not None:
        assert rule.plain == plain


@pytest.mark.parametrize(
    ("written", "word", "says"),
    [
        ("loss<3", "loss", "m.loss"),
        ("return=3", "=", "<, <=, > or >="),
        ("return<x", "x", "a number is expected"),
        ("return<", "", "a number is expected"),
        ("return<5 for 50k", "50k", "50k steps"),
        ("return<5 for ever", "ever", "how long"),
        ("return<5 for 0 steps", "0", "at least 1 step"),
        ("return<5 or nan", "or nan", "nothing may follow"),
        ("no steps for 5m", "steps", "no episode for"),
        ("no episode", "", "how long"),
        ("disk full", "full", "disk low"),
        ("state:dead", "state:dead", "failed"),
        ("nan or fish", "fish", "nan or inf"),
        ("nan in", "", "a pattern"),
        ("m.<3", "m.", "a name is missing"),
        ("", "", "begins with"),
        ("return<1e999", "1e999", "too large"),
    ],
)
def test_an_error_names_the_word_and_what_to_write(written: str, word: str, says: str) -> None:
    """The error points at the first word that is wrong."""
    with pytest.raises(AlertError) as caught:
        parse_alert(written)
    error = caught.value
    assert written[error.start : error.end] == word
    assert says in error.reason
    assert error.pointed.splitlines()[1].index("^") == error.start


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_rules(example: str) -> None:
    """What an empty list shows can be typed."""
    parse_alert(example)


def test_a_spec_keeps_the_short_text() -> None:
    """A spec with a rule is validated where it enters."""
    spec = RunSpec(worker="w", algorithm="a", environment="e", alerts=["return < 5 for 1000 steps"])
    assert spec.alerts == ["return<5 for 1k steps"]
    with pytest.raises(ValueError, match=r"loss.*character 1"):
        RunSpec(worker="w", algorithm="a", environment="e", alerts=["loss<3"])


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("nan in *_loss", ["losses/policy_loss", "losses/value_loss"]),
        ("nan in LOSSES/v*", ["losses/value_loss"]),
        ("m.value_loss>1", ["losses/value_loss"]),
        ("m.charts/SPS<1", ["charts/SPS"]),
        ("m.sps<1", []),
    ],
)
def test_metrics_are_found_by_name_ending_or_pattern(rule: str, found: list[str]) -> None:
    """As in the search of the run list; a pattern does not look at capitals."""
    known = ["charts/SPS", "losses/policy_loss", "losses/value_loss", "losses/entropy"]
    assert parse_alert(rule).find_metrics(known) == found
