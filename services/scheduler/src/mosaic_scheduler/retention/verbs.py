"""The verbs of storage: what the disks hold, what would go, removing it and bringing it back."""

from datetime import UTC, datetime
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mosaic_contracts.storage_reports import (
    PruneOrder,
    PrunePlan,
    PruneRequest,
    PruneResult,
    StorageProfileList,
    StorageQuery,
    StorageReport,
    UndoOrder,
    UndoRequest,
    UndoResult,
)
from mosaic_scheduler import problem
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_servicekit.bus import Verb

ModelT = TypeVar("ModelT", bound=BaseModel)


class StorageVerbs:
    """Answers requests on storage."""

    def __init__(self, profiles: ProfileFile) -> None:
        self._profiles = profiles

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "storage": (StorageQuery, self.storage),
            "plan_prune": (PruneOrder, self.plan),
            "prune": (PruneOrder, self.prune),
            "undo_prune": (UndoOrder, self.undo),
            "storage_profiles": (None, self.profiles),
        }

    async def storage(self, query: StorageQuery) -> StorageReport:
        """What the stack has on its disks."""
        return StorageReport(checked_at=datetime.now(UTC))

    async def plan(self, order: PruneOrder) -> PrunePlan:
        """What would go now."""
        _validated(PruneRequest, order.asked, "request")
        return PrunePlan(items=[], planned_at=datetime.now(UTC))

    async def prune(self, order: PruneOrder) -> PruneResult:
        """Remove what the plan says, in one bounded step."""
        _validated(PruneRequest, order.asked, "request")
        return PruneResult()

    async def undo(self, order: UndoOrder) -> UndoResult:
        """Bring removed files back."""
        _validated(UndoRequest, order.asked, "request")
        return UndoResult()

    async def profiles(self) -> StorageProfileList:
        """Profiles as they are in force."""
        return self._profiles.report()


def _validated(model: type[ModelT], asked: dict[str, Any], what: str) -> ModelT:
    try:
        return model.model_validate(asked)
    except ValidationError as error:
        raise problem.request_invalid(what, error) from error
