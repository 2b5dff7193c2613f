"""Requests about archives of runs."""

from collections.abc import Sequence

from mosaic_client.call import Call, body_of, model, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.archive_words import ARCHIVE_S
from mosaic_contracts.run_archives import ArchiveImport, FreedRun, FreeRequest


def import_archive(file: str) -> Call[ArchiveImport]:
    """Describe an import; the bytes of the file are its body.

    Args:
        file: name of the file.
    """
    call = Call.of(http_api.IMPORT_ARCHIVE, read=model(ArchiveImport), query=query_of(file=file))
    call.timeout_s = ARCHIVE_S
    return call


def free(run_id: str, file: str, sha256: str, paths: Sequence[str]) -> Call[FreedRun]:
    """Remove files and steps of a run that an archive has. The run stays in the list, with its episodes and metrics.

    Compare the archive with its digests first, as `Client.archive` does. Files rest in the trash, from which
    `undo_prune` brings them back for a time. Steps go from the store at once; importing the archive brings them back.

    Args:
        run_id: id of the run.
        file: name of the archive.
        sha256: digest of the archive.
        paths: files that the archive has; no others are removed.

    Returns:
        What was removed, and why files stay.

    Raises:
        RunUnknown: there is no such run.
        RunLive: it has not ended.
        RequestRefused: it is pinned or still in use.
    """
    request = FreeRequest(file=file, sha256=sha256, paths=list(paths))
    call = typed(http_api.FREE, run_id, body=body_of(request))
    call.timeout_s = ARCHIVE_S
    return call
