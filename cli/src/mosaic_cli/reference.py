"""What a person types for a run or a parameter, and what it means."""

import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from mosaic_base.nearest import nearest_names
from mosaic_cli.errors import NothingFound, RunNotFound, ValueRefused
from mosaic_cli.target import elsewhere_url
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RUN_ID_PATTERN

if TYPE_CHECKING:
    from mosaic_contracts.spec import ParameterValue

LAST = "last"
_PREFIX = re.compile(r"^[0-7][0-9A-HJKMNP-TV-Z]{0,25}$")
_MAX_CANDIDATES = 5
_NAMES_LOOKED_AT = 1000
"""Newest runs among which a name is looked for."""
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?:in)?)?(?:(\d+(?:\.\d+)?)s?)?")


class Among(Enum):
    """Which runs a beginning, a name and `last` are looked for among; a whole id is found in any case."""

    LISTED = auto()
    DELETED = auto()


def no_runs_text() -> str:
    """What is said of a stack that has no runs: the one that was asked."""
    url = elsewhere_url()
    if url:
        return f"The stack at {url} has no runs yet. Try: ./mosaic run cleanrl ppo CartPole-v1"
    return "No runs yet. Try: ./mosaic demo"


def find_run(stack: StackConnection, text: str, among: Among = Among.LISTED) -> light.RunFields:
    """The run that an id, an unambiguous beginning of one, a whole name, or `last` means; `last` is no trial's run.

    Raises:
        RunNotFound: there is none.
        ValueRefused: several begin so.
    """
    if text.lower() == LAST:
        newest = next(_candidates(stack, among, page=1, trials=False), None)
        if newest is None:
            raise RunNotFound("No run is deleted." if among is Among.DELETED else no_runs_text())
        return newest
    prefix = text.upper()
    if re.fullmatch(RUN_ID_PATTERN, prefix):
        return reading.run(stack, prefix)
    if not _PREFIX.fullmatch(prefix):
        return _find_by_name(_candidates(stack, among), text)
    # ids sort by time and a list is newest first: what comes after a smaller one is older still
    younger = takewhile(lambda run: run.run_id >= prefix, _candidates(stack, among))
    found = [run for run in younger if run.run_id.startswith(prefix)]
    if not found and among is Among.LISTED:
        return find_run(stack, text, Among.DELETED)  # named so exactly, it is meant
    if not found:
        raise RunNotFound(f"No run's id begins with {prefix}. `./mosaic ps` lists them.")
    if len(found) > 1:
        names = ", ".join(run.run_id for run in found[:_MAX_CANDIDATES])
        more = " ..." if len(found) > _MAX_CANDIDATES else ""
        raise ValueRefused(
            f"{len(found)} runs begin with {prefix}: {names}{more}. Give more characters."
        )
    return found[0]


def _candidates(
    stack: StackConnection, among: Among, page: int = reading.PAGE, trials: bool | None = None
) -> Iterator[light.RunFields]:
    deleted = True if among is Among.DELETED else None
    return reading.each_run(stack, page=page, deleted=deleted, trials=trials)


def _find_by_name(candidates: Iterator[light.RunFields], text: str) -> light.RunFields:
    recent = list(islice(candidates, _NAMES_LOOKED_AT))
    named = [run for run in recent if run.name == text]
    if len(named) == 1:
        return named[0]
    if named:
        ids = ", ".join(run.run_id for run in named[:_MAX_CANDIDATES])
        raise ValueRefused(f"{len(named)} runs have this name: {ids}. Give an id.")
    nearest = alike_names(text, [run.name for run in recent])
    by_name = {run.name: run for run in recent}
    hint = "".join(f"\n  {by_name[name].run_id}  {name}" for name in nearest)
    raise RunNotFound(
        f"There is no run {text!r}: give an id as `./mosaic ps` shows it, its beginning, a name, or `last`."
        + (f" The nearest names:{hint}" if hint else "")
    )


def parse_parameter(text: str) -> "tuple[str, ParameterValue]":
    """`key=value`; the value is JSON where it is a JSON scalar (`0.5`, `true`, `null`, `"1"`), else text. A JSON object
    is text too: some parameters take one.

    Raises:
        ValueRefused: no key, or a list.
    """
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise ValueRefused(
            f"{text!r} is no parameter: write -p key=value, e.g. -p learning_rate=0.001."
        )
    try:
        value = json.loads(raw, parse_constant=_refuse_constant)
    except ValueError:
        value = raw
    if isinstance(value, dict):
        value = raw
    if isinstance(value, list):
        raise ValueRefused(
            f"{key} takes one value (a number, true, false, null or text), not {raw}."
        )
    return key.strip(), value


def parse_parameters(texts: Iterable[str]) -> "dict[str, ParameterValue]":
    """All `-p` options of a command line.

    Raises:
        ValueRefused: one cannot be read, or a key stands twice.
    """
    parameters: dict[str, ParameterValue] = {}
    for text in texts:
        key, value = parse_parameter(text)
        if key in parameters:
            raise ValueRefused(f"The parameter {key} is given twice.")
        parameters[key] = value
    return parameters


def parse_duration(text: str) -> float:
    """Seconds of `90`, `45s`, `30m`, `1h30m`, `2d`.

    Raises:
        ValueRefused: not a duration, or zero.
    """
    match = _DURATION.fullmatch(text.strip().lower().replace(" ", ""))
    if match is None or not any(match.groups()):
        raise ValueRefused(f"{text!r} is no duration: write 45s, 30m, 1h30m or 2d.")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total_s = days * 86400 + hours * 3600 + minutes * 60 + seconds
    if total_s <= 0:
        raise ValueRefused("A duration must be longer than 0.")
    return total_s


def alike_names(text: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that look like the text, whatever the case; a part of one counts too."""
    names = list(known)
    close = nearest_names(text, names, any_case=True)
    parts = [name for name in names if text and text.lower() in name.lower() and name not in close]
    return [*close, *parts][:3]


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """A sentence with the nearest names, or an empty text."""
    nearest = alike_names(text, known)
    return f"Did you mean {' or '.join(nearest)}?" if nearest else ""


def nearest_hint(nearest: Iterable[object], said: str) -> str:
    """The same for names that the stack found, unless its own words have them already."""
    names = [str(name) for name in nearest]
    if not names or names[0] in said:
        return ""
    return f" Did you mean {' or '.join(names[:3])}?"


def no_such(kind: str, name: str, known: list[str], hint: str) -> NothingFound:
    """The error for a name that a run does not have."""
    words = [f"There is no {kind} {name!r}.", did_you_mean(name, known), hint]
    return NothingFound(" ".join(word for word in words if word))


def _refuse_constant(name: str) -> float:
    raise ValueError(
        name
    )  # NaN and Infinity are no JSON; they stay text, and the stack judges them
