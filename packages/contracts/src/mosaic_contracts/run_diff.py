"""What runs differ in: parameters, packages, code, hardware and results, a value for each run. Pure, no pydantic."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mosaic_contracts.run_search import parameter_text
from mosaic_contracts.states import RunState

RUN, PARAMETERS, CODE, PACKAGES, HARDWARE, RESULT, METRICS = (
    *("Run", "Parameters", "Code", "Packages", "Hardware"),
    *("Result", "Metrics"),
)
SECTIONS = (RUN, PARAMETERS, CODE, PACKAGES, HARDWARE, RESULT, METRICS)
"""In the order in which they are shown."""
SYSTEM_METRICS = "system/"
"""Beginning of metrics about the machine. They always differ, and say little about a run."""
_SPEC_FIELDS = (
    *("worker", "algorithm", "environment", "kind", "seed", "steps", "record", "restart"),
    *("cpus", "gpus", "gpu_memory_mb", "memory_mb", "internet"),
)
_OF_SPEC = frozenset({"seed", "env_id", "exp_name"})
"""Arguments of scripts that fields of the spec set."""
_ABSENT = object()


class DiffSide(NamedTuple):
    """What is known of one run.

    Attributes:
        run: the run as a JSON object (`RunView`).
        config: data of its config event; empty: it has recorded none yet.
        metrics: newest value of each metric.
    """

    run: Mapping[str, Any]
    config: Mapping[str, Any] = {}
    metrics: Mapping[str, float] = {}


class DiffRow(NamedTuple):
    """One property of all runs.

    Attributes:
        section: one of SECTIONS.
        name: name of the property.
        values: its value in each run; None: the run has none.
        equal: whether all runs have the same; a run that has not reported it yet does not count.
    """

    section: str
    name: str
    values: tuple[Any, ...]
    equal: bool


def compare_runs(sides: Sequence[DiffSide]) -> list[DiffRow]:
    """Put the properties of runs next to each other.

    Args:
        sides: what is known of each run.

    Returns:
        A row for each property that some run has, by section; the caller leaves out rows that are equal.
    """
    tables = [_properties(side) for side in sides]
    rows = []
    for section in SECTIONS:
        names = dict.fromkeys(name for table in tables for name in table.get(section, {}))
        ordered = names if section in (RUN, CODE, RESULT) else sorted(names)
        for name in ordered:
            found = [table.get(section, {}).get(name, _ABSENT) for table in tables]
            values = tuple(None if value is _ABSENT else value for value in found)
            known = [
                value
                for value, side in zip(found, sides, strict=True)
                if value is not _ABSENT or not _is_open(side, section)
            ]
            texts = {"" if value is _ABSENT else value_text(value) for value in known}
            rows.append(DiffRow(section, name, values, len(texts) <= 1))
    return rows


def package_versions(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the packages that a run had: all that were installed where the run recorded that, else the decisive ones.

    Args:
        config: data of its config event.
    """
    return _mapping(config, "installed") or _mapping(config, "packages")


def code_facts(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a run recorded of its code, by name: `git commit`, `git dirty`, `git changes`, `script sha256`.

    Args:
        config: data of its config event.
    """
    facts = {f"git {name}": value for name, value in _mapping(config, "git").items()}
    digest = _mapping(config, "script_file").get("sha256")
    return facts if digest is None else {**facts, "script sha256": digest}


def _is_open(side: DiffSide, section: str) -> bool:
    """Whether a run has yet to report a section: that it has no value then is no difference."""
    if section in (RUN, RESULT) or RunState(side.run["state"]).is_final:
        return False
    return not (side.metrics if section == METRICS else side.config)


def value_text(value: Any) -> str:
    """Return a value as it is shown.

    Args:
        value: a value of a row.

    Returns:
        The value in a line.
    """
    if isinstance(value, bool | int | float | str) or value is None:
        return " ".join(parameter_text(value).split())
    return json.dumps(value, sort_keys=True, default=str)


def _properties(side: DiffSide) -> dict[str, dict[str, Any]]:
    run, config = side.run, side.config
    spec = run["spec"]
    return {
        RUN: {name: spec[name] for name in _SPEC_FIELDS if name in spec} | _tags(run),
        PARAMETERS: _parameters(run, config),
        CODE: dict(_code(run, config)),
        PACKAGES: dict(package_versions(config)),
        HARDWARE: dict(_mapping(config, "surroundings")),
        RESULT: dict(_result(run)),
        METRICS: dict(side.metrics),
    }


def _tags(run: Mapping[str, Any]) -> dict[str, Any]:
    return {"tags": ", ".join(run["tags"])} if run.get("tags") else {}


def _parameters(run: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    given = {**run.get("defaults", {}), **run["spec"].get("parameters", {})}
    recorded = _mapping(config, "arguments")
    return {name: value for name, value in {**given, **recorded}.items() if name not in _OF_SPEC}


def _code(run: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name in ("worker_version", "worker_lock", "image"):
        if run.get(name) is not None:
            yield name, run[name]
    if "script" in config:
        yield "script", config["script"]
    yield from code_facts(config).items()


def _result(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "state", run["state"]
    end, summary = run.get("end"), run.get("summary") or {}
    if end is not None:
        yield "cause", end["cause"]
    if run.get("elapsed_s") is not None:
        yield "duration_s", round(run["elapsed_s"], 1)
    for name in ("global_step", "episodes_played", "best_return", "mean_return", "last_return"):
        if summary.get(name) is not None:
            yield name, summary[name]


def _mapping(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, Mapping) else {}
