"""The volumes that a stack uses: found by device number, with what the stack has on each."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from mosaic_contracts.storage_reports import StorageVolume
from mosaic_contracts.storage_words import VolumeLevel
from mosaic_scheduler.disk.level import SpaceLimits, next_level
from mosaic_scheduler.size_text import size_text

MAKE_ROOM = (
    "`./mosaic disk` shows what takes the space; `./mosaic gc` and `./mosaic rm RUN --now` free it."
)


class VolumeUse(StrEnum):
    """What a stack has on a volume."""

    HOME = "data folder"
    RUNS = "runs"
    STORE = "store"
    BROKER = "broker"
    TEMPORARY = "temporary files"
    ENVIRONMENTS = "environments"


_DATA = frozenset({VolumeUse.HOME, VolumeUse.RUNS, VolumeUse.STORE, VolumeUse.BROKER})


@dataclass(frozen=True)
class Volume:
    """A volume at one moment."""

    device: int
    path: Path
    """The first folder of the stack on it."""
    uses: tuple[VolumeUse, ...]
    free_bytes: int
    total_bytes: int
    limits: SpaceLimits
    level: VolumeLevel = VolumeLevel.OK

    @property
    def has_data(self) -> bool:
        """Whether data of the stack are on it: runs that go on must not fill it."""
        return not _DATA.isdisjoint(self.uses)

    @property
    def holds_up_starts(self) -> bool:
        """Whether new runs wait because of it."""
        is_written = self.has_data or VolumeUse.TEMPORARY in self.uses
        return is_written and self.level is not VolumeLevel.OK

    @property
    def stops_runs(self) -> bool:
        """Whether runs that go on are asked to stop because of it."""
        return self.has_data and self.level is VolumeLevel.CRITICAL

    @property
    def label(self) -> str:
        """What is on it, in words."""
        return ", ".join(self.uses)

    @property
    def waiting_reason(self) -> str:
        """Why a run waits, without the figure that changes all the time."""
        return (
            f"disk {self.level}: fewer than {size_text(self._limit)} are free at {self.path}; "
            f"the run starts when {size_text(self.limits.leave_low)} are free. {MAKE_ROOM}"
        )

    @property
    def message(self) -> str:
        """What is wrong and what to do; empty when the level is ok."""
        if self.level is VolumeLevel.OK:
            return ""
        said = (
            f"Disk {self.level}: {size_text(self.free_bytes)} are free at {self.path} ({self.label}), "
            f"fewer than {size_text(self._limit)}."
        )
        if self.holds_up_starts:
            said += (
                f" New trainings and plays wait until {size_text(self.limits.leave_low)} are free."
            )
        if self.stops_runs:
            said += " Those that ran were asked to stop with a checkpoint."
        return f"{said} {MAKE_ROOM if self.has_data else 'Remove what is not needed there.'}"

    def shown(self, sizes: Mapping[VolumeUse, int] | None = None) -> StorageVolume:
        """The volume as reports have it. `sizes`: bytes of the stack by use; None: they were not counted."""
        return StorageVolume(
            label=self.label,
            path=str(self.path),
            free_bytes=self.free_bytes,
            total_bytes=self.total_bytes,
            level=self.level,
            used_bytes=sum((sizes or {}).get(use, 0) for use in self.uses),
            message=self.message,
        )

    @property
    def _limit(self) -> int:
        """What is free is below it, or was and is not much above."""
        is_critical = self.level is VolumeLevel.CRITICAL
        return self.limits.leave_critical if is_critical else self.limits.leave_low


def look_at_volumes(
    places: Mapping[VolumeUse, Path], limits: SpaceLimits, before: Mapping[int, VolumeLevel]
) -> list[Volume]:
    """Look at each volume once. Blocks for as long as a file system does.

    Args:
        places: a folder for each use. One that is not there is left out.
        limits: of volumes with data of the stack; those of others are smaller.
        before: by device number, the level at the last look.
    """
    found: dict[int, Volume] = {}
    for use, folder in places.items():
        try:
            device = folder.stat().st_dev
            if device in found:
                known = found[device]
                found[device] = replace(known, uses=(*known.uses, use))
                continue
            space = os.statvfs(folder)
        except FileNotFoundError:
            continue
        free, total = space.f_bavail * space.f_frsize, space.f_blocks * space.f_frsize
        found[device] = Volume(device, folder, (use,), free, total, limits)
    return [_with_level(volume, before.get(volume.device)) for volume in found.values()]


def _with_level(volume: Volume, before: VolumeLevel | None) -> Volume:
    limits = volume.limits if volume.has_data else volume.limits.within(volume.total_bytes)
    level = next_level(volume.free_bytes, limits, before or VolumeLevel.OK)
    return replace(volume, limits=limits, level=level)
