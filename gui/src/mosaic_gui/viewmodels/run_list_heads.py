"""Heads of the run list: under which head each run stands, which heads are folded, and the rows that result."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.run_columns import added_column
from mosaic_gui.state.run_heads import GROUP, VALUE, RunHead
from mosaic_gui.viewmodels.run_list_columns import RunListColumns
from mosaic_gui.viewmodels.run_table import Column


class ArrangedRows(NamedTuple):
    """Rows of the list, and what stands above them."""

    rows: Sequence[str]
    """Run ids and keys of heads, from top to bottom."""
    heads: Mapping[str, RunHead]
    """Heads by key."""
    head_of: Mapping[str, str]
    """Key of the head above a run."""


class RunListHeads:
    """How runs are grouped below heads."""

    def __init__(self, columns: RunListColumns) -> None:
        self._columns = columns
        self.grouped_by = ""
        """Key of the column by whose values the runs are grouped; empty: by the groups that started them."""
        self.is_flat = False
        """Whether runs of groups are listed one by one."""
        self._folded: set[str] = set()
        self._unfolded: set[str] = set()
        self._keys: dict[str, str] = {}
        """Key of the head above each run that was read; empty: none."""

    def group_by(self, key: str) -> None:
        """Group by the values of a column; empty: by the groups that started them."""
        self.grouped_by = key
        self._folded.clear()
        self._keys.clear()

    def is_folded(self, key: str) -> bool:
        """Whether the runs of a head are not shown. Groups are folded at first."""
        return key not in self._unfolded if key.startswith(GROUP) else key in self._folded

    def fold(self, key: str, is_folded: bool) -> None:
        """Hide or show the runs of a head."""
        of_groups = key.startswith(GROUP)
        noted = self._unfolded if of_groups else self._folded
        (noted.add if is_folded is not of_groups else noted.discard)(key)

    def read(self, run: RunView) -> None:
        """Read under which head a run stands, if that is not known."""
        if run.run_id not in self._keys:
            self._keys[run.run_id] = self._key_of(run)

    def forget(self, run_id: str) -> None:
        """Forget what was read of a run that changed or was removed."""
        self._keys.pop(run_id, None)

    def arrange(self, shown: Sequence[str], runs: Mapping[str, RunView]) -> ArrangedRows:
        """Put runs below their heads.

        Args:
            shown: Ids of the runs that fit, in their order; each was read.
            runs: Runs by id.
        """
        if self.is_flat and not self.grouped_by:
            return ArrangedRows(shown, {}, {})
        members: dict[str, list[str]] = {}
        tops: list[str] = []
        head_of: dict[str, str] = {}
        for run_id in shown:
            key = self._keys.get(run_id, "")
            if not key:
                tops.append(run_id)
                continue
            head_of[run_id] = key
            if key not in members:
                members[key] = []
                tops.append(key)
            members[key].append(run_id)
        if not members:
            return ArrangedRows(tops, {}, {})
        heads = {key: self._head(key, ids, runs) for key, ids in members.items()}
        rows: list[str] = []
        for top in tops:
            rows.append(top)
            if top in heads and not self.is_folded(top):
                rows += members[top]
        return ArrangedRows(rows, heads, head_of)

    def _key_of(self, run: RunView) -> str:
        if self.grouped_by:
            return f"{VALUE}{self._columns.group_value(run, self.grouped_by)}"
        return f"{GROUP}{run.group.group_id}" if run.group is not None else ""

    def _head(self, key: str, ids: list[str], runs: Mapping[str, RunView]) -> RunHead:
        if key.startswith(GROUP):
            run = runs.get(ids[0])
            name = run.group.name if run is not None and run.group is not None else ""
            return RunHead(key, name, tuple(ids), key.removeprefix(GROUP))
        value = key.removeprefix(VALUE) or wording.NOTHING
        return RunHead(key, self._value_title(value), tuple(ids))

    def _value_title(self, value: str) -> str:
        """A value as a head: a number alone does not say of what it is."""
        added = added_column(self.grouped_by)
        if added is not None:
            return f"{added.title}={value}"
        if self.grouped_by == Column.SEED.key:
            return tr("seed {seed}", seed=value)
        return value
