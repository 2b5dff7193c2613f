"""The client for scripts, notebooks and the command line."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_client.file_transfer import FileTransfer
from mosaic_client.live_runs import LiveRuns
from mosaic_client.location import find_stack
from mosaic_client.recorded_data import RecordedData
from mosaic_contracts.run_archives import GitState

if TYPE_CHECKING:
    from mosaic_client.archive.writing import OnProgress, WrittenArchive


class Client(FileTransfer, RecordedData, LiveRuns):
    """A client of one stack. Every method may raise `MosaicProblem` (its code's class), `StackUnreachable` and
    `AnswerInvalid`.

    A stack that has answered once gets `patience_s` seconds to come back before `StackUnreachable` is raised; a
    request that may act twice is not repeated, and what the stack refused or cannot do now (503) is raised at once.
    """

    def archive(
        self,
        run_ids: Sequence[str],
        target: Path,
        *,
        without: Collection[str] = (),
        progress: OnProgress | None = None,
        checkout: GitState | None = None,
    ) -> WrittenArchive:
        """Write ended runs with all that the stack has of them to one file, in bounded memory (docs/archive.md).

        The file appears under its name only when it is complete and every digest in it was compared.

        Args:
            run_ids: ids of the runs.
            target: file to write; an existing one is replaced.
            without: kinds of files to leave out (`video`, `checkpoint`, `tensorboard`, ...), and `jsonl` or `parquet`
                to leave out this form of the events. Without them an archive can still be imported.
            progress: called often with how far it is.
            checkout: state of the checkout that writes it, to be noted in it.

        Returns:
            Size and SHA-256 of the file, and what it has of each run.

        Raises:
            ArchiveRefused: a run has not ended, or changed while it was archived.
            RunUnknown: there is no such run.
            OSError: `target` cannot be written.
        """
        from mosaic_client.archive.writing import write_archive

        return write_archive(
            self, run_ids, target, without, progress or (lambda _: None), checkout=checkout
        )


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    token_file: Path | str | None = None,
    ca_file: Path | str | None = None,
) -> Client:
    """Connect to a stack. Sends nothing yet.

    Args:
        url: address of the stack, e.g. `https://lab:8443`; None: MOSAIC_URL, else the stack under MOSAIC_HOME.
        token: its token.
        token_file: file with its token; None: MOSAIC_TOKEN_FILE, else that of MOSAIC_HOME for a stack on this machine.
        ca_file: certificate (PEM) of the stack or of its authority, e.g. a copy of its secrets/gateway.crt.

    Returns:
        The client; close it, or use it in a `with` statement.

    Raises:
        StackUnreachable: no stack is known, or the address is not valid.
        TokenUnreadable: its token cannot be read.
        CertificateRefused: `ca_file` cannot be used.
        ValueError: both `token` and `token_file` are given.
    """
    location = find_stack(url=url, token=token, token_file=token_file, ca_file=ca_file)
    return Client(location)
