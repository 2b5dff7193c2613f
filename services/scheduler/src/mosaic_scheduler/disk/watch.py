"""Watches the free space of every volume of the stack (ADR 0029)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mosaic_contracts.spec import RunKind
from mosaic_contracts.storage_words import VolumeLevel
from mosaic_scheduler.disk.level import SpaceLimits
from mosaic_scheduler.disk.spare import SpareSpace
from mosaic_scheduler.disk.volume import Volume, VolumeUse, look_at_volumes
from mosaic_scheduler.size_text import size_text
from mosaic_servicekit.logging import get_log

LOOK_EVERY_S = 0.5
"""A look takes microseconds. At 500 MB/s, 250 MB are written between two looks, a third of the critical limit."""
WRITING_KINDS = frozenset({RunKind.TRAIN, RunKind.EVALUATE, RunKind.PLAY})
"""Kinds of runs that wait and stop. A sweep writes little and its trials wait; replays and TensorBoards show what may
be deleted."""


class VolumeWatch:
    """Knows the level of each volume; wakes those who depend on it when one changes."""

    def __init__(
        self,
        places: Mapping[VolumeUse, Path],
        limits: SpaceLimits,
        spare: SpareSpace | None = None,
    ) -> None:
        """`spare`: is filled while its volume is neither low nor critical."""
        self._places = places
        self._spare = spare
        self._spare_fault = ""
        self._limits = limits
        self._volumes: list[Volume] = []
        self._listeners: list[Callable[[], None]] = []
        self.short = asyncio.Event()
        """Set while a volume with data of the stack is low or critical: old files should go."""

    @property
    def volumes(self) -> Sequence[Volume]:
        """As last seen; the one of MOSAIC_HOME first."""
        return self._volumes

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` when a level has changed."""
        self._listeners.append(listener)

    async def run(self) -> None:
        """Look for ever."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY_S)  # free space announces itself nowhere

    async def look(self) -> None:
        """Look once."""
        before = {volume.device: volume.level for volume in self._volumes}
        try:
            now = await asyncio.to_thread(look_at_volumes, self._places, self._limits, before)
        except OSError as error:
            get_log().warning("disk.unreadable", error=str(error))
            return
        self._volumes = now
        if any(v.has_data and v.level is not VolumeLevel.OK for v in now):
            self.short.set()
        else:
            self.short.clear()
        await asyncio.to_thread(self._fill_spare)
        changed = [v for v in now if v.level is not before.get(v.device, VolumeLevel.OK)]
        for volume in changed:
            get_log().warning(
                "disk.level",
                level=volume.level,
                path=str(volume.path),
                uses=volume.label,
                free_bytes=volume.free_bytes,
            )
        if changed:
            for listener in self._listeners:
                listener()

    def _fill_spare(self) -> None:
        if self._spare is None:
            return
        try:
            device = self._spare.device
            if any(v.device == device and v.level is VolumeLevel.OK for v in self._volumes):
                self._spare.fill()
            self._spare_fault = ""
        except OSError as error:
            if self._spare_fault != str(error):  # once, not twice a second
                self._spare_fault = str(error)
                get_log().warning("disk.spare_not_filled", error=str(error))

    def waiting_reason(self, kind: RunKind) -> str | None:
        """Why a run of this kind may not start now; None: it may."""
        if kind not in WRITING_KINDS:
            return None
        return next((v.waiting_reason for v in self._volumes if v.holds_up_starts), None)

    def stop_reason(self, kind: RunKind) -> str | None:
        """Why a run of this kind must stop now, as a note of the run; None: it may go on."""
        if kind not in WRITING_KINDS:
            return None
        full = next((volume for volume in self._volumes if volume.stops_runs), None)
        if full is None:
            return None
        return (
            f"asked to stop because the disk was nearly full: {size_text(full.free_bytes)} were free at "
            f"{full.path}"
        )
