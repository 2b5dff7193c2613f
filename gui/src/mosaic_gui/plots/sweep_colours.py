"""Colours of trials by their rank, from the worst to the best."""

from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed


def rank_colour(rank: float) -> str:
    """The colour of a rank from 0 (worst) to 1 (best): the surface's own shade to the accent, then to `ok`."""
    tokens = current()
    if rank < 0.7:
        return mixed(tokens.accent, mixed(tokens.edge, tokens.surface, 0.55), rank / 0.7)
    return mixed(tokens.ok, tokens.accent, (rank - 0.7) / 0.3)


def faint_colour() -> str:
    """The colour of what is not selected."""
    tokens = current()
    return mixed(tokens.edge, tokens.surface, 0.28)
