"""Matching by letters in their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.fuzzy import fuzzy_match, fuzzy_words


def marked(query: str, text: str) -> str | None:
    """The text with matched letters in brackets; None: no match."""
    found = fuzzy_match(fuzzy_words(query), text)
    if found is None:
        return None
    return "".join(f"[{c}]" if n in found.places else c for n, c in enumerate(text))


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("run", "Train runs", "Train [r][u][n]s"),
        ("cpv", "CartPole-v1", "[C]art[P]ole-[v]1"),
        ("tra ne", "Train new", "[T][r][a]in [n][e]w"),
        ("new train", "Train new", "[T][r][a][i][n] [n][e][w]"),
        ("LR=0.001", "ppo lr=0.001", "ppo [l][r][=][0][.][0][0][1]"),
        ("xyz", "CartPole", None),
        ("aaa", "banana", None),
        ("stor", "Standup-v4 in a forest of words or so", None),
        ("cartpolev1", "CartPole-v1", "[C][a][r][t][P][o][l][e]-[v][1]"),
        ("oleart", "CartPole", None),
        ("lr=0.001", "ppo lr=0.0025 and much more that is far behind 1", None),
        ("", "anything", "anything"),
    ],
)
def test_letters_in_their_order_match(query: str, text: str, expected: str | None) -> None:
    """Words in any order, letters in theirs; beginnings of words first."""
    assert marked(query, text) == expected


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("sto", "Storage", "Restore"),
        ("run", "Runs", "Trunk"),
        ("stop", "Stop the run", "Sort by options"),
        ("ppo", "ppo", "ppo continuous action"),
    ],
)
def test_a_closer_match_scores_higher(query: str, better: str, worse: str) -> None:
    """The beginning of the text, the beginning of a word, together, shorter."""
    first, second = (fuzzy_match(fuzzy_words(query), text) for text in (better, worse))
    assert first is not None
    assert second is None or first.score > second.score


@given(st.text(max_size=30), st.text(max_size=60))
def test_every_place_is_in_the_text(query: str, text: str) -> None:
    """Any letters of any script: no place is outside, and a match has one for each kind of letter at least."""
    found = fuzzy_match(fuzzy_words(query), text)
    if found is not None:
        assert all(0 <= place < len(text) for place in found.places)
        assert bool(found.places) == bool(fuzzy_words(query))
