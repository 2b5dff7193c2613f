"""Answers on storage, made of a look."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from mosaic_contracts.storage import StorageProfile
from mosaic_contracts.storage_reports import (
    KeptCount,
    KindUse,
    NextRemoval,
    PruneItem,
    PrunePlan,
    PruneResult,
    RunStorage,
    TrashItem,
    TrashReport,
)
from mosaic_contracts.storage_words import ORPHAN, STEPS, WHOLE_KINDS, KeptReason
from mosaic_scheduler.retention.facts import RetainedRun
from mosaic_scheduler.retention.inventory import StoredItem
from mosaic_scheduler.retention.janitor import ORPHAN_RULE, Chosen, StepResult
from mosaic_scheduler.retention.look import Look
from mosaic_scheduler.retention.planner import PlannedThinning, PlannedUnit, allowed
from mosaic_scheduler.retention.removals import RemovedFile

ProfileOf = Mapping[str, StorageProfile]


def plan_of(look: Look, chosen: Chosen, limit: int, notes: Sequence[str]) -> PrunePlan:
    """What would go now, at most `limit` items of it."""
    planned = [
        each for each in look.decision.units if chosen.takes(each.unit.run.run_id, each.unit.kind)
    ]
    others = [
        PruneItem(
            path=f"runs/{orphan.name}",
            kind=ORPHAN,
            bytes=orphan.bytes,
            rule=ORPHAN_RULE,
            reason="left by a deletion that was killed, or put there by hand",
        )
        for orphan in look.orphans
        if chosen.takes(orphan.name, ORPHAN)
    ]
    others += [
        _steps_item(each)
        for each in look.decision.thinnings
        if chosen.takes(each.run.run_id, STEPS)
    ]
    by_kind: dict[str, int] = defaultdict(int)
    for each in planned:
        by_kind[each.unit.kind] += each.unit.bytes
    for item in others:
        by_kind[item.kind] += item.bytes
    # A plan may have 100,000 files, of which few are shown.
    items = [*map(_item, planned[:limit]), *others][:limit]
    kept = [
        (reason, text, len(unit.items), unit.bytes)
        for reason, text, unit in look.decision.kept
        if chosen.takes(unit.run.run_id, unit.kind)
    ]
    return PrunePlan(
        items=items,
        files=sum(len(each.unit.items) for each in planned) + sum(item.files for item in others),
        steps=sum(item.steps for item in others),
        bytes=sum(by_kind.values()),
        bytes_by_kind=dict(by_kind),
        unlisted=len(planned) + len(others) - len(items),
        kept=kept_counts(kept),
        trash_bytes=sum(row.bytes for row in look.trash),
        planned_at=datetime.now(UTC),
        took_s=look.took_s,
        notes=list(notes),
    )


def result_of(result: StepResult) -> PruneResult:
    """What a step removed."""
    until = result.undo_until
    return PruneResult(
        files=result.files,
        steps=result.steps,
        bytes=result.bytes,
        freed_bytes=result.freed_bytes,
        bytes_by_kind=result.bytes_by_kind,
        left=result.left,
        kept=kept_counts(result.kept),
        undo_until=None if until is None else datetime.fromtimestamp(until, UTC),
    )


def kept_counts(kept: Iterable[tuple[KeptReason, str, int, int]]) -> list[KeptCount]:
    """Files that stay, by reason; words that differ within one reason are those of its first file."""
    found: dict[KeptReason, KeptCount] = {}
    for reason, text, files, size in kept:
        count = found.setdefault(reason, KeptCount(reason=reason, text=text, files=0, bytes=0))
        count.files += files
        count.bytes += size
    return sorted(found.values(), key=lambda count: -count.bytes)


def trash_of(
    rows: Sequence[RemovedFile], runs: Mapping[str, RetainedRun], limit: int
) -> TrashReport:
    """What is in the trash."""
    files = [row for row in rows if not row.is_folder]
    first = min((row.expires_at for row in files), default=None)
    return TrashReport(
        files=len(files),
        bytes=sum(row.bytes for row in files),
        items=[
            TrashItem(
                id=row.id,
                run_id=None if row.is_orphan else row.run_id,
                run_name=runs[row.run_id].name if row.run_id in runs else "",
                path=row.path,
                kind=row.kind,
                bytes=row.bytes,
                rule=row.rule,
                removed_at=datetime.fromtimestamp(row.removed_at, UTC),
                expires_at=datetime.fromtimestamp(row.expires_at, UTC),
            )
            for row in files[:limit]
        ],
        next_expiry_at=None if first is None else datetime.fromtimestamp(first, UTC),
    )


def run_rows(
    look: Look, profiles: ProfileOf, live: Mapping[str, list[KindUse]]
) -> list[RunStorage]:
    """What each run has, the largest first.

    Args:
        look: the look.
        profiles: profiles by name.
        live: files of runs whose files are not listed yet, by kind.
    """
    going: dict[str, PlannedUnit] = {}
    for each in look.decision.units:
        going.setdefault(each.unit.run.run_id, each)
    thinned = {each.run.run_id: each for each in look.decision.thinnings}
    rows = [
        _run_row(look, run, profiles, live, going.get(run.run_id), thinned.get(run.run_id))
        for run in look.runs.values()
    ]
    return sorted(rows, key=lambda row: (-row.bytes, row.run_id))


def kind_totals(rows: Iterable[RunStorage]) -> list[KindUse]:
    """All runs together, the largest first."""
    totals: dict[str, KindUse] = {}
    for row in rows:
        for use in row.kinds:
            total = totals.setdefault(use.kind, KindUse(kind=use.kind))
            total.files += use.files
            total.bytes += use.bytes
    return sorted(totals.values(), key=lambda use: -use.bytes)


def _run_row(
    look: Look,
    run: RetainedRun,
    profiles: ProfileOf,
    live: Mapping[str, list[KindUse]],
    going: PlannedUnit | None,
    thinned: PlannedThinning | None,
) -> RunStorage:
    name = look.decision.profiles[run.run_id]
    profile = profiles[name]
    found = look.files.get(run.run_id)
    uses = live.get(run.run_id, []) if found is None else _uses(found.items)
    space = look.spaces.get(run.run_id)
    event_bytes = 0 if space is None else space.bytes
    for use in uses:
        # A run has all or nothing of these kinds.
        use.allowed = None if use.kind in WHOLE_KINDS else allowed(profile, use.kind)
    if space is not None and space.steps:
        share = space.steps / max(1, space.events)
        uses.append(KindUse(kind=STEPS, files=0, bytes=int(event_bytes * share)))
    return RunStorage(
        run_id=run.run_id,
        name=run.name,
        state=run.state.value,
        worker=run.worker,
        algorithm=run.algorithm,
        environment=run.environment,
        bytes=sum(use.bytes for use in uses if use.kind != STEPS) + event_bytes,
        event_bytes=event_bytes,
        kinds=sorted(uses, key=lambda use: -use.bytes),
        profile=name,
        pinned=run.is_pinned,
        pinned_files=sorted(run.pinned_files),
        archived=run.is_deleted,
        kept_because="" if run.kept is None else run.kept[1],
        next_removal=_next_removal(look, run, going, thinned),
    )


def _next_removal(
    look: Look, run: RetainedRun, going: PlannedUnit | None, thinned: PlannedThinning | None
) -> NextRemoval | None:
    if going is not None:
        unit = going.unit
        return NextRemoval(path=unit.path, kind=unit.kind, bytes=unit.bytes, rule=going.rule)
    if thinned is not None:
        return NextRemoval(path="", kind=STEPS, bytes=thinned.bytes, rule=thinned.rule)
    later = look.decision.upcoming.get(run.run_id)
    if later is None:
        return None
    return NextRemoval(
        path=later.unit.path,
        kind=later.unit.kind,
        bytes=later.unit.bytes,
        at=datetime.fromtimestamp(later.at, UTC),
        rule=later.rule,
    )


def _uses(items: Iterable[StoredItem]) -> list[KindUse]:
    found: dict[str, KindUse] = {}
    for item in items:
        use = found.setdefault(item.kind, KindUse(kind=item.kind))
        use.files += 1
        use.bytes += item.bytes
    return list(found.values())


def _item(each: PlannedUnit) -> PruneItem:
    unit = each.unit
    return PruneItem(
        run_id=unit.run.run_id,
        run_name=unit.run.name,
        path=unit.path,
        kind=unit.kind,
        bytes=unit.bytes,
        files=len(unit.items),
        rule=each.rule,
        reason=each.reason,
        profile=each.profile,
        rebuildable=unit.rebuildable,
    )


def _steps_item(each: PlannedThinning) -> PruneItem:
    return PruneItem(
        run_id=each.run.run_id,
        run_name=each.run.name,
        path="",
        kind=STEPS,
        bytes=each.bytes,
        files=0,
        steps=each.steps,
        rule=each.rule,
        reason="episodes and metrics stay",
        profile=each.profile,
        undoable=False,
    )
