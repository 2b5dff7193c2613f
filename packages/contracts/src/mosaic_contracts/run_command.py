"""A run, or a group of runs, as the words of `./mosaic run`. Pure, without pydantic."""

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_OPTIONS = {
    "steps": "--steps",
    "record": "--record",
    "restart": "--restart",
    "name": "--name",
    "cpus": "--cpus",
    "gpus": "--gpus",
    "gpu_memory_mb": "--gpu-memory-mb",
    "note": "--note",
    "priority": "--priority",
    "consent": "--consent",
}
"""Fields of a spec that have an option of their own."""
_OWN_WORDS = frozenset({"worker", "algorithm", "environment", "seed", "parameters"})
_WITHOUT_WORDS = frozenset({"kind"})
"""Fields that `run` sets itself."""


def run_command(
    spec: Mapping[str, Any],
    *,
    seeds: Sequence[int] = (),
    environments: Sequence[str] = (),
    parameters: Mapping[str, Sequence[Any]] | None = None,
    program: str = "./mosaic",
) -> str:
    """Write a run as the command that starts the same again.

    Args:
        spec: fields of a RunSpec; those with their defaults may be absent.
        seeds: seeds of a group, in place of the seed of the spec.
        environments: environments of a group, in place of the environment of the spec.
        parameters: values of a group by parameter, in place of the value of the spec.
        program: name of the command line.

    Returns:
        One line for a shell.
    """
    lists = parameters or {}
    environment = ",".join(environments) or str(spec["environment"])
    words = [program, "run", str(spec["worker"]), str(spec["algorithm"]), environment]
    if seeds or "seed" in spec:
        words += ["--seed", seeds_text(seeds or [spec["seed"]])]
    given = {name: _value_text(value) for name, value in spec.get("parameters", {}).items()}
    for name, text in {**given, **{name: _list_text(lists[name]) for name in lists}}.items():
        words += ["-p", f"{name}={text}"]
    for name, value in spec.items():
        if name not in _OWN_WORDS | _WITHOUT_WORDS:
            words += _field_words(name, value)
    return shlex.join(words)


def seeds_text(seeds: Sequence[int]) -> str:
    """Write seeds in their short form.

    Args:
        seeds: the seeds in their order.

    Returns:
        Ranges and single seeds between commas, as `1-3,7`.
    """
    ranges: list[list[int]] = []
    for seed in seeds:
        if ranges and seed == ranges[-1][1] + 1:
            ranges[-1][1] = seed
        else:
            ranges.append([seed, seed])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def _list_text(values: Sequence[Any]) -> str:
    """Numbers and truth values between commas; anything else as a JSON list."""
    is_plain = all(isinstance(value, bool | int | float) for value in values)
    if is_plain and len(values) > 1:
        return ",".join(_value_text(value) for value in values)
    return json.dumps(list(values), ensure_ascii=False)


def _value_text(value: Any) -> str:
    """A value as `KEY=VALUE` takes it: JSON, or plain text that is no JSON."""
    if not isinstance(value, str):
        return json.dumps(value)
    try:
        json.loads(f"[{value}]")
    except ValueError:
        return value
    return json.dumps(value, ensure_ascii=False)


def _field_words(name: str, value: Any) -> list[str]:
    if value is None or value == [] or value == "":
        return []
    if name in _OPTIONS:
        return [_OPTIONS[name], str(value)]
    match name:
        case "tags" | "secrets" | "alerts":
            option = {"tags": "--tag", "secrets": "--secret", "alerts": "--alert"}[name]
            return [word for one in value for word in (option, str(one))]
        case "wall_time_s" if value == int(value):
            return ["--wall-time", f"{int(value)}s"]
        case "hold":
            return ["--hold"] if value else []
    return ["--set", f"{name}={_value_text(value)}"]
