"""What fills the disks, in words and rows for people."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from mosaic_contracts.runs import RunView
from mosaic_contracts.storage_reports import (
    KindUse,
    PruneItem,
    PrunePlan,
    RunStorage,
    StorageReport,
    StorageVolume,
    TrashItem,
)
from mosaic_contracts.storage_words import STEPS, VolumeLevel
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n
from mosaic_gui.state.storage_map import MapEntry, MapTile

EVENTS = "events"
"""Events of runs in the store, as a kind of the picture."""
MOST_ROWS = 500
"""Runs of one report; what the others take is one tile."""
_KINDS = {
    "checkpoint": mark("Checkpoints"),
    "video": mark("Videos"),
    EVENTS: mark("Events"),
    "tensorboard": mark("TensorBoard"),
    "wandb": mark("W&B"),
    "log": mark("Logs"),
    "study": mark("Studies"),
    STEPS: mark("Steps of episodes"),
    "record": mark("Records"),
    "input": mark("Inputs"),
    "draft": mark("Unfinished files"),
    "orphan": mark("Folders without a run"),
    "other": mark("Other files"),
}
_COLOURED = ("checkpoint", "video", EVENTS, "tensorboard", "wandb", "log", "study", STEPS)
"""Kinds with a colour of their own: the number of each is that of the theme's series."""
_TONES = {VolumeLevel.OK: "ok", VolumeLevel.LOW: "warn", VolumeLevel.CRITICAL: "bad"}
_LEVELS = {
    VolumeLevel.OK: mark("OK"),
    VolumeLevel.LOW: mark("Low"),
    VolumeLevel.CRITICAL: mark("Almost full"),
}


class RunNames(NamedTuple):
    """How a run is called where it stands alone, and next to others of its algorithm and environment."""

    name: str
    short: str


Names = Mapping[str, RunNames]
NO_NAMES: Names = {}


class VolumeWords(NamedTuple):
    """A disk, as it is shown."""

    name: str
    free: str
    level: str
    tone: str
    message: str
    own_share: float
    """Share of the disk that this stack uses."""
    used_share: float
    """Share that is in use by anybody."""


def kind_word(kind: str) -> str:
    """A kind as people read it; one that a worker defines as it is."""
    return tr_mark(_KINDS[kind]) if kind in _KINDS else kind


def kind_colour(kind: str) -> int | None:
    """Number of the theme's series that is the colour of a kind; None: the neutral one."""
    return _COLOURED.index(kind) if kind in _COLOURED else None


def run_names(run: RunView) -> RunNames:
    """Names of a run: its own if one was given, else what distinguishes it."""
    spec = run.spec
    if spec.name:
        return RunNames(spec.name, spec.name)
    seed = tr("seed {seed}", seed=spec.seed)
    return RunNames(f"{spec.algorithm} {spec.environment} · {seed}", seed)


def map_entries(report: StorageReport, names: Names = NO_NAMES) -> list[MapEntry]:
    """What each run takes, and what the runs without a row take together."""
    entries = [_entry(run, names.get(run.run_id)) for run in report.runs]
    rest = _rest(report, entries)
    if rest is not None:
        entries.append(rest)
    return entries


def total_bytes(report: StorageReport) -> int:
    """Everything that this stack has on its disks, as far as the report counts it."""
    own = report.run_bytes + report.trash.bytes + report.broker_bytes + report.other_bytes
    events = sum(run.event_bytes for run in report.runs)
    return own + max(0, report.store_bytes - events)


def tile_title(tile: MapTile) -> str:
    """Name of a tile."""
    return tile.name if tile.run_id else _smaller_runs(tile)


def tile_label(tile: MapTile) -> str:
    """What is written on a tile."""
    return (tile.label or tile.name) if tile.run_id else _smaller_runs(tile)


def tile_words(tile: MapTile, total: int) -> str:
    """A tile in words, for a tool tip and for screen readers."""
    lines = [f"{tile_title(tile)}, {wording.bytes_text(tile.bytes)}"]
    if total:
        lines[0] += f", {share_text(tile.bytes, total)}"
    if tile.is_pinned:
        lines.append(tr("Pinned"))
    lines += [f"{kind_word(kind)}: {wording.bytes_text(size)}" for kind, size in tile.kinds]
    return "\n".join(lines)


def share_text(part: int, total: int) -> str:
    """A part in percent; `< 1 %` where it is little."""
    share = 100 * part / total if total else 0.0
    return "< 1 %" if 0 < share < 1 else f"{share:.0f} %"


def volume_words(volume: StorageVolume) -> VolumeWords:
    """A disk for its strip."""
    total = max(1, volume.total_bytes)
    free, size = wording.bytes_text(volume.free_bytes), wording.bytes_text(volume.total_bytes)
    return VolumeWords(
        volume.label or volume.path,
        tr("{free} free of {total}", free=free, total=size),
        tr_mark(_LEVELS[volume.level]),
        _TONES[volume.level],
        volume.message,
        min(1.0, volume.used_bytes / total),
        min(1.0, max(0.0, 1 - volume.free_bytes / total)),
    )


def kept_text(kind: KindUse) -> str:
    """How many of a kind a run has, of those that its profile lets it have."""
    if kind.allowed is None:
        return wording.count(kind.files)
    return tr("{n} of {most}", n=wording.count(kind.files), most=wording.count(kind.allowed))


def kind_rows(run: RunStorage) -> list[tuple[str, str, str]]:
    """Kind, number and size of a run's files, and its events."""
    rows = [
        (
            kind_word(kind.kind),
            kept_text(kind) if kind.files else "",
            wording.bytes_text(kind.bytes),
        )
        for kind in run.kinds
        if kind.files or kind.bytes
    ]
    events = _other_events(run)
    if events:
        rows.append((kind_word(EVENTS), "", wording.bytes_text(events)))
    return rows


def retention_words(run: RunStorage, now: datetime) -> list[str]:
    """What is kept of a run and why, and what goes next."""
    return [*([profile_words(run)] if run.profile else []), *removal_words(run, now)]


def profile_words(run: RunStorage) -> str:
    """Which storage profile a run has."""
    return tr("Storage profile: {name}", name=run.profile)


def removal_words(run: RunStorage, now: datetime) -> list[str]:
    """Why nothing of a run goes, or what goes next."""
    lines: list[str] = []
    found = run.next_removal
    if run.pinned:
        lines.append(tr("Pinned: nothing of this run is removed."))
    elif run.kept_because:
        lines.append(tr("Nothing goes now: {why}", why=run.kept_because))
    elif found is None:
        lines.append(tr("Nothing is removed by its profile as it is now."))
    if found is not None and not run.pinned:
        what = found.path or kind_word(found.kind)
        size = wording.bytes_text(found.bytes)
        words = tr("Goes next, {when}: {what} ({size})", when=ahead(found.at, now), what=what, size=size)  # fmt: skip
        lines.append(f"{words}\n{found.rule}")
    return lines


def storage_line(run: RunStorage, now: datetime) -> str:
    """What a run takes, and when something of it goes."""
    size = wording.bytes_text(run.bytes)
    if run.pinned:
        return tr("Storage: {size}, pinned", size=size)
    found = run.next_removal
    if found is None:
        return tr("Storage: {size}", size=size)
    kind = kind_word(found.kind)
    return tr(
        "Storage: {size}  ·  {kind} go {when}", size=size, kind=kind, when=ahead(found.at, now)
    )


def details_rows(run: RunStorage) -> list[tuple[str, str]]:
    """Size and number of a run's files by kind, for the table of its details."""
    return [
        (tr("{kind} (disk)", kind=kind), f"{size} ({files})" if files else size)
        for kind, files, size in kind_rows(run)
    ]


def plan_rows(plan: PrunePlan, names: Names = NO_NAMES) -> list[tuple[str, str, str, str, str]]:
    """Run, file, kind, size and reason of what goes, the first one first."""
    return [
        (
            _name(item, names),
            item.path or tr_n("about {n} step", "about {n} steps", item.steps),
            kind_word(item.kind),
            wording.bytes_text(item.bytes),
            f"{item.rule} ({item.reason})" if item.reason else item.rule,
        )
        for item in plan.items
    ]


def plan_words(plan: PrunePlan | None) -> str:
    """How much would go, and what stays for another reason."""
    if plan is None:
        return ""
    if not plan.files and not plan.steps:
        words = tr("Nothing would go: the storage profiles keep all that there is.")
    else:
        size = wording.bytes_text(plan.bytes)
        words = tr_n(
            "{n} file would go now: {size}", "{n} files would go now: {size}", plan.files, size=size
        )
    if plan.steps:
        words += "  ·  " + tr_n("about {n} step", "about {n} steps", plan.steps)
    kept = sum(each.files for each in plan.kept)
    if kept:
        more = tr_n("{n} more file is protected", "{n} more files are protected", kept)
        words = f"{words}  ·  {more}"
    return words


def kept_tip(plan: PrunePlan | None) -> str:
    """Why files stay that a rule would remove."""
    return "\n".join(f"{each.text}: {each.files:,}" for each in (plan.kept if plan else ()))


def trash_rows(
    items: Sequence[TrashItem], now: datetime, names: Names = NO_NAMES
) -> list[tuple[str, str, str, str, str]]:
    """Run, file, kind, size and time left of removed files, the newest first."""
    return [
        (
            _name(item, names),
            item.path,
            kind_word(item.kind),
            wording.bytes_text(item.bytes),
            ahead(item.expires_at, now),
        )
        for item in items
    ]


def stack_rows(report: StorageReport) -> list[tuple[str, str, str]]:
    """What the stack itself has: name, size and an explanation."""
    return [
        (tr("Store"), wording.bytes_text(report.store_bytes), tr("Events, episodes and metrics of all runs")),
        (tr("Broker"), wording.bytes_text(report.broker_bytes), tr("Events on their way to the store")),
        (tr("Trash"), wording.bytes_text(report.trash.bytes), tr("Removed files that can be brought back")),
        (tr("Other"), wording.bytes_text(report.other_bytes), tr("Logs, uploads and databases of the stack")),
    ]  # fmt: skip


def ahead(then: datetime | None, now: datetime) -> str:
    """`now`, `in 5 min`, `in 3 h`, `in 12 days`."""
    seconds = 0.0 if then is None else (then - now).total_seconds()
    if seconds <= 0:
        return tr("now")
    if seconds < 3600:
        return tr("in {minutes} min", minutes=max(1, round(seconds / 60)))
    if seconds < 48 * 3600:
        return tr("in {hours} h", hours=round(seconds / 3600))
    return tr_n("in {n} day", "in {n} days", round(seconds / 86_400))


def _smaller_runs(tile: MapTile) -> str:
    return tr_n("{n} smaller run", "{n} smaller runs", tile.runs)


def _name(item: PruneItem | TrashItem, names: Names) -> str:
    known = names.get(item.run_id or "")
    return known.name if known else item.run_name or item.run_id or tr("no run")


def _entry(run: RunStorage, names: RunNames | None) -> MapEntry:
    kinds = {kind.kind: kind.bytes for kind in run.kinds}
    if events := _other_events(run):
        kinds[EVENTS] = events
    origin = f"{run.algorithm} · {run.environment}" if run.algorithm else run.worker
    name, short = names or (run.name, run.name)
    return MapEntry(run.run_id, name, origin, kinds, run.pinned, short=short)


def _other_events(run: RunStorage) -> int:
    """Bytes of events that are no steps: what a run keeps for ever."""
    steps = sum(kind.bytes for kind in run.kinds if kind.kind == STEPS)
    return max(0, run.event_bytes - steps)


def _rest(report: StorageReport, entries: Sequence[MapEntry]) -> MapEntry | None:
    """The runs without a row, as one entry; None: all have one."""
    runs = report.run_count - len(entries)
    if runs <= 0:
        return None
    kinds = _without({kind.kind: kind.bytes for kind in report.kinds}, entries)
    events = report.run_bytes - sum(run.bytes for run in report.runs) - sum(kinds.values())
    if events > 0:
        kinds[EVENTS] = kinds.get(EVENTS, 0) + events
    return MapEntry("", "", "", kinds, runs=runs)


def _without(totals: Mapping[str, int], entries: Sequence[MapEntry]) -> dict[str, int]:
    left = {
        kind: total - sum(entry.kinds.get(kind, 0) for entry in entries)
        for kind, total in totals.items()
    }
    return {kind: size for kind, size in left.items() if size > 0}
