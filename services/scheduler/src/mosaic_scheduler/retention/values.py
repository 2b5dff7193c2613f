"""How much a file is worth: what can be made again goes first, the best checkpoint of a run last."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.storage_words import DRAFT, ORPHAN, STEPS, WHOLE_KINDS, KeptReason
from mosaic_scheduler.retention.facts import RetainedRun
from mosaic_scheduler.retention.inventory import StoredItem

CHECKPOINT, VIDEO = "checkpoint", "video"
_RANK = {DRAFT: 0, ORPHAN: 1, "log": 3, "tensorboard": 4, "wandb": 5, VIDEO: 6, STEPS: 7}
_REBUILDABLE_RANK = 2
_OTHER_RANK = 8
_CHECKPOINT_RANK = 9
_NEWEST_RANK, _BEST_RANK = 10, 11
BUDGET_KINDS = frozenset({VIDEO, "tensorboard", "wandb", "log", CHECKPOINT})
"""Kinds that go when a profile is over its budget; what MOSAIC does not know stays."""


@dataclass(slots=True, eq=False)  # not frozen: there are 100,000 of them in one look
class Unit:
    """What a rule counts as one: a file, or all files of a run's kind."""

    run: RetainedRun
    kind: str
    items: Sequence[StoredItem]
    bytes: int
    t: float
    """Seconds since the epoch."""
    rebuildable: bool = False
    is_best: bool = False
    """Whether it is the best checkpoint of its run."""
    is_newest: bool = False
    """Whether it is the newest checkpoint of its run."""
    kept: tuple[KeptReason, str] | None = None
    """Why it stays whatever rules say."""

    @property
    def path(self) -> str:
        """Path of its first file."""
        return self.items[0].path

    @property
    def mean(self) -> float | None:
        """Mean return of a checkpoint."""
        return self.items[0].mean

    @property
    def age_key(self) -> tuple[float, int, str, str]:
        """Older ones have lower keys."""
        return self.t, self.items[0].place, self.run.run_id, self.path

    @property
    def value(self) -> tuple[int, float, float, str, str]:
        """Less valuable ones have lower keys."""
        mean = 0.0 if self.mean is None or self.kind != CHECKPOINT else self.mean
        return self._rank(), mean, self.t, self.run.run_id, self.path

    def _rank(self) -> int:
        if self.kind == CHECKPOINT:
            if self.is_best:
                return _BEST_RANK
            return _NEWEST_RANK if self.is_newest else _CHECKPOINT_RANK
        return _REBUILDABLE_RANK if self.rebuildable else _RANK.get(self.kind, _OTHER_RANK)


def units_of(
    run: RetainedRun,
    items: Sequence[StoredItem],
    kept_every: int | None,
    restored: frozenset[str] | set[str] = frozenset(),
) -> list[Unit]:
    """What rules count of a run.

    Args:
        run: the run.
        items: its files.
        kept_every: its steps are or will be kept of every n-th episode; None: of all that were recorded.
        restored: paths of files that the user brought back.
    """
    whole: dict[str, list[StoredItem]] = {}
    units: list[Unit] = []
    checkpoints = [item for item in items if item.kind == CHECKPOINT]
    best = _best(checkpoints)
    newest = max(checkpoints, key=lambda item: (item.place, item.path), default=None)
    for item in items:
        if item.kind in WHOLE_KINDS:
            whole.setdefault(item.kind, []).append(item)
            continue
        t = _time(run, item)
        units.append(
            Unit(
                run,
                item.kind,
                (item,),
                item.bytes,
                t,
                item.kind == VIDEO and _is_rebuildable(run, item, kept_every),
                item is best,
                item is newest,
                _kept(run, item, restored),
            )
        )
    for kind, found in whole.items():
        kept = next(filter(None, (_kept(run, item, restored) for item in found)), None)
        t = run.ended_at or 0.0
        units.append(Unit(run, kind, found, sum(item.bytes for item in found), t, kept=kept))
    return units


def _kept(
    run: RetainedRun, item: StoredItem, restored: frozenset[str] | set[str]
) -> tuple[KeptReason, str] | None:
    if run.kept is not None:
        return run.kept
    if item.path in run.pinned_files:
        return KeptReason.PINNED, "you pinned the file"
    if item.path in run.needed:
        return KeptReason.PARENT, f"the run {run.needed[item.path]!r} began with it"
    if item.path in restored:
        return KeptReason.RESTORED, "you brought it back"
    return None


def _best(checkpoints: Sequence[StoredItem]) -> StoredItem | None:
    """The one that its worker keeps as the best, else that with the highest mean return."""
    named = [item for item in checkpoints if item.reason == "best"]
    rated = [item for item in checkpoints if item.mean is not None]
    if rated:
        return max(rated, key=lambda item: (item.mean or 0.0, item.reason == "best", item.place))
    return max(named, key=lambda item: item.place, default=None)


def _time(run: RetainedRun, item: StoredItem) -> float:
    return item.t if item.t is not None else run.ended_at or 0.0


def _is_rebuildable(run: RetainedRun, item: StoredItem, kept_every: int | None) -> bool:
    """Whether a video's steps are in the store, and will be."""
    if item.episode is None or run.replay_every is None:
        return False
    if item.episode % run.replay_every:
        return False
    return kept_every is None or (kept_every > 0 and item.episode % kept_every == 0)
