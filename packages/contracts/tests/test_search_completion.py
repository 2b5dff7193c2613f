"""Completion of a search of the run list."""

import pytest

from mosaic_contracts.search_completion import (
    SearchVocabulary,
    complete_term,
    needs_vocabulary,
    vocabulary_of_values,
)

KNOWN = SearchVocabulary(
    {
        "env": ["CartPole-v1", "Acrobot-v1"],
        "tag": ["ablation", "my tag"],
        "learning_rate": ["0.001", "0.0003"],
    },
    ["learning_rate", "gamma", "seed"],
    ["losses/entropy", "charts/SPS"],
)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("sta", "state:"),
        ("state:fa", "state:failed"),
        ("env:", "env:CartPole-v1"),
        ("env:acro", "env:Acrobot-v1"),
        ("-tag:ab", "-tag:ablation"),
        ("tag:my", 'tag:"my tag"'),
        ("lr", "lr:"),
        ("learning", "lr:"),
        ("lr:0.0003,0.00", "lr:0.0003,0.001"),
        ("m.ent", "m.losses/entropy>"),
        ("m.losses/entropy.b", "m.losses/entropy.best>"),
        ("best", "best>"),
        ("state:failed ga", "gamma:"),
        ("since:", "since:1h"),
        ("created", "since:"),
        ("week", "since:"),
        ("mean_return", "mean>"),
    ],
)
def test_what_is_offered_first(text: str, first: str) -> None:
    """The term at the cursor is completed, whatever is before it."""
    assert complete_term(text, len(text), KNOWN)[0].text == first


@pytest.mark.parametrize("text", ["best>4", "xyz", "state:failed", "lr>0.0"])
def test_nothing_is_offered_where_nothing_fits(text: str) -> None:
    """Numbers are the user's own, and a complete term is left alone."""
    assert complete_term(text, len(text), KNOWN) == []


def test_a_completion_takes_the_place_of_its_term() -> None:
    """The rest of the search stays, and the cursor is behind the term."""
    text = "state:fa tag:ablation"
    (one,) = complete_term(text, 8, KNOWN)
    assert one.apply(text) == ("state:failed tag:ablation", 13)
    key = complete_term("ga", 2, KNOWN)[0]
    assert key.apply("ga") == ("gamma:", 6)


def test_the_most_frequent_value_comes_first() -> None:
    """Values are counted over runs; names of parameters are in the order of the alphabet."""
    made = vocabulary_of_values(
        [("env", "A-v1"), ("env", "B-v1"), ("env", "B-v1"), ("seed", "1")], {"lr", "gamma"}, ["m"]
    )
    assert made == SearchVocabulary(
        {"env": ["B-v1", "A-v1"], "seed": ["1"]}, ["gamma", "lr"], ["m"]
    )


@pytest.mark.parametrize(
    ("search", "expected"),
    [("state:fa", False), ("lr>1 -kind:", False), ("env:C", True), ("sta", True), ("", True)],
)
def test_states_are_completed_without_runs(search: str, expected: bool) -> None:
    """Nobody is asked for what is the same everywhere."""
    assert needs_vocabulary(search, len(search)) is expected
