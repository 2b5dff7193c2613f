"""Leaves out of W&B folders the rows that W&B has already.

`wandb sync` appends rows behind those that the server has. So a sync that was killed and starts again would double
them; the server is asked how many it has, and these are left out of the copies that are sent.
"""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from mosaic_base.wandb_log import LogUnreadable, read_records, write_records
from mosaic_contracts.sync_source import SyncSource
from mosaic_workerkit.errors import RunRefused

_TIMEOUT_S = 30.0
_QUERY = """query RunResumeStatus($project: String, $entity: String, $name: String!) {
  model(name: $project, entityName: $entity) {
    bucket(name: $name, missingOk: true) { historyLineCount }
  }
}"""


def leave_out_sent(source: SyncSource, folder: Path, key: str) -> int:
    """Rewrite the `.wandb` file of a folder: its whole records, without the rows that W&B has.

    Args:
        source: where the run is sent to.
        folder: with one `.wandb` file, a copy.
        key: API key.

    Returns:
        Number of rows that were left out.

    Raises:
        LogUnreadable: the file cannot be read, or its run was killed before it began.
        RunRefused: W&B does not answer, or refuses the key.
    """
    path = next(folder.glob("*.wandb"))
    run = _run_of(path)
    if run is None:
        raise LogUnreadable(f"{path.name} holds no run: it was killed before it began")
    project, entity, name = run
    rows = _rows_sent(source, source.project or project, source.entity or entity, name, key)
    rest = path.with_suffix(".rest")
    write_records(rest, _without_rows(read_records(path), rows))
    rest.replace(path)
    return rows


def _run_of(path: Path) -> tuple[str, str, str] | None:
    """Project, entity and id of the W&B run in a file."""
    from wandb.proto.wandb_internal_pb2 import Record

    for data in read_records(path):
        record = Record.FromString(data)
        if record.WhichOneof("record_type") == "run":
            return record.run.project, record.run.entity, record.run.run_id
    return None


def _without_rows(records: Iterable[bytes], count: int) -> Iterator[bytes]:
    from wandb.proto.wandb_internal_pb2 import Record

    for data in records:
        if count and Record.FromString(data).WhichOneof("record_type") == "history":
            count -= 1
        else:
            yield data


def _rows_sent(source: SyncSource, project: str, entity: str, name: str, key: str) -> int:
    """Number of rows that W&B has of a run; 0: it does not know the run."""
    variables = {"project": project or None, "entity": entity or None, "name": name}
    body = {"query": _QUERY, "operationName": "RunResumeStatus", "variables": variables}
    request = urllib.request.Request(
        source.address.rstrip("/") + "/graphql",
        data=json.dumps(body).encode(),
        headers={
            "Content-Type": "application/json",
            "Authorization": "Basic " + base64.b64encode(f"api:{key}".encode()).decode(),
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            found: dict[str, Any] = json.loads(answer.read())
    except urllib.error.HTTPError as error:
        why = (
            "does not accept the key; set WANDB_API_KEY again"
            if error.code in (401, 403)
            else f"answered HTTP {error.code}"
        )
        raise RunRefused(f"W&B at {source.address} {why}. Nothing was sent.") from error
    except (OSError, ValueError) as error:
        raise RunRefused(
            f"W&B at {source.address} cannot be asked: {error}. Nothing was sent."
        ) from error
    model = (found.get("data") or {}).get("model") or {}
    return int((model.get("bucket") or {}).get("historyLineCount") or 0)
