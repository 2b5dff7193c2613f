"""Whether the storage profile that a run names exists."""

from mosaic_contracts.problems import ProblemCode
from mosaic_scheduler.admission.check import Check, unknown
from mosaic_scheduler.admission.context import Context


def check_storage_profile(context: Context) -> list[Check]:
    """A profile that is not in `storage_profiles.yaml` is refused: its files would be treated as nobody meant."""
    name = context.spec.storage_profile
    if name is None or name in context.storage_profiles:
        return []
    known = list(context.storage_profiles)
    return [unknown("storage_profile", name, known, ProblemCode.SPEC_INVALID)]
