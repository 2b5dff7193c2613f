"""Tables of what fills the disk and of what goes next."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from mosaic_cli.storage.folders import FolderSize
from mosaic_cli.storage.outside import OutsideEntry
from mosaic_cli.wording import ahead, one_line, path_line, plural, short_ids, size

if TYPE_CHECKING:
    from mosaic_contracts.storage import StorageProfiles
    from mosaic_contracts.storage_reports import (
        KeptCount,
        KindUse,
        NextRemoval,
        PruneItem,
        RunStorage,
        StorageReport,
        StorageVolume,
        TrashItem,
    )

LEVEL_STYLE = {"ok": "green", "low": "yellow", "critical": "red"}
_MOST_KINDS = 3
"""Kinds that a row of the list of runs names."""


def volume_table(volumes: "Sequence[StorageVolume]") -> Table:
    """The disks in use."""
    table = _table(
        "ON THIS DISK", "FREE", "TOTAL", "MOSAIC", "LEVEL", right=("FREE", "TOTAL", "MOSAIC")
    )
    for volume in volumes:
        level = Text(volume.level.value, LEVEL_STYLE.get(volume.level.value, ""))
        used = size(volume.used_bytes)
        table.add_row(
            volume.label or volume.path,
            size(volume.free_bytes),
            size(volume.total_bytes),
            used,
            level,
        )
    return table


def total_table(report: "StorageReport", now: datetime) -> Table:
    """Everything in the data root by kind, the largest first."""
    table = _table("KIND", "FILES", "SIZE", "", right=("FILES", "SIZE"))
    for kind in report.kinds:
        table.add_row(kind.kind, _count(kind.files), size(kind.bytes))
    trash = report.trash
    if trash.files:
        expiry = f"the next is deleted {ahead(trash.next_expiry_at, now)}"
        table.add_row("trash", _count(trash.files), size(trash.bytes), expiry)
    for name, length, words in (
        ("store", report.store_bytes, "events, episodes and metrics of all runs"),
        ("broker", report.broker_bytes, "events on their way to the store"),
        ("stack", report.other_bytes, "its logs, uploads and databases"),
    ):
        table.add_row(name, "", size(length), words, style="dim")
    return table


def run_table(runs: "Sequence[RunStorage]", now: datetime) -> Table:
    """Runs with most bytes first."""
    table = _table("RUN", "NAME", "SIZE", "MOSTLY", "GOES NEXT", right=("SIZE",))
    for column, width in zip(table.columns, (10, None, 9, None, 16), strict=True):
        column.min_width = width
    table.columns[1].overflow = "ellipsis"
    for run, short in zip(runs, short_ids([run.run_id for run in runs]), strict=True):
        table.add_row(
            short,
            one_line(run.name),
            size(run.bytes),
            ", ".join(map(_kind_words, run.kinds[:_MOST_KINDS])),
            _next_words(run, now),
        )
    return table


def kind_table(run: "RunStorage") -> Table:
    """Files of one run by kind."""
    table = _table("KIND", "FILES", "SIZE", "KEPT", right=("FILES", "SIZE"))
    for kind in run.kinds:
        kept = "" if kind.allowed is None else f"{kind.files:,} of {kind.allowed:,}"
        table.add_row(kind.kind, _count(kind.files), size(kind.bytes), kept)
    table.add_row("events in the store", "", size(run.event_bytes), style="dim")
    return table


def removal_words(found: "NextRemoval", now: datetime) -> str:
    """What goes next of a run, when and why."""
    when = "with the next look" if found.at is None or found.at <= now else ahead(found.at, now)
    what = path_line(found.path) or found.kind
    return f"{what} ({size(found.bytes)}) goes {when}: {found.rule}"


def plan_table(items: "Sequence[PruneItem]") -> Table:
    """Files that go, the first one first."""
    table = _table("RUN", "PATH", "KIND", "SIZE", "WHY", right=("SIZE",))
    table.columns[1].overflow = table.columns[4].overflow = "fold"
    table.columns[1].no_wrap = table.columns[4].no_wrap = False
    for item in items:
        path = path_line(item.path) or f"about {item.steps:,} steps"
        if item.files > 1 and item.path:
            path += f" ({plural(item.files, 'file')})"
        why = f"{item.rule} ({item.reason})" if item.reason else item.rule
        table.add_row(item.run_id or "-", path, item.kind, size(item.bytes), why)
    return table


def trash_table(items: "Sequence[TrashItem]", now: datetime) -> Table:
    """Removed files that can be brought back, the newest first."""
    table = _table(
        "NUMBER", "RUN", "PATH", "SIZE", "DELETED", "REMOVED BY", right=("NUMBER", "SIZE")
    )
    table.columns[2].overflow = "fold"
    table.columns[2].no_wrap = False
    for item in items:
        table.add_row(
            str(item.id),
            item.run_id or "-",
            path_line(item.path),
            size(item.bytes),
            ahead(item.expires_at, now),
            item.rule,
        )
    return table


def outside_table(entries: "Sequence[OutsideEntry]") -> Table:
    """What lies outside of the data root, with the command that removes it."""
    table = _table("OUTSIDE OF THE DATA ROOT", "SIZE", "FREES", "COMMAND", right=("SIZE", "FREES"))
    table.columns[3].overflow = "fold"
    table.columns[3].no_wrap = False
    for entry in entries:
        kind = "" if entry.kind.value == "cache" else f"{entry.kind.value} "
        table.add_row(
            f"{kind}{entry.name}", size(entry.bytes), size(entry.frees_bytes), entry.command
        )
    return table


def folder_table(sizes: Mapping[str, FolderSize]) -> Table:
    """Folders of a data root whose stack is down."""
    table = _table("FOLDER", "SIZE", right=("SIZE",))
    for name, found in sorted(sizes.items(), key=lambda each: -each[1].bytes):
        table.add_row(name, size(found.bytes))
    return table


def profile_lines(content: "StorageProfiles") -> list[str]:
    """Each profile with its rules below it."""
    lines = []
    for name, profile in content.profiles.items():
        lines.append(
            f"{name} (default, of runs that name none)" if name == content.default else name
        )
        lines += [f"  {rule.text}" for rule in profile.rules]
        if profile.steps_every is not None:
            lines.append(f"  steps: those of 1 in {profile.steps_every} episodes stay")
        if profile.budget_bytes is not None:
            lines.append(f"  all runs together: {size(profile.budget_bytes)}")
        if lines[-1].startswith(name):
            lines.append("  removes nothing")
        lines.append(f"  in the trash for {profile.grace_hours:g} h")
    return lines


def kept_lines(kept: "Sequence[KeptCount]") -> list[str]:
    """What stays although a rule would remove it."""
    return [
        f"{plural(each.files, 'file')} ({size(each.bytes)}) would go and stay: {each.text}"
        for each in kept
    ]


def by_kind_words(bytes_by_kind: Mapping[str, int]) -> str:
    """`video 1.2 GiB, checkpoint 3.0 MiB`."""
    largest = sorted(bytes_by_kind.items(), key=lambda each: -each[1])
    return ", ".join(f"{kind} {size(length)}" for kind, length in largest)


def _kind_words(kind: "KindUse") -> str:
    """`video 3.0 MiB (2 of 5)`."""
    kept = "" if kind.allowed is None else f" ({kind.files:,} of {kind.allowed:,})"
    return f"{kind.kind} {size(kind.bytes)}{kept}"


def _next_words(run: "RunStorage", now: datetime) -> str:
    if run.pinned:
        return "pinned"
    found = run.next_removal
    if found is None:
        return run.kept_because
    when = "now" if found.at is None or found.at <= now else ahead(found.at, now)
    return f"{found.kind} {when}"


def _count(files: int) -> str:
    return f"{files:,}" if files else ""


def _table(*headings: str, right: Sequence[str]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", no_wrap=True)
    return table
