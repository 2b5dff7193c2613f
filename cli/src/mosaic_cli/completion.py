"""What a shell may complete beside verbs and options: runs, workers. Cheap and silent, for it answers a key press."""

import tomllib
from itertools import chain
from pathlib import Path

from mosaic_cli.place import is_elsewhere
from mosaic_cli.stack.layout import Layout
from mosaic_client import ClientError, connect

COMPLETE_VARIABLE = "_MOSAIC_COMPLETE"
"""Set by the shell's function: `complete_bash`, with COMP_WORDS and COMP_CWORD."""
_OFFERED = 50


def complete_run(incomplete: str) -> list[str]:
    """`last` and the newest runs' ids; only `last` when no stack answers."""
    try:
        with connect() as client:
            ids = [run.run_id for run in client.runs(limit=_OFFERED).runs]
    except ClientError:
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
    try:
        found = tomllib.loads(file.read_text("utf-8")).get("id")
    except (OSError, ValueError):
        return None
    return found if isinstance(found, str) else None
