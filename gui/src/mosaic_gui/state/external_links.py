"""What shows a run outside the window: TensorBoard, and the page of its tracker."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.dashboards import MAX_DASHBOARD_RUNS
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.tracking import X_TRACKING, TrackedRun, TrackingRole
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.episodes import episode_facts
from mosaic_gui.state.language import tr
from mosaic_gui.state.tracking import hindrance


@dataclass(frozen=True)
class ExternalLink:
    """An address to open in a browser, or why there is none."""

    url: str = ""
    obstacle: str = ""
    summary: tuple[tuple[str, str], ...] = ()
    """Facts about a run that was tracked offline; empty otherwise."""


def tensorboard(run_ids: Sequence[str], *, is_starting: bool = False) -> ExternalLink:
    """TensorBoard with all of these runs: it can be opened where there is no obstacle.

    Args:
        run_ids: the selected runs.
        is_starting: whether one is being opened.
    """
    if is_starting:
        return ExternalLink(obstacle=tr("TensorBoard is starting …"))
    if not run_ids:
        return ExternalLink(obstacle=tr("Choose runs."))
    if len(run_ids) > MAX_DASHBOARD_RUNS:
        words = tr("TensorBoard takes at most {n} runs at once.", n=MAX_DASHBOARD_RUNS)
        return ExternalLink(obstacle=words)
    return ExternalLink()


def tracker(
    run: RunView,
    worker: WorkerEntry | None,
    algorithm: Algorithm | None,
    reported: TrackedRun | None,
) -> ExternalLink:
    """The run's page at its tracker. `reported`: what the run reported, None before that."""
    if reported is not None and reported.url:
        return ExternalLink(url=reported.url)
    if reported is not None and reported.mode == "offline":
        return ExternalLink(summary=_summary(run, algorithm, reported))
    if reported is not None:
        return ExternalLink(obstacle=tr("W&B has named no page of this run; its log may say why."))
    if not _is_tracked(run, algorithm):
        cannot = hindrance(worker) if worker is not None else ""
        return ExternalLink(
            obstacle=cannot or tr("This run is not tracked with W&B. A clone with “track” on is.")
        )
    if run.state.is_final:
        return ExternalLink(
            obstacle=tr("The run ended before W&B had a page of it; its log may say why.")
        )
    return ExternalLink(
        obstacle=tr(
            "The run's W&B address is not known yet. It appears when W&B has answered the run."
        )
    )


def _summary(
    run: RunView, algorithm: Algorithm | None, reported: TrackedRun
) -> tuple[tuple[str, str], ...]:
    names = _roles(algorithm)
    chosen = {
        title: run.spec.parameters.get(names.get(role, ""))
        for title, role in (
            (tr("Project"), TrackingRole.PROJECT),
            (tr("Entity"), TrackingRole.ENTITY),
            (tr("Group"), TrackingRole.GROUP),
        )
    }
    rows = [(title, str(value)) for title, value in chosen.items() if value]
    if (counted := run.summary) is not None:
        rows += episode_facts(counted)
    where = f"{run.run_dir}/{reported.folder}" if reported.folder else run.run_dir
    rows.append((tr("Kept in"), where))
    if reported.folder:
        rows.append((tr("To send it"), f"wandb sync {where}"))  # unsaid: a command
    return tuple(rows)


def _is_tracked(run: RunView, algorithm: Algorithm | None) -> bool:
    name = _roles(algorithm).get(TrackingRole.TRACK, "")
    return bool(run.spec.parameters.get(name))


def _roles(algorithm: Algorithm | None) -> dict[str, str]:
    """The parameter of each role."""
    properties = algorithm.parameters.get("properties") if algorithm is not None else None
    parts = properties.items() if isinstance(properties, dict) else ()
    return {str(p[X_TRACKING]): n for n, p in parts if isinstance(p, dict) and X_TRACKING in p}
