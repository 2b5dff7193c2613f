"""What is asked about and done with groups as they are: list, stop, delete, restore. A sweep is a group, too."""

from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.groups import GroupView
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    GroupDeleteRequest,
    GroupListRequest,
    GroupRequest,
    GroupViews,
    RunRequest,
)
from mosaic_contracts.states import RunState
from mosaic_scheduler import problem
from mosaic_scheduler.admission.groups import RunGroups
from mosaic_scheduler.api.deletion import RunDeletion
from mosaic_scheduler.api.runs import RunQueries
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Verb

MAX_PAGE = 200


class GroupVerbs:
    """The verbs `groups`, `get_group`, `stop_group`, `delete_group` and `restore_group`."""

    def __init__(
        self, store: RunStore, groups: RunGroups, queries: RunQueries, deletion: RunDeletion
    ) -> None:
        self._store = store
        self._groups = groups
        self._queries = queries
        self._deletion = deletion

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "groups": (GroupListRequest, self.list_groups),
            "get_group": (GroupRequest, self.get),
            "stop_group": (GroupRequest, self.stop),
            "delete_group": (GroupDeleteRequest, self.delete),
            "restore_group": (GroupRequest, self.restore),
        }

    async def list_groups(self, request: GroupListRequest) -> GroupViews:
        """Groups and sweeps, newest first."""
        limit = max(1, min(request.limit, MAX_PAGE))
        groups, cursor = await self._store.groups(request.before, limit)
        return GroupViews(groups=groups, next_cursor=cursor)

    async def get(self, request: GroupRequest) -> GroupView:
        """One group."""
        return await self._groups.require(request.group_id)

    async def stop(self, request: GroupRequest) -> GroupView:
        """Ask all runs of a group to stop: those that wait first, so that none of them starts meanwhile."""
        view = await self._groups.require(request.group_id)
        if view.kind is GroupKind.SWEEP:  # it stops its trials itself
            await self._queries.stop(RunRequest(run_id=view.group_id))
            return await self._groups.require(view.group_id)
        runs = await self._store.runs_of_group(view.group_id)
        waiting_first = sorted(runs, key=lambda run: run.state is not RunState.QUEUED)
        for run in waiting_first:
            if not run.state.is_final:
                await self._queries.stop(RunRequest(run_id=run.run_id))
        return await self._groups.require(view.group_id)

    async def delete(self, request: GroupDeleteRequest) -> GroupView:
        """Delete all runs of a group. Refused while one of them has not ended: then none is."""
        view = await self._groups.require(request.group_id)
        runs = await self._all_runs(view)
        live = next((run for run in runs if not run.state.is_final), None)
        if live is not None:
            raise problem.group_live(view.group_id, live.run_id, live.state)
        ids = [run.run_id for run in runs]
        await self._deletion.delete_all(ids, now=request.now, force=request.force)
        return view.model_copy(update={"deleted": True})

    async def restore(self, request: GroupRequest) -> GroupView:
        """Restore the runs of a group that are deleted."""
        view = await self._groups.require(request.group_id)
        runs = await self._all_runs(view)
        await self._deletion.restore_all([run.run_id for run in runs if run.deleted_at is not None])
        return await self._groups.require(view.group_id)

    async def _all_runs(self, view: GroupView) -> list[RunRecord]:
        """Runs of a group, those that were tried again and the run of a sweep included."""
        ids = await self._store.ids_of_group(view.group_id)
        own = [view.group_id] if view.kind is GroupKind.SWEEP else []
        return [await self._store.require(run_id) for run_id in (*ids, *own)]
