"""What a run says of its upload to W&B while wandb's service process is late, dead or ending."""

import queue
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic_contracts.tracking import UploadState
from mosaic_worker_cleanrl.launch import upload_watch
from mosaic_worker_cleanrl.launch.upload_watch import UploadWatch

Reports = queue.Queue[tuple[UploadState, str | None]]


@pytest.fixture
def watch_of(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes a watch whose questions are answered by a function."""
    monkeypatch.setattr(upload_watch, "PERIOD_S", 0.001)

    def make(ask: Callable[[], list[Any]], reports: Reports) -> UploadWatch:
        monkeypatch.setattr(UploadWatch, "_operations", lambda _: ask())
        return UploadWatch(None, lambda state, error: reports.put((state, error)))

    return make


def test_a_late_answer_is_no_loss(watch_of: Any) -> None:
    """A question without an answer in time is reported, and asked again."""
    late = iter([TimeoutError()])

    def ask() -> list[Any]:
        for error in late:
            raise error
        return [SimpleNamespace(error_status="")]

    reports: Reports = queue.Queue()
    watch = watch_of(ask, reports)
    state, error = reports.get(timeout=60)
    assert state is UploadState.RETRYING
    assert "does not answer" in str(error)
    assert reports.get(timeout=60)[0] is UploadState.UPLOADING
    watch.close()
    assert not watch.is_lost


def test_a_dead_service_process_is_a_loss_while_the_run_goes_on(watch_of: Any) -> None:
    """wandb sends no more, and the run says so."""

    def ask() -> list[Any]:
        raise BrokenPipeError

    reports: Reports = queue.Queue()
    watch = watch_of(ask, reports)
    assert reports.get(timeout=60)[0] is UploadState.INCOMPLETE
    watch.close()
    assert watch.is_lost


def test_a_service_process_that_ends_with_the_upload_is_no_loss(watch_of: Any) -> None:
    """It ends during a question: whether all was sent is known by the end of the run at W&B."""
    asked, ends = threading.Event(), threading.Event()

    def ask() -> list[Any]:
        asked.set()
        assert ends.wait(60)
        raise BrokenPipeError

    reports: Reports = queue.Queue()
    watch = watch_of(ask, reports)
    assert asked.wait(60)
    watch.expect_end()
    ends.set()
    watch.close()
    assert not watch.is_lost
    assert reports.empty()
