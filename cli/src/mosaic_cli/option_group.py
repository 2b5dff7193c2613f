"""Options that several verbs take together, written down once: a dataclass of them, spread over a verb's signature."""

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

Verb = Callable[..., None]


def spread(verb: Verb, *first: Callable[..., Callable[[], None]]) -> Verb:
    """The verb with each parameter that is a dataclass replaced by that dataclass's fields, as typer reads them.

    The dataclasses of `first` are added after the verb's own options, made, and called before the verb.
    """
    hints = get_type_hints(verb, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for parameter in signature(verb).parameters.values():
        if parameter.name in groups:
            parameters += _parameters_of(groups[parameter.name])
        else:
            hint = hints[parameter.name]
            parameters.append(parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY))
    for group in first:
        parameters += _parameters_of(group)

    @wraps(verb)
    def call(**given: Any) -> None:
        for group in first:
            _taken_from(given, group)()
        verb(**{name: _taken_from(given, group) for name, group in groups.items()}, **given)

    call.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
    # what inspect, and so typer, looks at first
    call.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return call


def _taken_from(given: dict[str, Any], group: Any) -> Any:
    return group(**{field.name: given.pop(field.name) for field in fields(group)})


def _parameters_of(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
