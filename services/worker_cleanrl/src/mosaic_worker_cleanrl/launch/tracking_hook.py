"""Hook in `wandb.init`: how a script's run is tracked by W&B, and what the run records of it.

- Nothing is sent unless the plan says so, which has the user's consent. Variables of wandb that the environment has are
  removed first, a key among them.
- The key goes from the run's secret file into `wandb.Settings`, and from there through a socket to wandb's service
  process. It is in no command line, no environment and no other file.
- wandb writes into the run's folder, and nothing into the home folder.
- No fault of W&B ends the training, unless the run requires W&B when it starts.
"""

import os
import shutil
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import wandb
from wandb.integration import tensorboard
from wandb.integration.tensorboard import monkeypatch

from mosaic_base.procfs import command, pids, process_stat
from mosaic_contracts.tracking import (
    WANDB,
    WANDB_SECRET,
    TrackedRun,
    TrackedUpload,
    UploadState,
    tracked_id,
)
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_worker_cleanrl.errors import HookSilent, TrackerRefused
from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_worker_cleanrl.launch.session import ScriptSession
from mosaic_worker_cleanrl.launch.stop import GracefulStop
from mosaic_worker_cleanrl.launch.upload_watch import UploadWatch
from mosaic_worker_cleanrl.plan.tracking_plan import TrackingPlan
from mosaic_workerkit.control import StopForced
from mosaic_workerkit.masking import read_secrets

INIT_S = 20.0
"""Time that W&B has to take a run."""
FINISH_S = 60.0
"""Time for what is still to be sent when a training has ended."""
STOP_FINISH_S = 8.0
"""The same when it was stopped: a kill follows after the run's grace time."""
_SERVICE = "wandb-core"
_FLUSH_S = 2.0
"""wandb writes its file so often: that much is lost of an offline run that is killed."""
_MARGIN_S = 5.0
_LOOK_S = 0.2
_Function = Callable[..., Any]


@contextmanager
def tracking_hooks(session: ScriptSession, plan: TrackingPlan, curves: Path) -> Iterator[None]:
    """Hook into wandb while the block runs; at its end complete the upload within a limit of time.

    Args:
        session: of the script.
        plan: how it is tracked.
        curves: folder of the script's TensorBoard files, from which wandb reads the curves.

    Raises:
        HookNotInstalled: wandb is not as expected.
        HookSilent: the script ended and never called wandb.
        TrackerRefused: W&B did not take the run, and the run requires that.
    """
    tracker = ScriptTracker(session, plan)
    # Without a root, wandb waits 10 s for further folders before it reads the first one.
    tensorboard.patch(root_logdir=str(curves.resolve()))
    with (
        replaced(wandb, "init", tracker.wrap_init),
        replaced(monkeypatch, "_notify_tensorboard_logdir", tracker.guarded),
    ):
        session.tracker = tracker
        try:
            yield
        except GracefulStop:
            tracker.finish(0, STOP_FINISH_S)
            raise
        except StopForced:
            tracker.finish(1, 0.0)
            raise
        except BaseException:
            tracker.finish(1, FINISH_S)
            raise
        tracker.finish(0, FINISH_S)
    if not tracker.has_begun:
        raise HookSilent(
            "The script ended and never called wandb.init: W&B has nothing of this run"
        )


class ScriptTracker:
    """The run of a script at W&B. Events are recorded in the script's own thread, at its safe points."""

    def __init__(self, session: ScriptSession, plan: TrackingPlan) -> None:
        self._session = session
        self._plan = plan
        self._run: Any = None
        self._watch: UploadWatch | None = None
        self._listening = ExitStack()
        self._news: deque[TrackedUpload] = deque()
        self._last: TrackedUpload | None = None
        self.has_begun = False
        """Whether the script called `wandb.init`."""

    def wrap_init(self, original: _Function) -> _Function:
        """`wandb.init` as the script gets it."""

        def init(*args: Any, **kwargs: Any) -> Any:
            self._session.safe_point()
            if self.has_begun:
                return original(*args, **kwargs)
            self.has_begun = True
            run = self._begin(original, args, kwargs)
            self.record_news()
            self._session.safe_point()
            return run

        return init

    def record_news(self) -> None:
        """Record what was reported since the last call."""
        while self._news:
            news = self._news.popleft().model_dump(mode="json", exclude_none=True)
            self._session.telemetry.extra(TRACKING_UPLOAD, news)

    def finish(self, exit_code: int, timeout_s: float) -> None:
        """End the run at W&B; after the timeout its service process is killed, and its files are kept.

        Args:
            exit_code: of the script, as W&B shows it.
            timeout_s: time for what is still to be sent.
        """
        if self._run is None:
            return
        self._flush_writers()
        if self._watch is not None:
            self._watch.expect_end()
        ended: list[str | None] = []
        thread = threading.Thread(target=self._end, args=(exit_code, ended), daemon=True)
        try:
            thread.start()
            self._await_end(thread, timeout_s)
        finally:
            if thread.is_alive():
                _kill_service()
        is_late = thread.is_alive()
        thread.join(_MARGIN_S)
        self._listening.close()
        fault = f"not complete after {timeout_s:g} s" if is_late else ended[0]
        if self._watch is not None:
            self._watch.close()
            self._report_end(self._watch, fault)
        elif fault is not None:
            self._report(UploadState.OFFLINE, fault)
        self.record_news()
        self._run = None

    def _await_end(self, thread: threading.Thread, timeout_s: float) -> None:
        """Wait for it, for less time once a stop is asked for."""
        deadline = time.monotonic() + timeout_s
        while thread.is_alive() and (left := deadline - time.monotonic()) > 0:
            thread.join(min(left, _LOOK_S))
            if self._session.is_stopping:
                deadline = min(deadline, time.monotonic() + STOP_FINISH_S)
                thread.join(deadline - time.monotonic())

    def _flush_writers(self) -> None:
        """Have the last curves in the files that wandb reads; a script that was stopped has not closed them."""
        for writer in self._session.writers:
            try:
                writer.flush()
            except OSError as error:
                words = (
                    f"TensorBoard's file was not completed, so W&B lacks its last points: {error}"
                )
                self._session.telemetry.log("warning", words)

    def _report_end(self, watch: UploadWatch, fault: str | None) -> None:
        if fault is None and not watch.is_lost:
            self._report(UploadState.UPLOADED, watch.error)
            return
        error = watch.error or fault
        self._report(UploadState.INCOMPLETE, error)
        self._session.telemetry.log(
            "warning",
            f"W&B does not have all of this run ({error}). Its files are kept and can be sent later.",
        )

    def _end(self, exit_code: int, ended: list[str | None]) -> None:
        fault = None
        try:
            self._run.finish(exit_code=exit_code)
        except Exception as error:  # noqa: BLE001 - whatever a foreign library raises, the training is over and well
            fault = _words(error)
        try:
            wandb.teardown(exit_code)
        except Exception as error:  # noqa: BLE001 - likewise
            fault = fault or _words(error)
        ended.append(fault)

    def _begin(self, original: _Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        telemetry = self._session.telemetry
        kwargs = {
            **kwargs,
            **self._plan.init,
            "id": tracked_id(telemetry.run_id, telemetry.attempt),
            "dir": str(telemetry.run_dir),
        }
        fault = None
        if self._plan.is_online:
            key = (read_secrets(os.environ).get(WANDB_SECRET) or "").strip()
            if not key:
                fault = f"the run received no key ({WANDB_SECRET})"
            else:
                try:
                    return self._take_online(original(*args, **kwargs, settings=self._online(key)))
                except Exception as error:  # noqa: BLE001 - whatever a foreign library raises is no reason to end
                    fault = _words(error)
            if self._plan.is_required:
                raise TrackerRefused(fault)
            telemetry.log(
                "warning",
                f"W&B did not take this run: {fault}. The training goes on, and W&B's files are kept to send later.",
            )
            self._forget(kwargs["id"])
        return self._begin_offline(original, args, kwargs, fault)

    def _begin_offline(
        self, original: _Function, args: tuple[Any, ...], kwargs: dict[str, Any], fault: str | None
    ) -> Any:
        settings = wandb.Settings(mode="offline", **self._settings())
        try:
            run = original(*args, **kwargs, settings=settings)
        except Exception as error:
            if self._plan.is_required:
                raise TrackerRefused(_words(error)) from error
            self._report(UploadState.INCOMPLETE, _words(error))
            self._session.telemetry.log(
                "warning",
                f"W&B records nothing of this run: {_words(error)}. The training goes on.",
            )
            return original(*args, **kwargs, settings=wandb.Settings(mode="disabled"))
        self._take(run, "offline")
        self._report(UploadState.OFFLINE, fault)
        return run

    def _take_online(self, run: Any) -> Any:
        self._take(run, "online")
        self._report(UploadState.UPLOADING, None)
        self._watch = UploadWatch(run, self._report)
        self._listening.enter_context(self._watch.listening())
        return run

    def _take(self, run: Any, mode: str) -> None:
        self._run = run
        tracked = TrackedRun.model_validate(
            {
                "tracker": WANDB,
                "mode": mode,
                "url": run.url,
                "folder": os.path.relpath(Path(run.dir).parent, self._session.telemetry.run_dir),
                "id": run.id,
                "name": run.name,
                "project": run.project,
                "entity": run.entity or None,
            }
        )
        facts = tracked.model_dump(mode="json", exclude_none=True)
        self._session.telemetry.extra(TRACKING_RUN, facts)
        # `wandb.init` has put the run's own method there
        wandb.log = self.guarded(wandb.log)

    def guarded(self, send: _Function) -> _Function:
        """A function of wandb that sends something: a fault is reported, and costs what was to be sent."""

        def guarded(*args: Any, **kwargs: Any) -> None:
            try:
                send(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - whatever a foreign library raises is no reason to end
                words = f"W&B took no data at step {self._session.global_step}: {_words(error)}"
                self._session.telemetry.log("warning", words)

        return guarded

    def _report(self, state: UploadState, error: str | None) -> None:
        """Take note of a change, in any thread."""
        news = TrackedUpload(tracker=WANDB, state=state, error=error)
        if news != self._last:
            self._last = news
            self._news.append(news)

    def _online(self, key: str) -> "wandb.Settings":
        return wandb.Settings(
            mode="online",
            api_key=key,
            base_url=self._plan.server,
            init_timeout=INIT_S,
            finish_timeout=FINISH_S,
            finish_timeout_raises=True,
            stop_fn=self._stop,
            **self._settings(),
        )

    def _stop(self) -> None:
        """Stop the run as `./mosaic stop` does, for the user at the run's page; wandb calls it in its own thread."""
        telemetry = self._session.telemetry
        telemetry.note("tracker-stop", "A stop was asked for at the run's page at W&B.", kept=True)
        runner = os.environ.get("MOSAIC_RUNNER_PID")
        if runner is None:  # started by hand
            self._session.request_stop("W&B")
        else:  # asks the worker, and knows then why it ends
            os.kill(int(runner), signal.SIGTERM)

    def _settings(self) -> dict[str, Any]:
        # The run's folder may lie in a checkout that has nothing to do with the training.
        return {
            "disable_git": True,
            "symlink": False,
            "x_transaction_log_flush_interval": _FLUSH_S,
        }

    def _forget(self, wandb_id: str) -> None:
        """End what there is of a run that W&B did not take, because another one with its id follows."""
        try:
            wandb.teardown()
        except Exception as error:  # noqa: BLE001 - it may not have begun, or its process is gone
            self._session.telemetry.log("info", f"wandb was not ended: {_words(error)}")
        for folder in (self._session.telemetry.run_dir / "wandb").glob(f"run-*-{wandb_id}"):
            shutil.rmtree(folder, ignore_errors=True)


def _words(error: Exception) -> str:
    """What an error of wandb says, in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:500]


def _kill_service() -> None:
    """End wandb's service process, a child of this one: it is written so that its files stay usable."""
    for pid in pids():
        stat = process_stat(pid)
        if stat is not None and stat.parent == os.getpid() and not stat.is_dead:
            name = command(pid)[:1]
            if name and Path(os.fsdecode(name[0])).name == _SERVICE:
                os.kill(pid, signal.SIGKILL)
