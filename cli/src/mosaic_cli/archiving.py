"""Removes from a stack what a complete archive has, for the verb and for the window."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_client.archive.writing import WrittenArchive
    from mosaic_contracts.run_archives import FreedRun


def free_archived(client: "Client", made: "WrittenArchive") -> "list[FreedRun]":
    """Remove what a complete archive has from the stack.

    Args:
        client: of the stack that has the runs.
        made: the archive, which was compared with its digests.

    Raises:
        MosaicProblem: a run is pinned or still in use.
    """
    return [
        client.free(run.run_id, made.path.name, made.sha256, [file.path for file in run.files])
        for run in made.runs
    ]
