"""What a run of kind `sync` sends to W&B, as its spec names it."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import UserModel

DEFAULT_PROJECT = "mosaic"
"""Project at W&B of a run that names none."""
WANDB_NAME_PATTERN = r"^[A-Za-z0-9_.-]{1,128}$"

SyncWay = Literal["folder", "store"]
"""`folder`: the run's own W&B folders; `store`: metrics, checkpoints and videos of a run that did not use W&B."""


class SyncSource(UserModel):
    """What a run of kind `sync` sends, and where to."""

    run_id: RunIdField
    way: SyncWay
    address: str
    """Address of the W&B server."""
    project: Annotated[str, StringConstraints(pattern=WANDB_NAME_PATTERN)] | None = None
    """None: as the run's own W&B folder says."""
    entity: Annotated[str, StringConstraints(pattern=WANDB_NAME_PATTERN)] | None = None
    group: str | None = None
    checkpoints: bool = True
    videos: bool = True
    http_proxy: str = ""
    """Empty: the stack's."""
    https_proxy: str = ""
