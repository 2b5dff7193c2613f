"""Requests about archives of runs."""

from mosaic_client.call import Call, model, query_of
from mosaic_contracts import http_api
from mosaic_contracts.archive_words import ARCHIVE_S
from mosaic_contracts.run_archives import ArchiveImport


def import_archive(file: str) -> Call[ArchiveImport]:
    """Describe an import; the bytes of the file are its body.

    Args:
        file: name of the file.
    """
    call = Call.of(http_api.IMPORT_ARCHIVE, read=model(ArchiveImport), query=query_of(file=file))
    call.timeout_s = ARCHIVE_S
    return call
