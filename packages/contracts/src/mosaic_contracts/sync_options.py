"""Options of a sync, as callers name them."""

from typing import TypedDict


class SyncOptions(TypedDict, total=False):
    """Fields of `mosaic_contracts.syncs.SyncRequest` without the consent."""

    project: str | None
    entity: str | None
    group: str | None
    checkpoints: bool
    videos: bool
    address: str | None
    http_proxy: str
    https_proxy: str
    again: bool
