"""Files that are sent to a stack or fetched from it, in pieces and across lost connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import httpx

from mosaic_client.call import Call
from mosaic_client.calls import archives as archive_calls
from mosaic_client.calls import checkpoints as checkpoint_calls
from mosaic_client.calls import sweeps as sweep_calls
from mosaic_client.calls import telemetry as telemetry_calls
from mosaic_client.download import ArtifactDownload, refused
from mosaic_client.faults import Persistence
from mosaic_client.full_http import FullHttp, answer_of, fault_of, timeout, upload_options
from mosaic_client.location import Location
from mosaic_client.patience import REQUEST_PATIENCE_S
from mosaic_client.run_view import Run
from mosaic_client.stack_connection import headers_of
from mosaic_client.stack_requests import StackRequests
from mosaic_client.upload import UploadedFile
from mosaic_contracts.archive_words import MAX_ARCHIVE_BYTES
from mosaic_contracts.http_api import PREFIX
from mosaic_contracts.run_archives import ArchiveImport

if TYPE_CHECKING:
    pass

T = TypeVar("T")


class FileTransfer(StackRequests):
    """Sends and fetches files over a connection of its own."""

    def __init__(
        self,
        location: Location,
        *,
        patience_s: float = REQUEST_PATIENCE_S,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(location, patience_s=patience_s, transport=transport)
        self._files: FullHttp | None = None
        """For files, which are sent and read in pieces."""

    def close(self) -> None:
        """Close the connections."""
        super().close()
        if self._files is not None:
            self._files.close()

    def import_checkpoint(
        self,
        file: Path,
        worker: str | None = None,
        algorithm: str | None = None,
        environment: str | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] = (),
        idempotency_key: str | None = None,
    ) -> Run:
        """Import a file as a checkpoint.

        The file is a checkpoint of a worker, a zip of `export_checkpoint`, or a file of another program that a worker
        can convert, e.g. a `.cleanrl_model`. No code in it is run.

        Args:
            file: the file, of 2 GiB at most.
            worker: worker that it is for; None: as the file says, else the worker that knows it.
            algorithm: algorithm of the policy, where the file does not say it.
            environment: environment of the policy, where the file does not say it.
            name: display name of the run; None: made of environment, algorithm and date.
            tags: tags of the run.
            idempotency_key: as for `submit`.

        Returns:
            A run of kind `import`, which has the checkpoint and can be played, evaluated and trained on.

        Raises:
            FileUnusable: the file cannot be read, is empty, too large, or no regular file.
            ImportRefused: the stack does not take the file; `.problem.fields` says why.
        """
        with UploadedFile(file) as upload:
            call = checkpoint_calls.import_checkpoint(
                *(upload.name, worker, algorithm, environment),
                name=name,
                tags=tags,
                idempotency_key=idempotency_key,
            )
            return self._send_file(call, upload, lambda _: None)

    def import_archive(
        self, file: Path, progress: Callable[[int], None] | None = None
    ) -> ArchiveImport:
        """Import the runs of an archive, with their ids.

        The stack compares all of it with its digests before it changes anything. A run that is here already is left as
        it is, so that an import may be repeated. Events reach the store afterwards; `telemetry_pending` of a run is
        true until they are there.

        Args:
            file: the archive.
            progress: called with the number of bytes on their way.

        Returns:
            What became of each run.

        Raises:
            FileUnusable: the file cannot be sent.
            ArchiveInvalid: it is no archive, was damaged or altered, or a run is here with other content.
        """
        with UploadedFile(file, "an archive", MAX_ARCHIVE_BYTES) as upload:
            call = archive_calls.import_archive(upload.name)
            return self._send_file(call, upload, progress or (lambda _: None))

    def export_checkpoint(self, run_id: str, path: str | None, target: Path) -> int:
        """Write a checkpoint with its facts to a zip, for `import_checkpoint` on another stack.

        Args:
            run_id: id of the run.
            path: path of one of its checkpoints, `best` or `last`; None: `last`, the newest.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the run has no such checkpoint.
            ImportRefused: the file is not as the run recorded it.
            OSError: `target` cannot be written.
        """
        return self._download(checkpoint_calls.export_checkpoint(run_id, path), target)

    def download_study(self, sweep_id: str, target: Path) -> int:
        """Write the study of a sweep to a file, as it is at this moment: an SQLite file that Optuna's tools open.

        Args:
            sweep_id: id of the sweep's run.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the sweep has no study yet.
            OSError: `target` cannot be written.
        """
        return self._download(sweep_calls.study(sweep_id), target)

    def download(self, run_id: str, path: str, target: Path) -> int:
        """Write one artifact to a file.

        A transfer whose connection breaks is resumed where it broke, if the file is still the same. A half-written file
        is never left under the target's name.

        Args:
            run_id: id of the run.
            path: path of the artifact in the run's folder.
            target: file to write; an existing one is replaced.

        Returns:
            The number of bytes.

        Raises:
            ArtifactUnknown: the run has no such file.
            StackUnreachable: the connection broke and did not come back.
            OSError: `target` cannot be written.
        """
        return self._download(telemetry_calls.artifact(run_id, path), target)

    def artifact_link(self, run_id: str, path: str, ttl_s: float = 300) -> str:
        """Create an address of one artifact that a browser or player opens without the token.

        Args:
            run_id: id of the run.
            path: path of the artifact in the run's folder.
            ttl_s: seconds until the address expires.

        Returns:
            The whole address.
        """
        call = telemetry_calls.artifact(run_id, path)
        ticket = self.ticket(call.path.removeprefix(PREFIX), ttl_s)
        return self.location.url + ticket.url

    def _send_file(self, call: Call[T], upload: UploadedFile, progress: Callable[[int], None]) -> T:
        """Send a request whose body is a file. `progress` is called with the number of bytes on their way."""
        persistence = Persistence(self.location, call, self._patience_s)
        while True:
            options = upload_options(call, upload.headers)
            try:
                response = self._streams.request(**options, content=upload.pieces(progress))
            except httpx.TransportError as error:
                time.sleep(persistence.delay(fault_of(error), self._has_answered))
                continue
            self._has_answered = True
            return call.answer(answer_of(response))

    def _download(self, call: Call[None], target: Path) -> int:
        with ArtifactDownload(target) as download:
            while True:
                try:
                    self._fetch(call, download)
                    return download.finish()
                except httpx.TransportError as error:
                    fresh = Persistence(self.location, call, self._patience_s)
                    time.sleep(download.delay(error, fresh, self._has_answered))

    @property
    def _streams(self) -> httpx.Client:
        """For what is sent or read in pieces."""
        if self._files is None:
            self._files = FullHttp(self.location, headers_of(self.location), self._transport)
        return self._files.http

    def _fetch(self, call: Call[None], download: ArtifactDownload) -> None:
        http = self._streams
        request = http.build_request(
            call.method,
            call.path,
            params=call.query,
            headers=download.headers,
            timeout=timeout(call),
        )
        response = http.send(request, stream=True)
        try:
            self._has_answered = True
            if response.is_error:
                response.read()
                raise refused(response)
            download.begin(response)
            for chunk in response.iter_raw():
                download.write(chunk)
        finally:
            response.close()
