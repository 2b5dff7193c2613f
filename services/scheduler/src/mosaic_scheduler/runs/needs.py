"""Why a run should not be deleted: what other runs need of it."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState

_MOST_NAMED = 5
_PARENT = "parent"


def reasons_against_deletion(connection: sqlite3.Connection, record: RunRecord) -> list[str]:
    """Why a run should stay, in words, each with the run that needs it; those that are deleted need nothing."""
    reasons = ["it is pinned (`./mosaic unpin` changes that)"] if record.pinned else []
    reasons += [
        f"its {path} is pinned (`./mosaic unpin {record.run_id} --checkpoint {path}` changes that)"
        for path in record.pinned_files[:_MOST_NAMED]
    ]
    found = list(_needs(connection, record.run_id))
    more = len(found) - _MOST_NAMED
    return [*reasons, *found[:_MOST_NAMED], *([f"{more} more runs need it"] if more > 0 else [])]


def _needs(connection: sqlite3.Connection, run_id: str) -> Iterator[str]:
    rows = connection.execute(
        "SELECT record FROM runs WHERE run_id != ?1 AND instr(record, ?1)"
        " AND json_extract(record, '$.deleted_at') IS NULL ORDER BY run_id DESC",
        (run_id,),
    )
    for (text,) in rows:
        other = json.loads(text)
        need = need_of(other, run_id)
        if need is not None:
            yield f"run {other['run_id']} ({other['name']}) {need}"


def need_of(other: Mapping[str, Any], run_id: str) -> str | None:
    """What another run needs a run for, in words; None: it does not. `other`: its record."""
    spec = other["spec"]
    is_live = not RunState(other["state"]).is_final
    kind = RunKind(spec.get("kind", RunKind.TRAIN))
    if is_live and other.get("trial") and spec.get(_PARENT) == run_id:
        return "is a trial of it and has not ended"
    path = _checkpoint_of(spec, run_id)
    if path is not None and is_live:
        return f"uses its {path} and has not ended"
    if path is not None and not kind.plays and not kind.is_derived:
        return f"began with its {path} and could not be started again"
    start = spec.get("start_from") or {}
    if start.get("run_id") == run_id:
        return f"begins at a step of its episode {start.get('episode')} and could not be replayed"
    if is_live and _is_named(spec, run_id):
        return f"uses it and has not ended ({kind})"
    return None


def _checkpoint_of(spec: Mapping[str, Any], run_id: str) -> str | None:
    """Path of the run's checkpoint that a parameter names."""
    for value in (spec.get("parameters") or {}).values():
        if isinstance(value, str) and value.startswith(f"{run_id}/"):
            return value.partition("/")[2]
    return None


def _is_named(spec: Mapping[str, Any], run_id: str) -> bool:
    """Whether the spec names the run, other than as the one that it was copied from."""
    return run_id in json.dumps({name: value for name, value in spec.items() if name != _PARENT})
