"""Reads an offline run of W&B from its transaction log."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_base.wandb_log import LogUnreadable, read_records
from mosaic_cli.foreign import values
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.files import files_below
from mosaic_cli.foreign.protobuf import fields
from mosaic_client.archive.foreign import ForeignEvent, ForeignPoint, ForeignRun
from mosaic_contracts.runs import RunEnd
from mosaic_contracts.states import EndCause, RunState

PROGRAM = "wandb"
LOG_SUFFIX = ".wandb"
_HISTORY, _CONFIG, _RUN, _EXIT = 2, 5, 17, 18
_MAX_T = 2**36
_OWN = "_"
"""Beginning of the keys that wandb adds to a row."""
_TIME, _STEP, _ENVIRONMENT_STEP = "_timestamp", "_step", "global_step"


@dataclass
class _Facts:
    """What the log says of the run."""

    run_id: str = ""
    project: str = ""
    entity: str = ""
    group: str = ""
    name: str = ""
    notes: str = ""
    tags: list[str] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    started_at: float | None = None
    last_at: float | None = None
    step: int | None = None
    points: int = 0
    left_out: set[str] = field(default_factory=set)
    exit_code: int | None = None


def read_wandb_run(log: Path) -> ForeignRun:
    """Read a run.

    Args:
        log: its `.wandb` file; the other files next to it come along.

    Raises:
        ForeignInvalid: it is no such log, or has no run.
        OSError: it cannot be read.
    """
    facts = _Facts()
    for message in _messages(log):
        _note(facts, message)
    if not facts.run_id:
        raise ForeignInvalid(f"{log} names no run: its program was killed before it began")
    started = facts.started_at if facts.started_at is not None else facts.last_at or 0.0
    if not (0 <= started < _MAX_T and 0 <= (facts.last_at or 0.0) < _MAX_T):
        raise ForeignInvalid(f"{log} has a time that cannot be")
    config = {name: value for name, value in facts.config.items() if not name.startswith(_OWN)}
    state, end = _end(facts)
    folder = f"wandb/{log.parent.name}"
    return ForeignRun(
        program=PROGRAM,
        identity=f"{facts.entity}/{facts.project}/{facts.run_id}/{started}".encode(),
        name=values.name(facts.name or facts.run_id),
        started_at=started,
        ended_at=max(started, facts.last_at or started),
        state=state,
        end=end,
        events=lambda: _points(log),
        origin={
            "id": facts.run_id,
            "project": facts.project,
            "entity": facts.entity,
            "group": facts.group,
            "tags": facts.tags,
            "folder": log.parent.name,
        },
        parameters=values.flattened(config),
        step=facts.step,
        tags=values.tags([*facts.tags, *([facts.group] if facts.group else [])]),
        note=values.note(facts.notes),
        files=files_below(log.parent, folder, "wandb"),
        remarks=_remarks(facts),
    )


def _end(facts: _Facts) -> tuple[RunState, RunEnd]:
    origin = (
        f"Imported from an offline run of W&B, {facts.project or 'uncategorized'}/{facts.run_id}."
    )
    if facts.exit_code is None:
        message = f"{origin} Its log has no end: its process was killed, or it still runs."
        return RunState.INTERRUPTED, RunEnd(cause=EndCause.INTERRUPTED, message=message)
    if facts.exit_code:
        message = f"{origin} It ended with exit code {facts.exit_code}."
        cause = RunEnd(cause=EndCause.EXIT_CODE, message=message, exit_code=facts.exit_code)
        return RunState.FAILED, cause
    return RunState.SUCCEEDED, RunEnd(cause=EndCause.COMPLETED, message=origin, exit_code=0)


def _remarks(facts: _Facts) -> list[str]:
    if not facts.left_out:
        return []
    names = ", ".join(sorted(facts.left_out)[:5])
    return [f"Values that are no numbers were not imported: {names}. They are in the files of W&B."]


def _messages(log: Path) -> Iterator[bytes]:
    try:
        yield from read_records(log)
    except LogUnreadable as error:
        raise ForeignInvalid(f"{log}: {error}") from error


def _note(facts: _Facts, message: bytes) -> None:
    for record in fields(message):
        if record.number == _RUN:
            _note_run(facts, record.data)
        elif record.number == _CONFIG:
            _note_config(facts, record.data)
        elif record.number == _EXIT:
            facts.exit_code = 0
            for each in fields(record.data):
                if each.number == 1:
                    facts.exit_code = each.number64
        elif record.number == _HISTORY:
            _note_row(facts, _row(record.data))


def _note_run(facts: _Facts, message: bytes) -> None:
    facts.tags = []
    for each in fields(message):
        match each.number:
            case 1:
                facts.run_id = each.text
            case 2:
                facts.entity = each.text
            case 3:
                facts.project = each.text
            case 4:
                _note_config(facts, each.data)
            case 6:
                facts.group = each.text
            case 8:
                facts.name = each.text
            case 9:
                facts.notes = each.text
            case 10:
                facts.tags.append(each.text)
            case 17:
                facts.started_at = _timestamp(each.data)


def _timestamp(message: bytes) -> float:
    found = {each.number: each.number64 for each in fields(message)}
    return found.get(1, 0) + found.get(2, 0) / 1e9


def _note_config(facts: _Facts, message: bytes) -> None:
    for each in fields(message):
        if each.number == 1:
            path, value = _item(each.data)
            place = facts.config
            for name in path[:-1]:
                below = place.setdefault(name, {})
                place = below if isinstance(below, dict) else {}
            if path:
                place[path[-1]] = value


def _note_row(facts: _Facts, row: dict[str, Any]) -> None:
    t = _number(row.get(_TIME))
    if t is not None:
        facts.started_at = t if facts.started_at is None else facts.started_at
        facts.last_at = t if facts.last_at is None else max(t, facts.last_at)
    step = _step(row)
    if step is not None:
        facts.step = step if facts.step is None else max(step, facts.step)
    for name, value in row.items():
        if _number(value) is not None:
            facts.points += 1
        elif not name.startswith(_OWN):
            facts.left_out.add(name)


def _points(log: Path) -> Iterator[ForeignEvent]:
    last = 0.0
    for message in _messages(log):
        for record in fields(message):
            if record.number != _HISTORY:
                continue
            row = _row(record.data)
            last = t = _number(row.get(_TIME)) or last
            step = _step(row)
            for name, value in row.items():
                number = _number(value)
                if number is not None and not name.startswith(_OWN):
                    yield ForeignPoint(t, name, step, number)


def _row(message: bytes) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for each in fields(message):
        if each.number == 1:
            path, value = _item(each.data)
            _flatten(row, ".".join(path), value)
        elif each.number == 2:
            for part in fields(each.data):
                if part.number == 1:
                    row[_STEP] = part.number64
    return row


def _flatten(row: dict[str, Any], name: str, value: object) -> None:
    if isinstance(value, dict) and "_type" not in value:
        for below, one in value.items():
            _flatten(row, f"{name}.{below}", one)
    else:
        row[name] = value


def _item(message: bytes) -> tuple[list[str], Any]:
    """Name and value of an item of a row or of a configuration; older versions write each value as JSON."""
    key, nested = "", []
    value: Any = None
    for each in fields(message):
        match each.number:
            case 1:
                key = each.text
            case 2:
                nested.append(each.text)
            case 4:
                value = bool(each.varint)
            case 5:
                value = each.number64
            case 6:
                value = each.real
            case 7:
                value = each.text
            case 8 | 16:
                value = _json(each.text)
    return nested or [key], value


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ForeignInvalid(f"a value is no JSON: {text[:40]!r}") from error


def _step(row: dict[str, Any]) -> int | None:
    """The environment's steps where the script logs them, else the number of the row."""
    for name in (_ENVIRONMENT_STEP, _STEP):
        number = _number(row.get(name))
        if number is not None and number == number // 1:
            return int(number)
    return None


def _number(value: object) -> float | None:
    if isinstance(value, str) and value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else None  # type: ignore[arg-type] # it is a number
