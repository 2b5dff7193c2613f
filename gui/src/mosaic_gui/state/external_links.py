"""What shows a run outside the window: TensorBoard, and the page of its tracker."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.dashboards import MAX_DASHBOARD_RUNS
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RunKind
from mosaic_contracts.tracking import (
    X_TRACKING,
    TrackedRun,
    TrackedUpload,
    TrackingRole,
    UploadState,
)
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.episodes import episode_facts
from mosaic_gui.state.language import tr
from mosaic_gui.state.tracking import hindrance
from mosaic_gui.state.upload_words import upload_badge, upload_state

_KEPT = (UploadState.OFFLINE, UploadState.INCOMPLETE)
"""States in which the tracker's files are kept and can be sent later."""
_SENT_KINDS = (RunKind.TRAIN, RunKind.EVALUATE, RunKind.PLAY)


@dataclass(frozen=True)
class ExternalLink:
    """An address to open in a browser, or why there is none."""

    url: str = ""
    obstacle: str = ""
    is_open: bool = False
    """Whether a TensorBoard with the run is running."""
    summary: tuple[tuple[str, str], ...] = ()
    """Facts about a tracked run; empty for others."""
    badge: tuple[str, str] = ("", "neutral")
    """Word and tone of the state of its upload; no word: the run did not report it."""
    error: str = ""
    """The last error of its upload."""
    note: str = ""
    """What is said where the run is not at its tracker."""
    can_send: bool = False
    """The run has ended, and can be sent to its tracker now."""

    @property
    def has_trouble(self) -> bool:
        """Whether something of the run is missing at its tracker, or may be."""
        return self.badge[1] in ("warn", "bad")


def tensorboard(
    run_ids: Sequence[str], *, is_starting: bool = False, is_open: bool = False
) -> ExternalLink:
    """TensorBoard with all of these runs: it can be opened where there is no obstacle.

    Args:
        run_ids: the selected runs.
        is_starting: whether one is being opened.
        is_open: whether one with the watched run is running.
    """
    if is_starting:
        return ExternalLink(obstacle=tr("TensorBoard is starting …"))
    if not run_ids:
        return ExternalLink(obstacle=tr("Choose runs."))
    if len(run_ids) > MAX_DASHBOARD_RUNS:
        words = tr("TensorBoard takes at most {n} runs at once.", n=MAX_DASHBOARD_RUNS)
        return ExternalLink(obstacle=words)
    return ExternalLink(is_open=is_open)


def tracker(
    run: RunView,
    worker: WorkerEntry | None,
    algorithm: Algorithm | None,
    reported: TrackedRun | None,
    upload: TrackedUpload | None = None,
) -> ExternalLink:
    """The run's page at its tracker, and the state of its upload.

    Args:
        run: the run.
        worker: its worker; None: not known.
        algorithm: its algorithm; None: not known.
        reported: what the run reported of itself at the tracker; None before that.
        upload: what the run reported of its upload; None before that.
    """
    if reported is not None:
        return _reported(run, algorithm, reported, upload)
    words = _without_page(run, worker, algorithm, upload)
    if run.state.is_final and run.spec.kind in _SENT_KINDS:
        return ExternalLink(note=words, can_send=True)
    return ExternalLink(obstacle=words)


def _without_page(
    run: RunView,
    worker: WorkerEntry | None,
    algorithm: Algorithm | None,
    upload: TrackedUpload | None,
) -> str:
    """Why a run has no page at its tracker."""
    if not _is_tracked(run, algorithm):
        if run.state.is_final:
            return tr("This run was not tracked with W&B.")
        cannot = hindrance(worker) if worker is not None else ""
        other = tr("This run is not tracked with W&B. A clone with the mode online or offline is.")
        return cannot or other
    if upload is not None and upload.error:
        return tr("W&B did not take the run: {why}", why=upload.error)
    if run.state.is_final:
        return tr("The run ended before W&B had a page of it; its log may say why.")
    return tr("The run's W&B address is not known yet. It appears when W&B has answered the run.")


def _reported(
    run: RunView, algorithm: Algorithm | None, reported: TrackedRun, upload: TrackedUpload | None
) -> ExternalLink:
    state = upload_state(run, reported, upload)
    rows = _summary(run, algorithm, reported, is_kept=state in _KEPT)
    error = upload.error or "" if upload is not None else ""
    return ExternalLink(
        url=reported.url or "",
        summary=tuple(rows),
        badge=upload_badge(state) if state is not None else ("", "neutral"),
        error=error,
        can_send=run.state.is_final and state in _KEPT,
    )


def _summary(
    run: RunView, algorithm: Algorithm | None, reported: TrackedRun, *, is_kept: bool
) -> list[tuple[str, str]]:
    names = _roles(algorithm)

    def given(role: TrackingRole) -> str:
        return str(run.spec.parameters.get(names.get(role, "")) or "")

    chosen = {
        tr("Project"): reported.project or given(TrackingRole.PROJECT),
        tr("Entity"): reported.entity or given(TrackingRole.ENTITY),
        tr("Group"): given(TrackingRole.GROUP),
        tr("Name"): reported.name or given(TrackingRole.NAME),
    }
    rows = [(title, value) for title, value in chosen.items() if value]
    if is_kept:
        rows += episode_facts(run.summary) if run.summary is not None else []
        where = f"{run.run_dir}/{reported.folder}" if reported.folder else run.run_dir
        rows.append((tr("Kept in"), where))
        if reported.folder:
            command = f"./mosaic wandb sync {run.run_id}"  # unsaid: a command
            rows.append((tr("To send it"), command))
    return rows


def _is_tracked(run: RunView, algorithm: Algorithm | None) -> bool:
    name = _roles(algorithm).get(TrackingRole.TRACK, "")
    return bool(run.spec.parameters.get(name))


def _roles(algorithm: Algorithm | None) -> dict[str, str]:
    """The parameter of each role."""
    properties = algorithm.parameters.get("properties") if algorithm is not None else None
    parts = properties.items() if isinstance(properties, dict) else ()
    return {str(p[X_TRACKING]): n for n, p in parts if isinstance(p, dict) and X_TRACKING in p}
