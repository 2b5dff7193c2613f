"""The built-in layouts, and a layout as it is saved."""

from dataclasses import dataclass
from typing import Any

from mosaic_gui.state.language import mark

HUMAN, TRAIN, REPLAY, COMPARE = "Human", "Train", "Replay", "Compare"


@dataclass(frozen=True)
class Arrangement:
    """A built-in layout: which panels it shows, and how wide."""

    folded: bool
    """The agents panel is a strip of icons."""
    stage: bool
    """The environment is in the middle."""
    stage_is_large: bool
    """Keep the space also while there is no picture."""
    curves: bool
    run: bool
    """The run's own panel: log, details, files."""
    run_is_right: bool
    curves_share: float
    """Share of the width."""


BUILT_IN = {
    HUMAN: Arrangement(
        folded=False,
        stage=True,
        stage_is_large=True,
        curves=False,
        run=False,
        run_is_right=False,
        curves_share=0,
    ),
    TRAIN: Arrangement(
        folded=False,
        stage=True,
        stage_is_large=False,
        curves=True,
        run=True,
        run_is_right=False,
        curves_share=0.66,
    ),
    REPLAY: Arrangement(
        folded=True,
        stage=True,
        stage_is_large=True,
        curves=False,
        run=True,
        run_is_right=True,
        curves_share=0.4,
    ),
    COMPARE: Arrangement(
        folded=True,
        stage=False,
        stage_is_large=False,
        curves=True,
        run=False,
        run_is_right=False,
        curves_share=1,
    ),
}
"""Built-in layouts by name; Train is the default."""
TITLES = {
    HUMAN: mark("Human"),
    TRAIN: mark("Train"),
    REPLAY: mark("Replay"),
    COMPARE: mark("Compare"),
}


@dataclass(frozen=True)
class PanelLayout:
    """A layout as it is saved."""

    places: bytes
    """State of the docks as Qt saves it; one of another version is refused."""
    folded: bool
    stage: bool
    stage_is_large: bool
    curves_share: float = 0.0
    """Share of the width, so that it fits a window of another size; 0: as the places have it."""

    def as_stored(self) -> dict[str, Any]:
        """Plain values. Which docks are hidden is among their places."""
        return {
            "places": self.places,
            "folded": self.folded,
            "stage": self.stage,
            "stage_is_large": self.stage_is_large,
            "curves_share": self.curves_share,
        }
