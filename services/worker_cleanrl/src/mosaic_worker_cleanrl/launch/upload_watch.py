"""What becomes of a W&B run's upload: asks wandb's service process for it, and listens to what wandb says.

wandb has no public call for this. The two that are used here are those by which it draws its own progress, in version
0.31.0, which this worker pins.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import wandb
from wandb.errors import term

from mosaic_contracts.tracking import UploadState
from mosaic_worker_cleanrl.launch.patch import replaced

PERIOD_S = 5.0
"""Between two questions."""
_ANSWER_S = 10
_ENCOUNTERED = re.compile(r"^(\d{3}) encountered \((.*)\)", re.DOTALL)
"""How wandb reports the answer of a server."""
_FATAL = "Fatal error while uploading data"
_RETRYING = re.compile(r"^retrying:? *")
_Report = Callable[[UploadState, str | None], None]


class UploadWatch:
    """Reports every change of the state and of the last error, from a thread of its own.

    Args:
        run: the online run.
        report: called with them.
    """

    def __init__(self, run: Any, report: _Report) -> None:
        self._run = run
        self._report = report
        self._end = threading.Event()
        self.error: str | None = None
        """The last error, in words."""
        self.is_lost = False
        """Whether wandb sends no more, although the run goes on."""
        self._is_ending = False
        self._thread = threading.Thread(target=self._watch, name="wandb-upload", daemon=True)
        self._thread.start()

    def expect_end(self) -> None:
        """Take it that the service process ends from now on: that it does not answer is then no loss."""
        self._is_ending = True

    def close(self) -> None:
        """Stop asking."""
        self._end.set()
        self._thread.join(_ANSWER_S)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take note of what wandb says while the block runs."""

        def wrap_log(original: Callable[..., None]) -> Callable[..., None]:
            def say(string: str = "", *args: Any, **kwargs: Any) -> None:
                if found := _ENCOUNTERED.match(string):
                    self._note_error(f"HTTP {found[1]}: {found[2]}"[:500])
                original(string, *args, **kwargs)

            return say

        def wrap_warning(original: Callable[..., None]) -> Callable[..., None]:
            def say(string: str, *args: Any, **kwargs: Any) -> None:
                if string.startswith(_FATAL):
                    self._lose(self.error or string)
                original(string, *args, **kwargs)

            return say

        with replaced(wandb, "termlog", wrap_log), replaced(term, "termwarn", wrap_warning):
            yield

    def _watch(self) -> None:
        while not (self._end.wait(PERIOD_S) or self.is_lost):
            try:
                errors = [found.error_status for found in self._operations() if found.error_status]
            except (
                TimeoutError
            ):  # a busy machine; the end of the run waits for all that is still to be sent
                errors = [f"wandb's service process does not answer within {_ANSWER_S} s"]
            except Exception as error:  # noqa: BLE001 - a foreign program died or hangs: the training goes on
                if not self._is_ending:
                    self._lose(f"wandb's service process does not answer: {type(error).__name__}")
                return
            if errors:
                self.error = _RETRYING.sub("", errors[0])[:500]
            self._report_sent(UploadState.RETRYING if errors else UploadState.UPLOADING)

    def _operations(self) -> Any:
        from wandb.proto import wandb_internal_pb2

        pb: Any = wandb_internal_pb2
        run = self._run

        async def ask() -> Any:
            request = pb.Record(request=pb.Request(operations=pb.OperationStatsRequest()))
            handle = await run._interface.deliver_async(request)
            return await handle.wait_async(timeout=_ANSWER_S)

        answer = run._wl.asyncer.run(ask)
        return answer.response.operations_response.operation_stats.operations

    def _report_sent(self, state: UploadState) -> None:
        if not self.is_lost:  # wandb may have said so meanwhile
            self._report(state, self.error)

    def _note_error(self, words: str) -> None:
        self.error = words
        if self.is_lost:
            self._report(UploadState.INCOMPLETE, words)

    def _lose(self, words: str) -> None:
        self.is_lost = True
        self.error = words
        self._report(UploadState.INCOMPLETE, words)
