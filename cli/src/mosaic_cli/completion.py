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
from mosaic_contracts.run_search import parameter_text
from mosaic_contracts.search_completion import (
    SearchVocabulary,
    complete_term,
    needs_vocabulary,
    vocabulary_of_values,
)

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
    """Complete the last term of a search of the run list, as the window does, with what the newest runs have.

    Some shells take `state:fa` apart, and in quotes the word has several terms.
    """
    taken = ""  # what of the term is in words before this one
    if word in _SIGNS:
        taken, word = before[-1] + word, ""
    elif before and before[-1] in _SIGNS:
        taken = before[-2] + before[-1]
    search = taken + word
    runs = _newest(_LOOKED_AT) if needs_vocabulary(search, len(search)) else []
    found = [
        f"{search[: one.start]}{one.text}"
        for one in complete_term(search, len(search), _vocabulary(runs))
    ]
    # A shell puts what several words begin with in the place of what was typed.
    begins = [one for one in found if one.casefold().startswith(search.casefold())]
    return [one[len(taken) :] for one in (begins or (found if len(found) == 1 else []))]


def _vocabulary(runs: list[dict[str, Any]]) -> SearchVocabulary:
    values: list[tuple[str, str]] = []
    names: set[str] = set()
    for run in runs:
        spec = run["spec"]
        fields = (("env", "environment"), ("algo", "algorithm"), ("worker", "worker"))
        values += [(key, spec[field]) for key, field in fields]
        values += [("tag", str(tag)) for tag in run.get("tags", [])]
        parameters = {**run.get("defaults", {}), **spec.get("parameters", {})}
        names.update(parameters)
        values += [(name, parameter_text(value)) for name, value in parameters.items()]
        if "seed" in spec:
            values.append(("seed", str(spec["seed"])))
        if group := run.get("group"):
            values.append(("group", group["name"]))
    return vocabulary_of_values(values, names)


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
