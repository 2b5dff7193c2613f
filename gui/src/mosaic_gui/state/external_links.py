"""External links of a run: the stack's TensorBoard, and the page of its tracker."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, urljoin, urlsplit

from mosaic_contracts.runs import RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.tracking import X_TRACKING, TrackedRun, TrackingRole
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.episodes import episode_facts
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.tracking import hindrance

RUNS_MARK = "{runs}"
_MOST_IN_COMMAND = 3
"""Runs that a command in a tool tip names."""


@dataclass(frozen=True)
class ExternalLink:
    """An address to open in a browser, or why there is none."""

    url: str = ""
    obstacle: str = ""
    summary: tuple[tuple[str, str], ...] = ()
    """Facts about a run that was tracked offline; empty otherwise."""


def tensorboard(
    offered: str | None, gateway: str, run_ids: Sequence[str], *, has_files: bool = True
) -> ExternalLink:
    """TensorBoard with all of these runs. `offered`: what the stack said; `has_files`: that one of them writes some."""
    if not run_ids:
        return ExternalLink(obstacle=tr("Choose runs."))
    if not has_files:
        words = tr_n(
            "This run's settings write no TensorBoard files. Its curves are shown here.",
            "These runs' settings write no TensorBoard files. Their curves are shown here.",
            len(run_ids),
        )
        return ExternalLink(obstacle=words)
    if not offered:
        return ExternalLink(
            obstacle=tr(
                "This stack offers no TensorBoard. On its machine, in its data folder: {command}",
                command=_by_hand(run_ids),
            )
        )
    url = urljoin(gateway + "/", offered.replace(RUNS_MARK, quote("|".join(run_ids), safe="")))
    if urlsplit(url).scheme not in ("http", "https"):
        return ExternalLink(
            obstacle=tr("The stack's TensorBoard address cannot be opened in a browser.")
        )
    return ExternalLink(url=url)


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


def _by_hand(run_ids: Sequence[str]) -> str:
    """The command that starts TensorBoard for these runs."""
    folders = [f"{RUNS_DIR}/{run_id}/tensorboard" for run_id in run_ids[:_MOST_IN_COMMAND]]
    if len(folders) == 1:
        return f"tensorboard --logdir {folders[0]}"
    named = ",".join(
        f"{run_id[-4:]}:{place}" for run_id, place in zip(run_ids, folders, strict=False)
    )
    return f"tensorboard --logdir_spec {named}"


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
