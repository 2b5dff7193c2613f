"""Places of cards, and where arrow keys lead."""

import pytest

from mosaic_gui.state.card_layout import CARD_HEIGHT, GAP, LINE_HEIGHT, MARGIN, Arrow, CardLayout

ENTRIES = [False, True, True, True, True, True, False, True]
"""A heading, five cards, a heading, a card."""


def layout(width: int = 800) -> CardLayout:
    """Three cards in a row."""
    return CardLayout(ENTRIES, width)


def test_cards_fill_rows_between_headings() -> None:
    """A heading ends a row."""
    made = layout()
    assert made.columns == 3
    assert [(line.first, line.entries) for line in made.lines] == [
        (0, 1),
        (1, 3),
        (4, 2),
        (6, 1),
        (7, 1),
    ]
    assert made.place(1).top == MARGIN + LINE_HEIGHT + GAP
    assert made.place(3).left + made.place(3).width <= 800 - MARGIN
    assert made.height == made.place(7).top + CARD_HEIGHT + MARGIN


def test_a_narrow_list_has_one_column() -> None:
    """However narrow it is."""
    assert CardLayout(ENTRIES, 10).columns == 1
    assert CardLayout([], 10).height == 0


def test_the_entry_at_a_point_is_the_one_that_is_painted_there() -> None:
    """Between cards there is none."""
    made = layout()
    for entry in range(len(ENTRIES)):
        left, top, width, height = made.place(entry)
        assert made.at(left + width // 2, top + height // 2) == entry
        assert made.at(left + width // 2, top - 1) is None


@pytest.mark.parametrize(
    ("entry", "way", "wanted"),
    [
        (1, Arrow.RIGHT, 2),
        (3, Arrow.RIGHT, 4),
        (0, Arrow.LEFT, 0),
        (7, Arrow.RIGHT, 7),
        (3, Arrow.DOWN, 5),
        (2, Arrow.DOWN, 5),
        (5, Arrow.UP, 2),
        (1, Arrow.UP, 0),
        (5, Arrow.DOWN, 6),
        (0, Arrow.UP, 0),
        (7, Arrow.DOWN, 7),
    ],
)
def test_arrow_keys_lead_to_neighbours(entry: int, way: Arrow, wanted: int) -> None:
    """A shorter row is entered at its end."""
    assert layout().neighbour(entry, way) == wanted


def test_only_rows_in_sight_are_named() -> None:
    """Those of a window's height, of ten thousand cards."""
    made = CardLayout([True] * 10_000, 800)
    seen = made.between(made.height // 2, made.height // 2 + 600)
    assert len(seen) <= 7 * 3
    assert made.place(seen[0]).top <= made.height // 2
    assert made.place(seen[-1]).top <= made.height // 2 + 600
    assert list(CardLayout().between(0, 100)) == []
