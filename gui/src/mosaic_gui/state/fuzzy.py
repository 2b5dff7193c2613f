"""Finds texts by letters in their order, and says which letters matched."""

from typing import NamedTuple

_AT_START, _AT_WORD, _INSIDE, _SCATTERED = 100, 80, 60, 40
_GAP = 4
"""What each further stretch of letters costs."""
_LENGTH = 0.05
"""What each further character of a text costs: of two matches the shorter text comes first."""
_WIDE, _NARROW = 4, 2
"""How far apart the letters of a word may lie, in characters for each: where every stretch begins a word, and where
one does not."""


class FuzzyMatch(NamedTuple):
    """How well a text matches.

    Attributes:
        score: higher is better.
        places: positions of the letters that matched, in order.
    """

    score: float
    places: tuple[int, ...]


def fuzzy_words(query: str) -> tuple[str, ...]:
    """Split what was typed into words, in lower case."""
    return tuple(query.lower().split())


def lower_case(text: str) -> str:
    """The text in lower case, with as many characters."""
    lower = text.lower()
    if len(lower) != len(text):
        lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
    return lower


def fuzzy_match(words: tuple[str, ...], text: str, lower: str | None = None) -> FuzzyMatch | None:
    """Match a text.

    Args:
        words: as `fuzzy_words` gives them. Each has to be in the text, in any order.
        text: the text.
        lower: `lower_case` of the text, where it is at hand.

    Returns:
        None: it does not match. Without words every text matches, and what more letters match, fewer match, too.
    """
    if lower is None:
        lower = lower_case(text)
    score = -_LENGTH * len(text)
    places: set[int] = set()
    for word in words:
        found = _match_word(word, lower, text)
        if found is None:
            return None
        score += found.score
        places.update(found.places)
    return FuzzyMatch(score, tuple(sorted(places)))


def _match_word(word: str, lower: str, text: str) -> FuzzyMatch | None:
    """Match one word: as it is, best at the beginning of a word, else by its letters in their order."""
    at = lower.find(word)
    if at >= 0:
        best = at
        while at >= 0 and not _begins_word(text, at):
            at = lower.find(word, at + 1)
        if at < 0:
            return FuzzyMatch(_INSIDE, tuple(range(best, best + len(word))))
        score = _AT_START if at == 0 else _AT_WORD
        return FuzzyMatch(score, tuple(range(at, at + len(word))))
    return _match_letters(word, lower, text)


def _match_letters(word: str, lower: str, text: str) -> FuzzyMatch | None:
    places: list[int] = []
    stretches, loose = 0, 0
    for letter in word:
        after = places[-1] + 1 if places else 0
        if places and lower.startswith(letter, after):
            places.append(after)
            continue
        at = lower.find(letter, after)
        first = at
        while at >= 0 and not _begins_word(text, at):
            at = lower.find(letter, at + 1)
        if at < 0:
            at = first
            loose += 1
        if at < 0:
            return None
        stretches += 1
        places.append(at)
    wide = _WIDE if loose == 0 else _NARROW
    if loose > 1 or places[-1] - places[0] > wide * len(word) + wide:
        return None
    return FuzzyMatch(_SCATTERED - _GAP * (stretches + loose), tuple(places))


def _begins_word(text: str, at: int) -> bool:
    """Whether a letter begins a word: after a space or sign, at a capital after a small letter, at a digit."""
    if at == 0:
        return True
    before, here = text[at - 1], text[at]
    if not before.isalnum():
        return True
    return (here.isupper() and not before.isupper()) or (here.isdigit() and not before.isdigit())
