"""A run's spec from what a person gives: a YAML file, the command line, or both, where the command line wins."""

import sys
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from mosaic_cli.checkpoint import with_run_ids
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import say
from mosaic_cli.reference import did_you_mean
from mosaic_cli.run_axes import RunAxes
from mosaic_cli.spec_options import SpecOptions
from mosaic_client import Client, MosaicProblem
from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.problem_codes import ProblemCode
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import WorkerDescription

_OPEN_FILES = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Files that the caller has opened, as `-f <(program)` names them: their reading ends."""

_MAX_SIZE = 2**20
"""In bytes, as the gateway takes it."""


def spec_fields(
    file: Path | None,
    worker: str | None,
    algorithm: str | None,
    environment: str | None,
    options: SpecOptions,
    axes: RunAxes | None = None,
    own: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The fields of a command line; what was not given is left to the file, then to the defaults.

    Parameters of file and command line are merged name by name. `axes`: as for `SpecOptions.fields`. `own`: the fields
    of a script of the user's own (`OwnCommand.fields`), which options win over.

    Raises:
        FileProblem: the file cannot be read.
        ValueRefused: an option cannot be read, or the worker is missing, or the algorithm in a file.
    """
    named = {"worker": worker, "algorithm": algorithm, "environment": environment}
    positional: dict[str, Any] = {name: one for name, one in named.items() if one is not None}
    given = (own or {}) | positional | options.fields(axes)
    spec = read_spec_file(file) if file is not None else {}
    parameters = spec.get("parameters")
    if isinstance(parameters, dict) and "parameters" in given:
        given["parameters"] = parameters | given["parameters"]
    spec |= given
    needed = (
        ("worker",) if file is None and spec.get("worker") is not None else ("worker", "algorithm")
    )
    missing = [name for name in needed if spec.get(name) is None]
    if missing:
        validated(dict.fromkeys(missing, "?") | {"environment": "?"} | spec)  # a misspelt field?
        where = f"{file} names" if file is not None else "The command line names"
        raise ValueRefused(
            f"{where} no {' and no '.join(missing)}. Write WORKER ALGORITHM ENVIRONMENT, "
            "e.g. `cleanrl ppo CartPole-v1`, or give a spec with -f."
        )
    return spec


def with_algorithm(client: Client, fields: dict[str, Any]) -> dict[str, Any]:
    """The same fields with an algorithm: without one, that of a worker that has only one.

    Raises:
        ValueRefused: the worker has several, or is an algorithm itself.
        ClientError: the stack does not answer, or does not know the worker.
    """
    if fields.get("algorithm") is not None:
        return fields
    worker = str(fields["worker"])
    known = [one.id for one in _description(client, worker, "").algorithms]
    if len(known) != 1:
        has = ", ".join(known) or "none"
        raise ValueRefused(f"Name an algorithm: `{worker} ALGORITHM`. It has {has}.")
    return fields | {"algorithm": known[0]}


def make_spec(client: Client, fields: dict[str, Any]) -> RunSpec:
    """The spec of these fields; without an algorithm or environment the worker's own is taken, and the latter said.

    Raises:
        ValueRefused: a field is unknown, has a value that no spec may have, or there is no such default.
        ClientError: the stack does not answer, or does not know the worker.
    """
    fields = with_algorithm(client, fields)
    if fields.get("environment") is None:
        default = _default_environment(client, str(fields["worker"]), str(fields["algorithm"]))
        if default != UNKNOWN_ENVIRONMENT:
            say(f"No environment was named; {fields['algorithm']} takes {default}.")
        fields = fields | {"environment": default}
    return with_run_ids(client, validated(fields))


def _default_environment(client: Client, worker: str, algorithm: str) -> str:
    described = _description(client, worker, algorithm)
    found = described.find_algorithm(algorithm)
    if found is None:
        known = [one.id for one in described.algorithms]
        hint = did_you_mean(algorithm, known) or f"It has {', '.join(known) or 'none'}."
        environments = [one.id for one in described.environments]
        if len(known) == 1 and (algorithm in environments or not environments):
            hint = f"Did you mean `{worker} {known[0]} {algorithm}`?"
        raise ValueRefused(f"{worker} has no algorithm {algorithm!r}. {hint}")
    if found.unavailable:
        raise ValueRefused(found.unavailable)
    if found.default_environment is None:
        raise ValueRefused(
            f"No environment was named, and {worker} {algorithm} has none of its own. "
            f"`./mosaic describe {worker}` lists them."
        )
    return found.default_environment


def _description(client: Client, worker: str, next_word: str) -> WorkerDescription:
    """The worker's description.

    Raises:
        ValueRefused: it cannot be described now, or is an algorithm. `next_word`: what followed it on the command line.
    """
    try:
        entry = client.worker(worker)
    except MosaicProblem as error:
        if error.problem.code is not ProblemCode.WORKER_UNKNOWN:
            raise
        owner = _owner_of(client, worker)
        if owner is None:
            raise
        words = " ".join(word for word in (owner, worker, next_word) if word)
        raise ValueRefused(
            f"{worker} is no worker but an algorithm. Did you mean `{words}`?"
        ) from error
    if entry.description is None:
        raise ValueRefused(f"{worker} cannot be used now: {undescribed_words(entry)}")
    return entry.description


def undescribed_words(entry: WorkerEntry) -> str:
    """Why a worker has no description, or what to do about it."""
    return "; ".join(finding.message for finding in entry.findings) or entry.manifest.hint


def _owner_of(client: Client, algorithm: str) -> str | None:
    """The worker that has such an algorithm: its name is easily forgotten."""
    for entry in client.workers().workers:
        if entry.description and algorithm in (one.id for one in entry.description.algorithms):
            return entry.manifest.id
    return None


def validated(spec: dict[str, Any]) -> RunSpec:
    """The spec as a model.

    Raises:
        ValueRefused: it may not be so.
    """
    try:
        return RunSpec.model_validate(spec)
    except ValidationError as error:
        words = []
        for found in error.errors():
            where = fault_place(found)
            if found["type"] == "extra_forbidden":
                words.append(
                    f"{where}: {fault_text(found)}. {did_you_mean(where, RunSpec.model_fields)}"
                )
            else:
                words.append(f"{where}: {fault_text(found)} (given: {found['input']!r})")
        raise ValueRefused("This cannot be run. " + "; ".join(words)) from error


def read_spec_file(path: Path, begin: str = "worker: cleanrl") -> dict[str, Any]:
    """The mapping in a YAML 1.2 file (JSON is YAML); `-` is stdin. `begin`: a line that such a file has.

    Raises:
        FileProblem: it cannot be read, is a named pipe or a device, or too large.
        ValueRefused: it is no mapping, or no YAML.
    """
    try:
        text = sys.stdin.read(_MAX_SIZE + 1) if str(path) == "-" else _file_text(path)
    except OSError as error:
        raise FileProblem(f"{path} cannot be read ({error.strerror}).") from error
    except UnicodeDecodeError as error:
        raise ValueRefused(f"{path} is not UTF-8 text.") from error
    if len(text) > _MAX_SIZE:
        raise _too_large(path)
    try:
        spec = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = f", line {mark.line + 1}" if mark is not None else ""
        raise ValueRefused(f"{path}{place}: this is no YAML: {error.problem}.") from error
    except (YAMLError, ValueError) as error:
        raise ValueRefused(f"{path} is no YAML: {error}.") from error
    except RecursionError as error:
        raise ValueRefused(f"{path} is nested too deeply to be a spec.") from error
    if not isinstance(spec, dict):
        raise ValueRefused(f"{path} holds no fields of a spec. Write lines like `{begin}`.")
    return {str(key): value for key, value in spec.items()}


def _file_text(path: Path) -> str:
    if path.exists() and not (path.is_file() or path.is_dir() or str(path).startswith(_OPEN_FILES)):
        raise FileProblem(f"{path} is no regular file. Write `-f -` to read a spec from stdin.")
    with path.open("rb") as file:
        content = file.read(_MAX_SIZE + 1)
    if len(content) > _MAX_SIZE:
        raise _too_large(path)
    return content.decode("utf-8")


def _too_large(path: Path) -> FileProblem:
    return FileProblem(f"{path} is larger than 1 MiB, too large to be a spec.")
