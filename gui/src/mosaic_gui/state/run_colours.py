"""Which colour each run's curve has. A run keeps its colour while the program runs, whatever it is shown with."""

from collections.abc import Sequence

COLOURS = 8
"""Colours of a theme. Further curves repeat them with dashes."""


class RunColours:
    """Gives each curve the index of a colour, and remembers it."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, curves: Sequence[str]) -> dict[str, int]:
        """Indices of the colours of curves that are shown together; all differ.

        A curve keeps its colour. A new one gets a colour that no other in sight has, the one with the fewest runs.
        Where two in sight have one colour, the second takes a free one; where none is free, it is dashed.

        Args:
            curves: Ids of the curves' first runs, in the order in which they are listed.
        """
        found: dict[str, int] = {}
        taken = {self._known[one] for one in curves if one in self._known}
        shown = [0] * COLOURS
        for curve in curves:
            colour = self._known.get(curve)
            if colour is None or (shown[colour] and len(taken) < COLOURS):
                colour = self._free(taken)
                self._known[curve] = colour
                taken.add(colour)
            found[curve] = colour + COLOURS * shown[colour]
            shown[colour] += 1
        return found

    def _free(self, taken: set[int]) -> int:
        """The colour with the fewest runs, of those that are not taken where some are not."""
        free = [n for n in range(COLOURS) if n not in taken] or list(range(COLOURS))
        given = list(self._known.values())
        return min(free, key=lambda colour: (given.count(colour), colour))
