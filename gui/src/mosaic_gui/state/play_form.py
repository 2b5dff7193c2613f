"""The form of a play by a person: options of the environment, and what the worker lets a player set."""

import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.worker import (
    KEYS_MARK,
    OPTIONS_MARK,
    Algorithm,
    Environment,
    EnvironmentOption,
)
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup, Value
from mosaic_gui.state.inputs import Inputs
from mosaic_gui.state.language import mark, tr_mark
from mosaic_gui.state.schema_form import read_schema

OPTIONS, PARAMETERS, RUN = "options", "parameters", "run"
"""Parts of the form."""
MOST_RANDOM_SEED = 2**31 - 1
_KINDS = {
    "boolean": FieldKind.BOOLEAN,
    "integer": FieldKind.INTEGER,
    "number": FieldKind.NUMBER,
    "string": FieldKind.TEXT,
}
_ANY = mark("any")
_SEED_HELP = mark("Seed of the first episode. Empty: another one for each play.")
_EPISODES_HELP = mark("The play ends after so many. Empty: as many as you like.")


@dataclass(frozen=True)
class PlayWorker:
    """A worker's algorithm in whose runs a person acts."""

    worker: WorkerEntry
    algorithm: Algorithm

    @property
    def environments(self) -> list[Environment]:
        """Environments that it can make, with those whose bundle is missing."""
        description = self.worker.description
        return list(description.environments) if description is not None else []

    @property
    def takes_own(self) -> bool:
        """Whether it takes environments that it does not list, as `module:Id`."""
        description = self.worker.description
        return description is not None and description.own_environments

    def parameter(self, marked: str) -> str:
        """Name of the parameter with this mark; empty: there is none."""
        properties = self.algorithm.parameters.get("properties", {})
        return next((name for name, part in properties.items() if part.get(marked)), "")


def play_workers(workers: Iterable[WorkerEntry]) -> list[PlayWorker]:
    """All algorithms in whose runs a person acts."""
    return [
        PlayWorker(worker, algorithm)
        for worker in workers
        if worker.description is not None
        for algorithm in worker.description.algorithms
        if algorithm.human and algorithm.parameters.get("properties", {})
    ]


@dataclass
class PlayForm:
    """What was typed for one environment."""

    worker: PlayWorker
    environment: Environment
    options: Inputs = field(default_factory=Inputs)
    parameters: Inputs = field(default_factory=Inputs)
    run: Inputs = field(default_factory=Inputs)

    @classmethod
    def of(cls, worker: PlayWorker, environment: Environment) -> "PlayForm":
        """A form with default values."""
        hidden = {worker.parameter(marked) for marked in (KEYS_MARK, OPTIONS_MARK)}
        options = tuple(_option_field(option) for option in environment.options)
        return cls(
            worker,
            environment,
            Inputs((FormGroup("environment", options),) if options else ()),
            Inputs(tuple(read_schema(worker.algorithm.parameters, frozenset(hidden)))),
            Inputs((FormGroup("run", _run_fields()),)),
        )

    def inputs(self, part: str) -> Inputs:
        """The inputs of a part of the form."""
        return {OPTIONS: self.options, PARAMETERS: self.parameters, RUN: self.run}[part]

    @property
    def groups(self) -> list[tuple[str, FormGroup]]:
        """Groups of fields with the part that they belong to, in their order."""
        parts = ((OPTIONS, self.options), (RUN, self.run), (PARAMETERS, self.parameters))
        return [(part, group) for part, inputs in parts for group in inputs.groups]

    def faults(self) -> dict[str, str]:
        """What is wrong, by `part.name`."""
        return {
            f"{part}.{name}": fault
            for part in (OPTIONS, PARAMETERS, RUN)
            for name, fault in self.inputs(part).faults().items()
        }

    @property
    def options_text(self) -> str:
        """The changed options as JSON; empty: none is changed."""
        changed = self.options.changed()
        if not changed:
            return ""
        fields = self.options.fields
        return json.dumps({name: _plain(value, fields[name]) for name, value in changed.items()})

    def spec(self, keys: str) -> dict[str, Any]:
        """The spec of a play. `keys`: the key map as JSON; empty: the default."""
        parameters: dict[str, Any] = dict(self.parameters.changed())
        for marked, text in ((OPTIONS_MARK, self.options_text), (KEYS_MARK, keys)):
            if text and (name := self.worker.parameter(marked)):
                parameters[name] = text
        run = dict(self.run.changed())
        run.setdefault("seed", random.randint(0, MOST_RANDOM_SEED))
        return {
            "worker": self.worker.worker.manifest.id,
            "algorithm": self.worker.algorithm.id,
            "environment": self.environment.id,
            "kind": "play",
            "parameters": parameters,
            **run,
        }

    def texts(self) -> dict[str, dict[str, str]]:
        """What was typed, by part, to be remembered."""
        return {part: dict(self.inputs(part).texts) for part in (OPTIONS, PARAMETERS, RUN)}

    def take_texts(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        """Fill the form with what was typed once, where it still has these fields."""
        for part in (OPTIONS, PARAMETERS, RUN):
            inputs = self.inputs(part)
            known = texts.get(part, {})
            inputs.texts = {name: text for name, text in known.items() if name in inputs.fields}


def _option_field(option: EnvironmentOption) -> FormField:
    kind = FieldKind.CHOICE if option.choices else _KINDS[option.type]
    choices: tuple[Value, ...] = tuple(option.choices)
    if option.default is None and choices:
        choices = (None, *choices)
    return FormField(
        name=option.name,
        label=option.name.replace("_", " "),
        kind=kind,
        default=option.default,
        nullable=option.default is None,
        choices=choices,
    )


def _run_fields() -> tuple[FormField, ...]:
    return (
        FormField(
            "seed", tr_mark(mark("seed")), FieldKind.INTEGER, help=tr_mark(_SEED_HELP),
            nullable=True, placeholder=tr_mark(_ANY), minimum=0, maximum=2**32 - 1,
        ),
        FormField(
            "episodes", tr_mark(mark("episodes")), FieldKind.INTEGER, help=tr_mark(_EPISODES_HELP),
            nullable=True, placeholder=tr_mark(_ANY), minimum=1, maximum=2**31,
        ),
    )  # fmt: skip


def _plain(value: Value, form_field: FormField) -> Value:
    """A whole number stays one where the default is one: some environments take no 3.0."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and isinstance(form_field.default, int) else value  # type: ignore[arg-type]
