"""Places of cards in rows, with headings as wide as the page between them."""

from bisect import bisect_right
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

CARD_HEIGHT, LINE_HEIGHT = 116, 38
LEAST_WIDTH, GAP, MARGIN = 244, 10, 10
"""Least width of a card; pixels between cards, and around all of them."""


class CardPlace(NamedTuple):
    """A rectangle in pixels from the beginning of the list."""

    left: int
    top: int
    width: int
    height: int


class CardLine(NamedTuple):
    """A row of cards, or one heading."""

    top: int
    height: int
    first: int
    """Number of its first entry."""
    entries: int
    """Number of its entries."""
    is_cards: bool


class Arrow(Enum):
    """An arrow key."""

    LEFT = "left"
    RIGHT = "right"
    UP = "up"
    DOWN = "down"


class CardLayout:
    """Places of all entries at one width. It takes a millisecond for thousands of cards."""

    def __init__(self, are_cards: Sequence[bool] = (), width: int = 0) -> None:
        """`are_cards`: for each entry whether it is a card, or else a heading."""
        self._count = len(are_cards)
        room = max(LEAST_WIDTH, width - 2 * MARGIN)
        self.columns = max(1, (room + GAP) // (LEAST_WIDTH + GAP))
        self.card_width = (room - (self.columns - 1) * GAP) // self.columns
        self._room = room
        self.lines: list[CardLine] = []
        self._line_of: list[int] = []
        """Line of each entry."""
        self._arrange(are_cards)
        self._tops = [line.top for line in self.lines]

    def _arrange(self, are_cards: Sequence[bool]) -> None:
        top, entry = MARGIN, 0
        while entry < self._count:
            is_cards = are_cards[entry]
            last = entry + 1
            while is_cards and last < self._count and last - entry < self.columns:
                if not are_cards[last]:
                    break
                last += 1
            height = CARD_HEIGHT if is_cards else LINE_HEIGHT
            self._line_of += [len(self.lines)] * (last - entry)
            self.lines.append(CardLine(top, height, entry, last - entry, is_cards))
            top, entry = top + height + GAP, last
        self.height = top - GAP + MARGIN if self.lines else 0

    def place(self, entry: int) -> CardPlace:
        """Where an entry is."""
        line = self.lines[self._line_of[entry]]
        if not line.is_cards:
            return CardPlace(MARGIN, line.top, self._room, line.height)
        left = MARGIN + (entry - line.first) * (self.card_width + GAP)
        return CardPlace(left, line.top, self.card_width, line.height)

    def at(self, x: int, y: int) -> int | None:
        """The entry at a point; None: there is none."""
        number = bisect_right(self._tops, y) - 1
        if number < 0:
            return None
        line = self.lines[number]
        for entry in range(line.first, line.first + line.entries):
            left, top, width, height = self.place(entry)
            if left <= x < left + width and top <= y < top + height:
                return entry
        return None

    def between(self, top: int, bottom: int) -> range:
        """Entries of all lines that are seen between two heights."""
        first = max(0, bisect_right(self._tops, top) - 1)
        last = bisect_right(self._tops, bottom)
        seen = self.lines[first:last]
        return range(seen[0].first, seen[-1].first + seen[-1].entries) if seen else range(0)

    def neighbour(self, entry: int, way: Arrow) -> int:
        """The entry to which an arrow key leads; the same one at an end."""
        if way in (Arrow.LEFT, Arrow.RIGHT):
            step = 1 if way is Arrow.RIGHT else -1
            return min(max(0, entry + step), self._count - 1)
        number = self._line_of[entry]
        column = entry - self.lines[number].first
        number += 1 if way is Arrow.DOWN else -1
        if not 0 <= number < len(self.lines):
            return entry
        line = self.lines[number]
        return line.first + min(column, line.entries - 1)

    def nearest(self, y: int) -> int:
        """The first entry of the line at a height."""
        number = min(max(0, bisect_right(self._tops, y) - 1), len(self.lines) - 1)
        return self.lines[number].first
