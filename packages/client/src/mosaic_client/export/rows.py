"""Records of one type from several batches, until columns are made of them: each column has a cost of its own."""

from typing import Any

from mosaic_client.export.stored import Spaces
from mosaic_contracts.wire import Batch

_MAX_PARTS = 8
"""A batch has a few MiB at most, so memory stays bounded."""
_MAX_ROWS = 5000


class HeldRows:
    """Records that share all of their envelope but seq and time.

    Attributes:
        batch: the first one's; None: there are none yet.
        spaces: what explains their values.
        records: in order.
        times_us: time of each, microseconds since the epoch.
    """

    def __init__(self) -> None:
        self.batch: Batch | None = None
        self.spaces: Spaces | None = None
        self.records: list[Any] = []
        self.times_us: list[int] = []
        self._parts = 0

    def can_take(self, batch: Batch, spaces: Spaces | None) -> bool:
        """Whether records of this batch may follow."""
        first = self.batch
        if first is None:
            return True
        return (
            self._parts < _MAX_PARTS
            and len(self.records) < _MAX_ROWS
            and (batch.run_id, batch.attempt, batch.source)
            == (first.run_id, first.attempt, first.source)
            and spaces == self.spaces
        )

    def add(self, batch: Batch, records: list[Any], spaces: Spaces | None) -> None:
        """Add records of a batch that `can_take` permits."""
        if self.batch is None:
            self.batch, self.spaces = batch, spaces
        t0_us = batch.t0_us
        self.records += records
        self.times_us += [t0_us + record.dt for record in records]
        self._parts += 1
