"""`mosaic-pipe --make-worker FOLDER -- PROGRAM ARGS`: from a command line to a worker's two files."""

import json
import re
from pathlib import Path
from typing import Any

from mosaic_workerkit.pipe.errors import ProgramFileInvalid
from mosaic_workerkit.pipe.program import OF_THE_RUN, STEPS, read_program_file

_WITH_DEFAULT = re.compile(r"\{([a-z_][a-z0-9_]*)(?:=([^{}]*))?\}")
_NO_ID = re.compile(r"[^a-z0-9_]+")


def make_worker(folder: Path, words: list[str], around: Path) -> list[Path]:
    """Write worker.toml and program.toml; returns both.

    `{name=value}` in a word makes a parameter with that default, `{seed}`, `{steps}`, `{environment}` are the
    run's. Files that are named relative to `around` are named whole, for a run starts in a folder of its own.

    Raises:
        ProgramFileInvalid: a file is there already, or the command line makes no worker.
    """
    files = [folder / "worker.toml", folder / "program.toml"]
    present = [file for file in files if file.exists()]
    if present:
        raise ProgramFileInvalid(f"{present[0]} is there already; name another folder")
    name = _id(folder.resolve().name)
    found = [match for word in words for match in _WITH_DEFAULT.findall(word)]
    command = [_WITH_DEFAULT.sub(r"{\1}", _whole(word, around)) for word in words]
    folder.mkdir(parents=True, exist_ok=True)
    pipe = ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/program.toml"]
    head = f"id = {_toml(name)}\ntitle = {_toml(folder.resolve().name)}\n"
    files[0].write_text(f"{head}command = {_toml(pipe)}\n")
    files[1].write_text(
        f"{head}\n[algorithms.train]\ncommand = {_toml(command)}\n{_parameters(found)}"
    )
    try:
        read_program_file(files[1])
    except ProgramFileInvalid:
        for file in files:
            file.unlink()
        raise
    return files


def _parameters(found: list[tuple[str, str]]) -> str:
    steps = [value for name, value in found if name == STEPS and value]
    lines = [f"steps = {steps[0]}"] if steps else []
    defaults = {name: value for name, value in reversed(found) if name not in OF_THE_RUN}
    for name, text in reversed(defaults.items()):
        lines += ["", f"[algorithms.train.parameters.{name}]"]
        value = _value(text)
        lines.append(f"type = {_toml(_TYPES[type(value)])}")
        if text:
            lines.append(f"default = {_toml(value)}")
    return "\n".join([*lines, ""])


def _value(text: str) -> bool | int | float | str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _id(name: str) -> str:
    word = _NO_ID.sub("_", name.lower()).strip("_")[:38]
    return word if word[:1].isalpha() else f"w_{word}"


def _whole(word: str, around: Path) -> str:
    """The file that a word names, with its whole path."""
    if not word or word.startswith("-"):
        return word
    path = around / word
    return str(path.resolve()) if path.is_file() else word


def _toml(value: Any) -> str:
    # What JSON writes of these is TOML too, but for escapes beyond the first 65,536 characters.
    return json.dumps(value, ensure_ascii=False)


_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
