"""`workers` and `describe`: workers, their algorithms, the arguments of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.command_name import with_command_name
from mosaic_cli.errors import StackStartProblem, ValueRefused
from mosaic_cli.output import emit, json_line, out
from mosaic_cli.reference import did_you_mean
from mosaic_cli.target import open_client
from mosaic_contracts.parameter_bounds import bounds_words

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.services import WorkerEntry
    from mosaic_contracts.worker import Algorithm, WorkerDescription


def workers(json: option.Json = False) -> None:
    """List the workers: what each trains on, whether it can be used now, and if not, what to do."""
    with open_client() as client:
        entries = client.workers().workers
    emit(entries) if json else out.print(_workers_table(entries))


def describe(
    worker: Annotated[
        str | None,
        typer.Argument(help="A worker; without it all are listed."),
    ] = None,
    algorithm: Annotated[str | None, typer.Argument(help="One of its algorithms.")] = None,
    json: option.Json = False,
) -> None:
    """Show the workers, the algorithms of one, or the parameters of an algorithm."""
    with open_client() as client:
        if worker is None:
            entries = client.workers().workers
            emit(entries) if json else out.print(_workers_table(entries))
            return
        entry = client.worker(_known_worker(client, worker))
    description = entry.description
    if description is None:
        from mosaic_cli.spec_source import undescribed_words

        reasons = undescribed_words(entry)
        raise StackStartProblem(f"{entry.manifest.id} cannot describe itself here: {reasons}")
    if algorithm is None:
        emit(description) if json else _print_worker(description)
        return
    found = _known_algorithm(description, algorithm)
    emit(found) if json else _print_algorithm(found)


def _known_worker(client: Client, name: str) -> str:
    manifests = [entry.manifest for entry in client.workers().workers]
    for manifest in manifests:
        if name == manifest.id or name in manifest.aliases:
            return manifest.id
    known = [manifest.id for manifest in manifests]
    hint = did_you_mean(name, known) or f"There are: {', '.join(known) or 'none'}."
    raise ValueRefused(f"There is no worker {name!r}. {hint}")


def _known_algorithm(description: WorkerDescription, name: str) -> Algorithm:
    for algorithm in description.algorithms:
        if algorithm.id == name:
            return algorithm
    known = [algorithm.id for algorithm in description.algorithms]
    hint = did_you_mean(name, known) or f"It has: {', '.join(known)}."
    raise ValueRefused(f"{description.worker} has no algorithm {name!r}. {hint}")


def _workers_table(entries: list[WorkerEntry]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("WORKER", "TITLE", "DEVICE", "READY", "WHAT TO DO"):
        table.add_column(heading, overflow="fold")
    for entry in entries:
        ready = Text("yes", "green") if entry.ready else Text("no", "yellow")
        words = "; ".join(f.message for f in entry.findings) or (
            "" if entry.ready else entry.manifest.hint
        )
        table.add_row(
            entry.manifest.id,
            entry.manifest.title,
            entry.manifest.device.value,
            ready,
            Text(with_command_name(words)),
        )
    return table


def _print_worker(description: WorkerDescription) -> None:
    named = f" ({description.worker} {description.version})"
    out.print(Text.assemble((description.title, "bold"), named))
    if description.summary:
        out.print(Text(description.summary))
    algorithms = Table(box=None, pad_edge=False)
    has_needs = any(item.bundle or item.unavailable for item in description.algorithms)
    for heading in ("ALGORITHM", "TITLE", "ACTIONS", "DEFAULT ENVIRONMENT"):
        algorithms.add_column(heading, overflow="fold")
    if has_needs:
        algorithms.add_column("NEEDS", overflow="fold")
    for item in description.algorithms:
        algorithms.add_row(
            item.id,
            Text(item.title),
            ", ".join(item.action_spaces),
            item.default_environment or "-",
            *([_needs(item)] if has_needs else []),
        )
    out.print(algorithms)
    names = ", ".join(environment.id for environment in description.environments)
    out.print(Text(f"\nEnvironments: {names or 'any that it can make; it lists none'}"))
    hint = with_command_name(f"Arguments of one: ./mosaic describe {description.worker} ALGORITHM")
    out.print(hint, style="dim")


def _needs(algorithm: Algorithm) -> Text:
    """The bundle that an algorithm lacks or has, or that it cannot run here; `describe` of it says why."""
    if algorithm.unavailable:
        return Text("cannot run here", "yellow")
    if algorithm.install:
        return Text(f"bundle {algorithm.bundle}, not installed", "yellow")
    return Text(f"bundle {algorithm.bundle}" if algorithm.bundle else "")


def _print_algorithm(algorithm: Algorithm) -> None:
    out.print(Text.assemble((algorithm.title, "bold"), f" ({algorithm.id})"))
    if algorithm.summary and algorithm.summary not in algorithm.documentation:
        out.print(Text(algorithm.summary))
    if algorithm.unavailable:
        if algorithm.unavailable not in algorithm.documentation:
            out.print(Text(with_command_name(algorithm.unavailable), "yellow"))
    elif algorithm.install:
        needed = f"It needs the bundle {algorithm.bundle}: {algorithm.install}"
        out.print(Text(with_command_name(needed), "yellow"))
    if algorithm.documentation:
        out.print()
        out.print(Markdown(with_command_name(algorithm.documentation)))
        out.print()
    table = Table(box=None, pad_edge=False)
    for heading in ("ARGUMENT", "DEFAULT", "TYPE", "MEANING"):
        table.add_column(heading, overflow="fold")
    properties: dict[str, dict[str, Any]] = algorithm.parameters.get("properties", {})
    for name, schema in properties.items():
        default = json_line(schema["default"]) if "default" in schema else "-"
        table.add_row(name, Text(default), _type(schema), Text(str(schema.get("description", ""))))
    out.print(table)
    out.print("Set one with -p NAME=VALUE.", style="dim")


def _type(schema: dict[str, Any]) -> str:
    """The type of a parameter with its bounds, or the values that can be chosen."""
    from mosaic_contracts.worker import CHECKPOINT_MARK

    if "enum" in schema:
        choices: list[Any] = schema["enum"]
        return " | ".join(
            value if isinstance(value, str) else json_line(value) for value in choices
        )
    if schema.get(CHECKPOINT_MARK) is True:
        return "checkpoint: RUN/last, or a path"
    if "anyOf" in schema:
        return " | ".join(_type(part) for part in schema["anyOf"])
    kind = schema.get("type", "?")
    words = " | ".join(kind) if isinstance(kind, list) else str(kind)
    bounds = bounds_words(schema)
    return f"{words}, {bounds}" if bounds else words
