"""Parameters of a run's tracking by W&B: the script's own, and those that this worker adds to them."""

from typing import Any

from mosaic_contracts.tracking import WANDB_SERVER, X_TRACKING, TrackingRole

TRACK, PROJECT, ENTITY = "track", "wandb_project_name", "wandb_entity"
SCRIPT_ROLES = {
    TRACK: TrackingRole.TRACK,
    PROJECT: TrackingRole.PROJECT,
    ENTITY: TrackingRole.ENTITY,
}
"""The script's own arguments that steer a tracker."""
MODE, SERVER, REQUIRED = "wandb_mode", "wandb_base_url", "wandb_required"
NAME, GROUP, TAGS, NOTES = "wandb_name", "wandb_group", "wandb_tags", "wandb_notes"
HTTP_PROXY, HTTPS_PROXY = "wandb_http_proxy", "wandb_https_proxy"


def _text(role: TrackingRole, title: str, description: str, **more: Any) -> dict[str, Any]:
    return {
        "type": ["string", "null"],
        "default": None,
        "title": title,
        "description": description,
        "x-group": "run",
        X_TRACKING: role.value,
        **more,
    }


TRACKING_PARAMETERS: dict[str, dict[str, Any]] = {
    MODE: {
        "type": "string",
        "default": "online",
        "enum": ["online", "offline"],
        "title": "W&B mode",
        "description": "online sends the run while it trains: it needs the secret WANDB_API_KEY and `internet`. "
        "offline writes into the run's folder only, to send later",
        "x-group": "run",
        X_TRACKING: TrackingRole.MODE.value,
    },
    GROUP: _text(TrackingRole.GROUP, "W&B group", "Group of runs that W&B shows together"),
    NAME: _text(
        TrackingRole.NAME, "W&B run name", "Name of the run at W&B; empty: the script's own name"
    ),
    TAGS: _text(TrackingRole.TAGS, "W&B tags", "Tags with commas between them"),
    NOTES: _text(TrackingRole.NOTES, "W&B notes", "Description of the run at W&B"),
    SERVER: _text(
        TrackingRole.BASE_URL,
        "W&B server",
        f"Address of a W&B server of your own; empty: the stack's (MOSAIC_WANDB_BASE_URL), else {WANDB_SERVER}",
        pattern=r"^https?://[^/@\s]+(/[^@\s]*)?$",
    ),
    HTTP_PROXY: _text(
        TrackingRole.HTTP_PROXY,
        "HTTP proxy",
        "http://HOST:PORT by which this run reaches http addresses; empty: the stack's (MOSAIC_HTTP_PROXY)",
    ),
    HTTPS_PROXY: _text(
        TrackingRole.HTTPS_PROXY,
        "HTTPS proxy",
        "http://HOST:PORT by which this run reaches https addresses; empty: the stack's (MOSAIC_HTTPS_PROXY)",
    ),
    REQUIRED: {
        "type": "boolean",
        "default": False,
        "title": "W&B is required",
        "description": "Fail the run when W&B does not take it at its start. Otherwise the training goes on, and W&B's "
        "files are kept to send later",
        "x-group": "run",
        X_TRACKING: TrackingRole.REQUIRED.value,
    },
}
"""This worker's own: no script has them."""
