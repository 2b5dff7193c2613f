"""Names in an archive of runs. Without pydantic, for programs that only look for one (docs/archive.md)."""

ARCHIVE_HEAD = "mosaic-archive.json"
"""Name of the first entry of an archive: an `ArchiveHead`."""
ARCHIVE_SUFFIX = ".mosaic.zip"
"""How the name of an archive ends."""
ARCHIVE_VERSION = 1
"""Newest version of the layout. A stack refuses a later one."""
MAX_ARCHIVE_BYTES = 2**40
"""Size in bytes of the largest archive that a stack takes."""
MAX_ARCHIVED_RUNS = 1000
ARCHIVE_S = 3600.0
"""Time limit in seconds for reading an archive: all of it is compared with its digests."""

RUN_RECORD = "run.json"
"""What the stack knew of the run, a `RunView`."""
RUN_SPEC = "spec.json"
"""The run's spec, as `./mosaic run -f` takes it."""
RUN_MANIFEST = "manifest.json"
"""All files of the run, a `RunManifest`."""
RUN_FACTS = "archive.json"
"""What the archive has of the run, an `ArchivedRun`. It is the last entry of the run."""
RUN_BATCHES = "events/batches.bin"
"""All events as the store had them (`mosaic_contracts.batch_file`): an import reads these alone."""
RUN_LINES = "events/events.jsonl.zst"
"""All events as JSON lines."""
RUN_COLUMNS = "events/parquet"
"""Folder with all events as Parquet, a file for each type."""
RUN_FILES_FOLDER = "files"
"""Folder with files of the run's folder, with their paths in it."""
LINES, COLUMNS = "jsonl", "parquet"
"""Names of the forms of events that may be left out, next to the kinds of files."""


def run_entry(run_id: str, name: str) -> str:
    """Name of an entry of a run.

    Args:
        run_id: the run.
        name: one of the names above.
    """
    return f"runs/{run_id}/{name}"


def group_entry(group_id: str) -> str:
    """Name of the entry with what was asked for with a group, an `ArchivedGroup`.

    Args:
        group_id: a group of which the archive has a run.
    """
    return f"groups/{group_id}.json"


def file_entry(run_id: str, path: str) -> str:
    """Name of the entry with a file of a run's folder.

    Args:
        run_id: the run.
        path: path in the run's folder.
    """
    return run_entry(run_id, f"{RUN_FILES_FOLDER}/{path}")
