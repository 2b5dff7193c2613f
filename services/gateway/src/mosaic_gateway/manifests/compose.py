"""Puts together what the events say of a run's files and what its folder has."""

from collections.abc import Collection, Iterable, Mapping

from mosaic_base.file_tree import FileTree, FoundFile
from mosaic_contracts.clips import CLIP_KIND, parse_clip_name
from mosaic_contracts.manifest import (
    OTHER,
    FileReport,
    KindTotal,
    ManifestEntry,
    RunManifest,
    kind_of,
)
from mosaic_contracts.manifest_words import FileState, FileType
from mosaic_store import KnownFile, KnownFiles, SeenFile


def compose(
    run_id: str, known: KnownFiles, tree: FileTree, clips: Collection[str] = ()
) -> RunManifest:
    """Put together what the events say and what the folder has.

    Args:
        run_id: the run.
        known: what the events say.
        tree: what the folder has.
        clips: paths of videos that can be played although the run did not announce them.
    """
    there = {found.path: found for found in tree.files}
    folders = {
        file.path: file.kind for file in known.files if file.announced and file.path in tree.folders
    }
    sizes = _folder_sizes(tree.files, folders)
    entries = [
        _entry(file, there.pop(file.path, None), sizes.get(file.path), folders)
        for file in known.files
    ]
    entries += [_found_entry(found, folders) for found in there.values()]
    for each in entries:
        if each.kind == CLIP_KIND and not each.announced and each.state.is_there:
            # One that is still being written, or whose writer was killed before its first picture, is no video yet.
            each.kind = CLIP_KIND if each.path in clips else OTHER
    listed = [each for each in entries if each.announced]
    listed += sorted((each for each in entries if not each.announced), key=lambda each: each.path)
    return RunManifest(
        run_id=run_id,
        entries=listed,
        totals=_totals(listed),
        reported_at=known.reported_at,
        unlisted_files=tree.unlisted_files,
        unlisted_bytes=tree.unlisted_bytes,
    )


def with_report(known: KnownFiles, report: FileReport | None) -> KnownFiles:
    """Add a report that is not in the store yet."""
    if report is None:
        return known
    seen = {
        each.path: SeenFile(
            each.kind, each.type, each.bytes, each.sha256, each.mtime_us, each.name_hex
        )
        for each in report.files
    }
    files = [file._replace(seen=seen.pop(file.path, file.seen)) for file in known.files]
    files += [_only_seen(path, file) for path, file in seen.items()]
    return known._replace(files=files)


def _only_seen(path: str, seen: SeenFile) -> KnownFile:
    return KnownFile(
        path, False, OTHER, 0, None, None, None, None, None, None, False, None, seen
    )  # fmt: skip


def _folder_sizes(files: Iterable[FoundFile], folders: Mapping[str, str]) -> dict[str, int]:
    """Bytes of all files in each of these folders."""
    sizes = dict.fromkeys(folders, 0)
    for found in files:
        for folder in _above(found.path):
            if folder in sizes:
                sizes[folder] += found.bytes
    return sizes


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1)]


def _entry(
    file: KnownFile, found: FoundFile | None, folder_bytes: int | None, folders: Mapping[str, str]
) -> ManifestEntry:
    """The entry of a path that events name."""
    seen = file.seen
    shown = parse_clip_name(file.path.rpartition("/")[2])
    entry = ManifestEntry(
        path=file.path,
        kind=_kind(file, folders),
        type=FileType.FILE if seen is None else _type_of(seen),
        bytes=file.bytes if seen is None else seen.bytes,
        sha256=file.sha256 if seen is None or seen.sha256 is None else seen.sha256,
        created=file.t if file.announced else _seconds(seen),
        step=file.step if shown is None or file.step is not None else shown.step,
        env=file.env if shown is None or file.env is not None else shown.env,
        episode=file.episode if shown is None or file.episode is not None else shown.episode,
        reason=file.pruned_reason if file.pruned else file.reason,
        announced=file.announced,
        name_hex=None if seen is None else seen.name_hex,
    )
    if folder_bytes is not None:
        entry.type, entry.bytes, entry.sha256 = FileType.FOLDER, folder_bytes, None
    elif found is not None:
        _compare(entry, file, found)
    else:
        entry.state = FileState.PRUNED if file.pruned else FileState.MISSING
    return entry


def _compare(entry: ManifestEntry, file: KnownFile, found: FoundFile) -> None:
    """Let an entry say what is at its path now."""
    seen = file.seen
    entry.type, entry.bytes = FileType(found.type), found.bytes
    is_as_seen = seen is not None and (seen.bytes, seen.mtime_us) == (found.bytes, found.mtime_us)
    if seen is not None and is_as_seen:
        entry.sha256 = seen.sha256 or (file.sha256 if file.bytes == found.bytes else None)
    elif seen is not None or file.bytes != found.bytes:
        entry.sha256 = None
        entry.state = FileState.CHANGED
    if file.announced and file.sha256 and entry.sha256 not in (None, file.sha256):
        entry.state = FileState.CHANGED


def _found_entry(found: FoundFile, folders: Mapping[str, str]) -> ManifestEntry:
    """The entry of a file that no event names."""
    shown = parse_clip_name(found.path.rpartition("/")[2])
    env, episode, step = (None, None, None) if shown is None else shown
    return ManifestEntry(
        path=found.path,
        kind=_inherited(found.path, kind_of(found.path), folders),
        type=FileType(found.type),
        bytes=found.bytes,
        created=found.mtime_us / 1e6,
        step=step,
        env=env,
        episode=episode,
        name_hex=None if found.is_utf8 else found.name.hex(),
    )


def _kind(file: KnownFile, folders: Mapping[str, str]) -> str:
    if file.announced or file.seen is None:
        return file.kind
    return _inherited(file.path, file.seen.kind, folders)


def _inherited(path: str, kind: str, folders: Mapping[str, str]) -> str:
    """The kind of an announced folder above a file, where its own path says nothing."""
    above = (folders[folder] for folder in _above(path) if folder in folders)
    return next(above, kind) if kind == OTHER else kind


def _type_of(seen: SeenFile) -> FileType:
    """The type that a report names; one of a newer version is a special file to this one."""
    return FileType(seen.type) if seen.type in FileType.__members__.values() else FileType.SPECIAL


def _seconds(seen: SeenFile | None) -> float | None:
    return None if seen is None or seen.mtime_us is None else seen.mtime_us / 1e6


def _totals(entries: Iterable[ManifestEntry]) -> list[KindTotal]:
    totals: dict[str, KindTotal] = {}
    for entry in entries:
        if entry.type is FileType.FOLDER:
            continue
        total = totals.setdefault(entry.kind, KindTotal(kind=entry.kind, files=0, bytes=0))
        if entry.state.is_there:
            total.files += 1
            total.bytes += entry.bytes
        else:
            total.gone += 1
    return sorted(totals.values(), key=lambda total: (-total.bytes, total.kind))
