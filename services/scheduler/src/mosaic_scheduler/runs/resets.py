"""How resets of recorded episodes are rebuilt."""

from typing import Any

from mosaic_contracts.replays import ResetWay


def needs_earlier_episodes(reset: dict[str, Any]) -> bool:
    """Whether a reset is rebuilt only after every earlier episode of its sub-environment.

    Args:
        reset: field of an `episode_start` event.
    """
    return reset.get("way") == ResetWay.CHAIN
