"""What of a command line makes several runs: seeds, environments and parameters with a list of values."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from mosaic_cli.errors import ValueRefused
from mosaic_cli.reference import parse_parameter
from mosaic_contracts.group_words import parse_seeds

if TYPE_CHECKING:
    from mosaic_contracts.spec import ParameterValue
    from mosaic_contracts.worker import WorkerDescription


class RunAxes(NamedTuple):
    """The lists, and the parameters that have one value."""

    seeds: list[int]
    """Empty: none was named."""
    parameters: "dict[str, list[ParameterValue]]"
    """Lists of values, by parameter."""
    texts: dict[str, str]
    """The lists that were written with commas, as they were written: a parameter of text takes them as one value."""
    fixed: "dict[str, ParameterValue]"

    @property
    def is_one(self) -> bool:
        """Whether there is one run."""
        return len(self.seeds) < 2 and not self.parameters

    def as_text(self) -> "RunAxes":
        """The same with lists that were written with commas as one text each."""
        lists = {name: values for name, values in self.parameters.items() if name not in self.texts}
        return self._replace(parameters=lists, fixed={**self.fixed, **self.texts})

    def with_texts(self, description: "WorkerDescription | None", algorithm: str) -> "RunAxes":
        """The same with what an algorithm takes as text put back to one value: `-p layers=64,64`."""
        found = None if description is None else description.find_algorithm(algorithm)
        known: dict[str, Any] = {} if found is None else found.parameters.get("properties", {})
        back = {name: text for name, text in self.texts.items() if _takes_text(known.get(name, {}))}
        lists = {name: values for name, values in self.parameters.items() if name not in back}
        return self._replace(parameters=lists, fixed={**self.fixed, **back})


def read_axes(seed: str | None, params: Sequence[str]) -> RunAxes:
    """The options `--seed` and `-p` of a command line.

    Raises:
        ValueRefused: one cannot be read, or a parameter stands twice.
    """
    try:
        seeds = [] if seed is None else parse_seeds(seed)
    except ValueError as error:
        raise ValueRefused(f"--seed: {error}.") from error
    axes = RunAxes(seeds, {}, {}, {})
    for text in params:
        key, equals, raw = text.partition("=")
        key = key.strip()
        if key in axes.parameters or key in axes.fixed:
            raise ValueRefused(f"The parameter {key} is given twice.")
        values = _values_of(raw) if equals and key else None
        if values is None:
            key, value = parse_parameter(text)
            axes.fixed[key] = value
            continue
        axes.parameters[key] = values
        if not raw.lstrip().startswith("["):
            axes.texts[key] = raw
    return axes


def _values_of(raw: str) -> "list[ParameterValue] | None":
    """Several values: a JSON list, or numbers and truth values between commas. None: it is one value."""
    text = raw.strip() if raw.lstrip().startswith("[") else f"[{raw}]"
    try:
        found = json.loads(text)
    except ValueError:
        return None
    is_plain = all(isinstance(value, bool | int | float) for value in found)
    is_list = text == raw.strip()
    if (
        is_list
        and found
        and all(value is None or isinstance(value, bool | int | float | str) for value in found)
    ):
        return list(found)
    return list(found) if is_plain and len(found) > 1 else None


def _takes_text(schema: dict[str, Any]) -> bool:
    types = schema.get("type", [])
    names = [types] if isinstance(types, str) else types
    choices = [*schema.get("anyOf", []), *schema.get("oneOf", [])]
    return "string" in names or any(_takes_text(choice) for choice in choices)
