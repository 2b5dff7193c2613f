"""Manifests of runs: events, folder, and what belongs to a run and is no file."""

import asyncio
from collections import OrderedDict

from pydantic import ValidationError

from mosaic_contracts.manifest import FileReport, ManifestLink, RunManifest
from mosaic_contracts.manifest_words import LinkKind
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunView
from mosaic_contracts.services import ListRequest, RunRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import STUDY_FILE
from mosaic_contracts.tracking import TrackedRun
from mosaic_contracts.verbs import REPORT_FILES
from mosaic_gateway.history import History
from mosaic_gateway.manifests.compose import compose, with_report
from mosaic_gateway.manifests.look import FolderLook, look_at
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_store import NO_FILES, KnownFiles

_LOOKS = 2
"""Folders that are looked at in the same moment: the disk serves everybody."""
_KEPT_LOOKS = 16
_MAX_DASHBOARDS = 100
_UNFINISHED = [state.value for state in RunState if not state.is_final]


class Manifests:
    """Manifests of all runs."""

    def __init__(self, scheduler: SchedulerClient, runs: Runs, history: History) -> None:
        self._scheduler = scheduler
        self._runs = runs
        self._history = history
        self._turns = asyncio.Semaphore(_LOOKS)
        self._looked: OrderedDict[str, FolderLook] = OrderedDict()

    async def manifest(self, run_id: str) -> RunManifest:
        """The manifest of a run as it is now.

        A run that ended under an older version is looked at by the scheduler when its manifest is first asked for.

        Raises:
            ProblemError: `store_unavailable`.
        """
        run = await self._run(run_id)
        known = await self._history.read(lambda reader: reader.known_files(run_id), NO_FILES)
        if run is not None and run.state.is_final and known.reported_at is None:
            known = with_report(known, await self._report(run_id))
        has_ended = run is not None and run.state.is_final
        looked = await self._look(run_id, known, has_ended=has_ended)
        # Thousands of entries take too long for the event loop.
        manifest = await asyncio.to_thread(compose, run_id, known, looked.tree, looked.clips)
        manifest.links = [*_trackers(known), *await self._links(run_id, run)]
        return manifest

    async def _look(self, run_id: str, known: KnownFiles, *, has_ended: bool) -> FolderLook:
        """Look at the folder. One that took long answers for a while, so that no client keeps the disk busy."""
        folder = self._runs.folder(run_id)
        async with self._turns:
            before = self._looked.pop(run_id, None)
            if before is None or not before.is_fresh(has_ended=has_ended):
                before = await asyncio.to_thread(look_at, folder, known, has_ended=has_ended)
            self._looked[run_id] = before
            while len(self._looked) > _KEPT_LOOKS:
                self._looked.popitem(last=False)
        return before

    async def _run(self, run_id: str) -> RunView | None:
        """None: the scheduler is away and nothing else knows the run."""
        try:
            return await self._runs.get(run_id)
        except ProblemError:
            return None

    async def _report(self, run_id: str) -> FileReport | None:
        """None: the scheduler is away, or its look takes long; digests are left out then."""
        try:
            return await self._scheduler.call(REPORT_FILES, RunRequest(run_id=run_id))
        except ProblemError:
            return None

    async def _links(self, run_id: str, run: RunView | None) -> list[ManifestLink]:
        request = ListRequest(
            kinds=[RunKind.DASHBOARD.value], states=_UNFINISHED, limit=_MAX_DASHBOARDS
        )
        try:
            dashboards = (await self._scheduler.records(request)).runs
        except ProblemError:
            dashboards = []  # nobody knows which there are
        links = [
            ManifestLink(kind=LinkKind.DASHBOARD, run_id=each.run_id)
            for each in dashboards
            if each.spec.dashboard is not None and run_id in each.spec.dashboard.run_ids
        ]
        sweep = await self._sweep(run)
        if sweep is not None:
            links.append(ManifestLink(kind=LinkKind.STUDY, run_id=sweep, path=STUDY_FILE))
        return links

    async def _sweep(self, run: RunView | None) -> str | None:
        """Id of the sweep that the run is, or is a trial of."""
        if run is None or run.spec.kind is RunKind.SWEEP:
            return None if run is None else run.run_id
        parent = None if run.spec.parent is None else await self._run(run.spec.parent)
        return parent.run_id if parent is not None and parent.spec.kind is RunKind.SWEEP else None


def _trackers(known: KnownFiles) -> list[ManifestLink]:
    """The run at its trackers; what a worker recorded and is no `TrackedRun` names none."""
    links = []
    for data in known.tracked:
        try:
            tracked = TrackedRun.model_validate(data)
        except ValidationError:
            continue
        links.append(ManifestLink(kind=LinkKind.TRACKER, tracked=tracked))
    return links
