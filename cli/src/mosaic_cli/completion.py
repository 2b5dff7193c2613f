"""What a shell completes besides verbs and options: runs, workers, searches; fast and silent."""

from itertools import chain
from pathlib import Path
from typing import Any

from mosaic_cli.stack.layout import Layout
from mosaic_cli.target import is_elsewhere
from mosaic_client.call import Call
from mosaic_client.errors import ClientError
from mosaic_client.location import find_stack
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts import http_api
from mosaic_contracts.choices import RunKind
from mosaic_contracts.search_words import ALIASES, ENDED, LIVE, STORED_KEYS, TEXT_KEYS, TIME_KEYS
from mosaic_contracts.states import RunState

_OFFERED = 50
_LOOKED_AT = 200
"""Runs whose environments, tags and parameters are offered."""
_SIGNS = (":", "=")
"""Characters at which bash takes a word apart."""
_PATIENCE_S = 2.0


def complete_run(incomplete: str) -> list[str]:
    """`last` and the newest runs' ids; only `last` when no stack answers."""
    ids = [run["run_id"] for run in _newest(_OFFERED)]
    return [one for one in ("last", *ids) if one.startswith((incomplete, incomplete.upper()))]


def complete_search(before: list[str], word: str) -> list[str]:
    """Keys and values of a search of the run list; what the newest runs have where a stack answers.

    Some shells take `state:fa` apart, and in quotes the word has several terms.
    """
    if word in _SIGNS:
        return _search_values(before[-1], "")
    if before and before[-1] in _SIGNS:
        return _search_values(before[-2], word)
    head, space, term = word.rpartition(" ")
    minus = "-" if term.startswith("-") else ""
    start = f"{head}{space}{minus}"
    key, sign, value = term.removeprefix(minus).partition(":")
    if sign:
        return [f"{start}{key}:{one}" for one in _search_values(key, value)]
    return [f"{start}{one}" for one in _search_keys(key)]


def _search_keys(incomplete: str) -> list[str]:
    parameters = {name for run in _newest(_LOOKED_AT) for name in _parameters_of(run)}
    words = [
        *(f"{key}:" for key in (*TEXT_KEYS, *TIME_KEYS, "seed")),
        *(f"{key}>" for key in (*STORED_KEYS, "took", *sorted(parameters))),
    ]
    return [one for one in words if one.startswith(incomplete)]


def _search_values(key: str, incomplete: str) -> list[str]:
    key = key.rpartition(" ")[2].removeprefix("-")
    key = ALIASES.get(key, key)
    if key == "state":
        known = [*(state.value for state in RunState), LIVE, ENDED]
    elif key == "kind":
        known = [kind.value for kind in RunKind]
    else:
        found = [value for run in _newest(_LOOKED_AT) for value in _values_of(run, key)]
        known = sorted(dict.fromkeys(found))
    return [_quoted(one) for one in known if one.startswith(incomplete)]


def _values_of(run: dict[str, Any], key: str) -> list[str]:
    spec = run["spec"]
    fields = {"env": "environment", "algo": "algorithm", "worker": "worker"}
    if key in fields:
        return [spec[fields[key]]]
    if key == "tag":
        return [str(tag) for tag in run.get("tags", [])]
    parameters = _parameters_of(run)
    return [str(parameters[key])] if key in parameters else []


def _parameters_of(run: dict[str, Any]) -> dict[str, Any]:
    return {**run.get("defaults", {}), **run["spec"].get("parameters", {})}


def _quoted(value: str) -> str:
    return f'"{value}"' if " " in value else value


def _newest(count: int) -> list[dict[str, Any]]:
    """The newest runs; none when no stack answers."""
    asked = Call(
        "GET",
        http_api.RUNS.path,
        lambda answer: answer.json(),
        {"limit": count},
        timeout_s=_PATIENCE_S,
    )
    try:
        with StackConnection(find_stack(), patience_s=0) as stack:
            runs = stack.send(asked)["runs"]
            return [run for run in runs if run["run_id"] and run["spec"]["environment"]]
    except (ClientError, LookupError, TypeError):
        return []


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
