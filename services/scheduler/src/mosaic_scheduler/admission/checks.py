"""The checks of a run that is not a sweep, in the order in which wrong fields are listed."""

from collections.abc import Callable

from mosaic_scheduler.admission.check import Check
from mosaic_scheduler.admission.context import Context
from mosaic_scheduler.admission.fields import check_fields
from mosaic_scheduler.admission.nodes import check_nodes
from mosaic_scheduler.admission.provisions import (
    check_inputs,
    check_job_image,
    check_packages,
    check_restart,
    check_secrets,
    check_tracking,
    check_xmpp,
)
from mosaic_scheduler.admission.resources import (
    check_cores,
    check_device,
    check_internet,
    check_memory,
)
from mosaic_scheduler.admission.storage import check_storage_profile

RUN_CHECKS: tuple[Callable[[Context], list[Check]], ...] = (
    check_fields,
    check_device,
    check_memory,
    check_internet,
    check_secrets,
    check_tracking,
    check_xmpp,
    check_nodes,
    check_inputs,
    check_cores,
    check_packages,
    check_job_image,
    check_restart,
    check_storage_profile,
)
