"""Makes runs of folders with TensorBoard event files: each folder that has some is a run, as in TensorBoard itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_cli.foreign import values
from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.event_file import SummaryValue, read_event_file
from mosaic_cli.foreign.protobuf import fields
from mosaic_client.archive.foreign import (
    ForeignEvent,
    ForeignFile,
    ForeignPoint,
    ForeignRun,
    ForeignText,
)
from mosaic_contracts.runs import RunEnd
from mosaic_contracts.spec import ParameterValue
from mosaic_contracts.states import EndCause, RunState

PROGRAM = "tensorboard"
_HPARAMS, _TEXT = "hparams", "text"
_FILES = "tensorboard"
"""Where event files are in the run's folder."""
_TEXT_ENDING = "/text_summary"
_SESSION_START, _SESSION_END = 3, 4
_SUCCESS, _FAILURE = 1, 2
_LONGEST_T = 2**36


@dataclass
class _Folder:
    """What the event files of one folder have."""

    path: Path
    files: list[Path]
    identity: bytes = b""
    started_at: float | None = None
    ended_at: float = 0.0
    step: int | None = None
    events: int = 0
    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    has_session: bool = False
    failed: bool = False
    others: set[str] = field(default_factory=set)
    """Tags of pictures, histograms and the like."""
    below: "list[_Folder]" = field(default_factory=list)
    """Folders that torch's `add_hparams` made for this one."""


def read_tensorboard_runs(root: Path, folders: dict[Path, list[Path]]) -> list[ForeignRun]:
    """Read runs.

    Args:
        root: the folder that the user named; names of runs are relative to it.
        folders: event files by folder.

    Raises:
        ForeignInvalid: a file is no event file, or was damaged.
        OSError: a file cannot be read.
    """
    found = {path: _scan(path, files) for path, files in sorted(folders.items())}
    for path, folder in found.items():
        above = found.get(path.parent)
        if folder.has_session and above is not None and not above.has_session:
            above.below.append(folder)
    inner = {each.path for folder in found.values() for each in folder.below}
    outer = [folder for path, folder in found.items() if path not in inner]
    return [_run(root, folder) for folder in outer if folder.events or folder.below]


def _scan(path: Path, files: list[Path]) -> _Folder:
    folder = _Folder(path, sorted(files))
    for file in folder.files:
        is_first = True
        for event in read_event_file(file):
            if not 0 <= event.t < _LONGEST_T:
                raise ForeignInvalid(f"{file}: {event.t} is no time of an event")
            if is_first:
                folder.identity += f"{file.name}\0{event.t!r}\0".encode()
                is_first = False
            first = event.t if folder.started_at is None else folder.started_at
            folder.started_at = min(first, event.t)
            folder.ended_at = max(folder.ended_at, event.t)
            for value in event.values:
                _note(folder, event.step, value)
    return folder


def _note(folder: _Folder, step: int, value: SummaryValue) -> None:
    if value.plugin == _HPARAMS:
        _note_hparams(folder, value.content)
    elif value.texts:
        folder.events += len(value.texts)
        folder.parameters |= values.table_parameters(value.texts[0])
    elif value.scalar is not None:
        folder.events += 1
        folder.step = step if folder.step is None else max(folder.step, step)
    else:
        folder.others.add(value.tag)


def _note_hparams(folder: _Folder, content: bytes) -> None:
    """Take hyperparameters and status of what the plugin keeps (`HParamsPluginData`)."""
    for each in fields(content):
        if each.number == _SESSION_START:
            folder.has_session = True
            for part in fields(each.data):
                if part.number == 1:
                    name, value = _hparam(part.data)
                    folder.parameters[name] = value
        elif each.number == _SESSION_END:
            status = [part.varint for part in fields(each.data) if part.number == 1]
            folder.failed = status == [_FAILURE]


def _hparam(entry: bytes) -> tuple[str, ParameterValue]:
    name, value = "", None
    for each in fields(entry):
        if each.number == 1:
            name = each.text
        elif each.number == 2:
            value = _hparam_value(each.data)
    return name, value


def _hparam_value(message: bytes) -> ParameterValue:
    for each in fields(message):
        if each.number == 2:
            number = each.real
            return int(number) if number == number // 1 else values.parameter(number)
        if each.number == 3:
            return each.text
        if each.number == 4:
            return bool(each.varint)
    return None


def _run(root: Path, folder: _Folder) -> ForeignRun:
    parts = [folder, *folder.below]
    started = min(part.started_at or 0.0 for part in parts)
    steps = [part.step for part in parts if part.step is not None]
    is_root = folder.path == root
    label = folder.path.absolute().name if is_root else folder.path.relative_to(root).as_posix()
    parameters: dict[str, ParameterValue] = {}
    for part in parts:
        parameters |= part.parameters
    failed = any(part.failed for part in parts)
    origin = f"Imported from TensorBoard files of {label}."
    end = (
        RunEnd(cause=EndCause.EXIT_CODE, message=f"{origin} They say that it failed.")
        if failed
        else RunEnd(cause=EndCause.COMPLETED, message=f"{origin} They do not say how it ended.")
    )
    return ForeignRun(
        program=PROGRAM,
        identity=folder.identity,
        name=values.name(label),
        started_at=started,
        ended_at=max(part.ended_at for part in parts),
        state=RunState.FAILED if failed else RunState.SUCCEEDED,
        end=end,
        events=lambda: _events(parts),
        origin={"folder": label, "files": len([file for part in parts for file in part.files])},
        parameters=parameters,
        step=max(steps, default=None),
        files=[
            ForeignFile(f"{_FILES}/{_inner(folder, file)}", file, "tensorboard")
            for part in parts
            for file in part.files
        ],
        event_folder=_FILES,
        remarks=_remarks(parts),
    )


def _inner(folder: _Folder, file: Path) -> str:
    return file.relative_to(folder.path).as_posix()


def _remarks(parts: Sequence[_Folder]) -> list[str]:
    others = sorted({tag for part in parts for tag in part.others if tag})
    if not others:
        return []
    names = ", ".join(others[:5])
    return [f"Pictures, histograms and the like are in the TensorBoard files alone: {names}."]


def _events(parts: Sequence[_Folder]) -> Iterator[ForeignEvent]:
    for part in parts:
        for file in part.files:
            for event in read_event_file(file):
                for value in event.values:
                    if value.plugin == _HPARAMS:
                        continue
                    for text in value.texts:
                        tag = value.tag.removesuffix(_TEXT_ENDING)
                        yield ForeignText(event.t, tag, event.step, text)
                    if value.scalar is not None and not value.texts:
                        yield ForeignPoint(event.t, value.tag, event.step, value.scalar)
