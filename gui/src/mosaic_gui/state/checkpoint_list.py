"""Checkpoints of all runs as the browser has them: in groups, searched and sorted."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from mosaic_contracts.checkpoint_words import CheckpointMark, CheckpointState
from mosaic_contracts.checkpoints import CheckpointRow

GroupKey = tuple[str, str, str]
"""Worker, algorithm and environment."""
SearchedRow = tuple[CheckpointRow, str]
"""A checkpoint, and the text in which words are searched."""


class CheckpointAddress(NamedTuple):
    """Which checkpoint of which run."""

    run_id: str
    path: str
    """Path in the run's folder."""

    @property
    def reference(self) -> str:
        """The checkpoint as a parameter of another run names it."""
        return f"{self.run_id}/{self.path}"


class CardOrder(StrEnum):
    """What the cards of a group are sorted by; the highest or newest is first, and a missing value last."""

    DATE = "date"
    RETURN = "return"
    STEP = "step"


class CardChoice(StrEnum):
    """Which checkpoints are shown."""

    ALL = "all"
    BEST = "best"
    NEWEST = "newest"


@dataclass(frozen=True)
class CheckpointGroup:
    """Checkpoints that can be compared: those of one worker, algorithm and environment."""

    worker: str
    algorithm: str
    environment: str
    rows: tuple[CheckpointRow, ...]

    @property
    def key(self) -> GroupKey:
        """Names the group."""
        return self.worker, self.algorithm, self.environment


def address_of(row: CheckpointRow) -> CheckpointAddress:
    """The address of a checkpoint."""
    return CheckpointAddress(row.run_id, row.path)


class CheckpointList:
    """All checkpoints that were read. A list that is read again keeps what it had until it is complete."""

    def __init__(self) -> None:
        self._rows: dict[CheckpointAddress, CheckpointRow] = {}
        self._texts: dict[tuple[str, str], str] = {}
        self._marked: dict[tuple[CheckpointMark, str, str, str], CheckpointAddress] = {}
        """Which checkpoint of a group has a mark."""
        self._order = CardOrder.DATE
        self._groups: dict[GroupKey, list[SearchedRow]] = {}
        """All rows in groups in that order; empty: they are to be sorted."""
        self._unseen: set[CheckpointAddress] = set()
        """Those that the present reading has not brought yet."""

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, address: CheckpointAddress | None) -> CheckpointRow | None:
        """The checkpoint with this address."""
        return self._rows.get(address) if address is not None else None

    def of_runs(self, run_ids: Iterable[str]) -> list[CheckpointRow]:
        """Checkpoints of some runs."""
        wanted = set(run_ids)
        return [row for row in self._rows.values() if row.run_id in wanted]

    def begin(self) -> None:
        """Note that the whole list is read from its beginning."""
        self._unseen = set(self._rows)

    def finish(self) -> None:
        """Drop what the reading did not bring: it is gone."""
        for address in self._unseen:
            self._drop(address)
        self._unseen = set()

    def take(self, rows: Iterable[CheckpointRow]) -> None:
        """Take rows of a page. A mark that a row has is taken from the others of its group."""
        self._groups = {}
        last: CheckpointRow | None = None
        for row in rows:
            address = address_of(row)
            _share(row, last)
            last = row
            self._texts[address] = _words(row)
            self._rows[address] = row
            self._unseen.discard(address)
            for mark in row.marks:
                self._move_mark(mark, row)

    def replace_runs(self, run_ids: Iterable[str], rows: Iterable[CheckpointRow]) -> None:
        """Take all checkpoints of some runs, and drop those that they do not have any more."""
        found = list(rows)
        kept = {address_of(row) for row in found}
        for row in self.of_runs(run_ids):
            if address_of(row) not in kept:
                self._drop(address_of(row))
        self.take(found)

    def forget_runs(self, run_ids: Iterable[str]) -> bool:
        """Drop the checkpoints of deleted runs; whether a mark went with them, which another one has now."""
        gone = self.of_runs(run_ids)
        for row in gone:
            self._drop(address_of(row))
        return any(row.marks for row in gone)

    def clear(self) -> None:
        """Forget all."""
        self._rows, self._texts, self._marked, self._unseen = {}, {}, {}, set()
        self._groups = {}

    def groups(
        self,
        words: str = "",
        choice: CardChoice = CardChoice.ALL,
        order: CardOrder = CardOrder.DATE,
        noted: Mapping[str, str] = MappingProxyType({}),
    ) -> list[CheckpointGroup]:
        """Checkpoints that have all words, in groups; the group with the newest checkpoint is first.

        Args:
            words: each must occur in environment, algorithm, worker, run, path, or what is `noted`.
            choice: all, or those with a mark.
            order: what each group is sorted by.
            noted: further text of runs, by their ids: tags and notes.
        """
        notes = {run_id: text.casefold() for run_id, text in noted.items()}
        groups = []
        for key, pairs in self._sorted(order).items():
            for word in words.casefold().split():
                pairs = [
                    (row, text)
                    for row, text in pairs
                    if word in text or (notes and word in notes.get(row.run_id, ""))
                ]
            rows = [row for row, _ in pairs]
            if choice is not CardChoice.ALL:
                rows = [row for row in rows if CheckpointMark(choice.value) in row.marks]
            if rows:
                groups.append(CheckpointGroup(*key, rows=tuple(rows)))
        return groups

    def _sorted(self, order: CardOrder) -> dict[GroupKey, list[SearchedRow]]:
        """All groups in order, kept until there are other rows: a search only leaves rows out."""
        if self._order is not order:
            self._order, self._groups = order, {}
        if not self._groups:
            found: dict[GroupKey, list[CheckpointRow]] = {}
            for row in self._rows.values():
                found.setdefault((row.worker, row.algorithm, row.environment), []).append(row)
            newest = {key: max(map(_date, rows)) for key, rows in found.items()}
            for key in sorted(found, key=lambda key: (-newest[key], key)):
                rows = sorted(found[key], key=_date, reverse=True)
                if order is not CardOrder.DATE:
                    rows.sort(key=_SORT[order], reverse=True)
                self._groups[key] = [(row, self._texts[row.run_id, row.path]) for row in rows]
        return self._groups

    def _drop(self, address: CheckpointAddress) -> None:
        self._groups = {}
        self._rows.pop(address, None)
        self._texts.pop(address, None)

    def _move_mark(self, mark: CheckpointMark, owner: CheckpointRow) -> None:
        """Take a mark from the checkpoint of the same group that had it before."""
        place = (mark, owner.worker, owner.algorithm, owner.environment)
        before = self._marked.get(place)
        self._marked[place] = address_of(owner)
        row = self.get(before)
        if row is not None and before != address_of(owner):
            row.marks = [one for one in row.marks if one is not mark]


def _share(row: CheckpointRow, known: CheckpointRow | None) -> None:
    """Let checkpoints of a run have equal facts as one object: thousands of them take a tenth of the memory."""
    if known is None or known.run_id != row.run_id:
        return
    if known.packages == row.packages:
        row.packages = known.packages
    if known.spaces == row.spaces:
        row.spaces = known.spaces


def _words(row: CheckpointRow) -> str:
    """What is searched."""
    state = "" if row.state is CheckpointState.PRESENT else row.state.value
    parts = (row.environment, row.algorithm, row.worker, row.run_name, row.run_id, row.path, state)
    return "\n".join((*parts, row.reason or "")).casefold()


def _date(row: CheckpointRow) -> float:
    return _or_last(row.t)


def _or_last(value: float | None) -> float:
    return -math.inf if value is None or math.isnan(value) else value


_SORT: dict[CardOrder, Callable[[CheckpointRow], float]] = {
    CardOrder.RETURN: lambda row: _or_last(row.value),
    CardOrder.STEP: lambda row: _or_last(row.step),
}
