"""What a shell may complete besides verbs and options: runs, workers. Fast and silent, for it answers a key press."""

from itertools import chain
from pathlib import Path

from mosaic_cli.stack.layout import Layout
from mosaic_cli.target import is_elsewhere
from mosaic_client.call import Call
from mosaic_client.errors import ClientError
from mosaic_client.location import find_stack
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts import http_api

_OFFERED = 50
_PATIENCE_S = 2.0


def complete_run(incomplete: str) -> list[str]:
    """`last` and the newest runs' ids; only `last` when no stack answers."""
    asked = Call(
        "GET",
        http_api.RUNS.path,
        lambda answer: answer.json(),
        {"limit": _OFFERED},
        timeout_s=_PATIENCE_S,
    )
    try:
        with StackConnection(find_stack(), patience_s=0) as stack:
            ids = [run["run_id"] for run in stack.send(asked)["runs"]]
    except (ClientError, LookupError, TypeError):
        ids = []
    return [one for one in ("last", *ids) if one.startswith((incomplete, incomplete.upper()))]


def complete_worker(incomplete: str) -> list[str]:
    """Ids of the workers whose manifests lie here; a stack elsewhere is not asked, as that may take long."""
    if is_elsewhere():
        return []
    layout = Layout.of_environment()
    files = chain(
        (layout.root / "services").glob("worker_*/worker.toml"),
        (layout.home / "workers.d").glob("*.toml"),
        (layout.home / "workers.d").glob("*/worker.toml"),
    )
    ids = {worker for file in files if (worker := _worker_id(file)) is not None}
    return sorted(one for one in ids if one.startswith(incomplete))


def _worker_id(file: Path) -> str | None:
    import tomllib  # for this one completion only

    try:
        found = tomllib.loads(file.read_text("utf-8")).get("id")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, str) and found.isprintable() else None
