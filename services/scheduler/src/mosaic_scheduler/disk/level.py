"""Decide how full a volume is. Pure: a table of cases tests it."""

from typing import NamedTuple

from mosaic_contracts.storage_words import VolumeLevel

LEAVE_FACTOR = 1.1
"""A level is left at this multiple of its limit, or a volume at its edge would change its level all the time."""
_LOW_SHARE = 0.05
_CRITICAL_SHARE = 0.02
"""Shares of a volume for temporary files or environments: it may be small by intention."""


class SpaceLimits(NamedTuple):
    """Free bytes below which a volume has a level."""

    low: int
    critical: int

    def within(self, total_bytes: int) -> "SpaceLimits":
        """The limits of a volume of this size that holds no data of the stack."""
        return SpaceLimits(
            min(self.low, int(total_bytes * _LOW_SHARE)),
            min(self.critical, int(total_bytes * _CRITICAL_SHARE)),
        )

    @property
    def leave_low(self) -> int:
        """Free bytes from which on a volume is no longer low."""
        return int(self.low * LEAVE_FACTOR)

    @property
    def leave_critical(self) -> int:
        """Free bytes from which on a volume is no longer critical."""
        return int(self.critical * LEAVE_FACTOR)


def next_level(free_bytes: int, limits: SpaceLimits, before: VolumeLevel) -> VolumeLevel:
    """The level of a volume.

    Args:
        free_bytes: bytes that an ordinary user may still write.
        limits: its limits.
        before: its level at the last look.
    """
    was_critical = before is VolumeLevel.CRITICAL
    if free_bytes < (limits.leave_critical if was_critical else limits.critical):
        return VolumeLevel.CRITICAL
    was_low = before is not VolumeLevel.OK
    if free_bytes < (limits.leave_low if was_low else limits.low):
        return VolumeLevel.LOW
    return VolumeLevel.OK
