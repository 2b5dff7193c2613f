"""`mosaic-pipe --make-worker FOLDER -- PROGRAM ARGS`: from a command line to a worker's two files."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic_workerkit.pipe.errors import ProgramFileInvalid
from mosaic_workerkit.pipe.program import (
    OF_THE_RUN,
    STEPS,
    WHEN_FALSE,
    WHEN_TRUE,
    read_program_file,
)

_WITH_DEFAULT = re.compile(r"\{([a-z_][a-z0-9_]*)(?:=([^{}]*))?\}")
_SWITCH = re.compile(r"\{(--?[A-Za-z][\w-]*)(?:/(--?[A-Za-z][\w-]*))?(?:=(true|false))?\}")
"""`{--cuda}`, `{--clip/--no-clip}`, `{--clip/--no-clip=true}`: a boolean parameter that is a word of its own."""
_NO_ID = re.compile(r"[^a-z0-9_]+")


def make_worker(folder: Path, words: list[str], around: Path) -> list[Path]:
    """Write worker.toml and program.toml; returns both.

    `{name=value}` in a word makes a parameter with that default; `{--name/--no-name=true}` makes a boolean one whose
    words these are. `{seed}`, `{steps}`, `{environment}` are the run's. Files that are named relative to `around` get
    their whole path, because a run starts in its own folder. Links are kept: the `python` of a virtual environment is
    a link, and its target does not have the packages.

    Raises:
        ProgramFileInvalid: a file is there already, or the command line makes no worker.
    """
    files = [folder / "worker.toml", folder / "program.toml"]
    present = [file for file in files if file.exists()]
    if present:
        raise ProgramFileInvalid(f"{present[0]} is there already; name another folder")
    name = _id(folder.resolve().name)
    found = [match for word in words for match in _WITH_DEFAULT.findall(word)]
    switches = {_name(match): match for match in map(_SWITCH.fullmatch, words) if match}
    program = _program_of_environment(words[0], os.environ) or words[0]
    command = [_templated(_whole(word, around)) for word in [program, *words[1:]]]
    folder.mkdir(parents=True, exist_ok=True)
    pipe = ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/program.toml"]
    head = f"id = {_toml(name)}\ntitle = {_toml(folder.resolve().name)}\n"
    files[0].write_text(f"{head}command = {_toml(pipe)}\n")
    files[1].write_text(
        f"{head}\n[algorithms.train]\ncommand = {_toml(command)}\n{_parameters(found)}"
        f"{_switches(switches)}"
    )
    try:
        read_program_file(files[1])
    except ProgramFileInvalid:
        for file in files:
            file.unlink()
        raise
    return files


def _templated(word: str) -> str:
    """The word as program.toml has it: names only."""
    switch = _SWITCH.fullmatch(word)
    return f"{{{_name(switch)}}}" if switch else _WITH_DEFAULT.sub(r"{\1}", word)


def _name(switch: re.Match[str]) -> str:
    return switch[1].lstrip("-").replace("-", "_").lower()


def _switches(switches: Mapping[str, re.Match[str]]) -> str:
    """The boolean parameters. One without a word for false is false by default, as argparse's store_true is."""
    lines = []
    for name, switch in switches.items():
        when_true, when_false, default = switch[1], switch[2] or "", switch[3]
        lines += ["", f"[algorithms.train.parameters.{name}]", 'type = "boolean"']
        lines += [f"{WHEN_TRUE} = {_toml(when_true)}", f"{WHEN_FALSE} = {_toml(when_false)}"]
        if default or not when_false:
            lines.append(f"default = {default or 'false'}")
    return "\n".join([*lines, ""]) if lines else ""


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
    """Give the file that a word names (`FILE` or `--option=FILE`) its whole path."""
    option, equals, name = word.partition("=") if word.startswith("-") else ("", "", word)
    path = around / name
    return f"{option}{equals}{_absolute(path)}" if name and path.is_file() else word


def _absolute(path: Path) -> Path:
    """The whole path without `.` and `..`, and with its links as they are."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100 - Path.resolve would follow the links
    # After a link, `..` leads elsewhere than the text of the path says.
    return plain if plain.exists() and plain.samefile(path) else path.absolute()


def _program_of_environment(name: str, environment: Mapping[str, str]) -> str | None:
    """Whole path of a program that the active virtual or conda environment provides, else None.

    The stack does not have that environment's PATH, so there the bare name would start another program.
    """
    found = None if "/" in name else shutil.which(name, path=environment.get("PATH"))
    prefixes = [environment.get(key) for key in ("VIRTUAL_ENV", "CONDA_PREFIX")]
    return next(
        (found for prefix in prefixes if prefix and found and Path(found).is_relative_to(prefix)),
        None,
    )


def _toml(value: Any) -> str:
    # What JSON writes of these is TOML too, but for escapes beyond the first 65,536 characters.
    return json.dumps(value, ensure_ascii=False)


_TYPES: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
