"""A run that is being put together: what was chosen, what is wrong with it, and the spec that follows."""

from dataclasses import dataclass, field, replace
from typing import Any

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RecordLevel
from mosaic_contracts.worker import Algorithm, Environment
from mosaic_gui.state.schema_form import FieldKind, FormField, FormGroup, Inputs, read_schema

RUN_FIELDS = FormGroup(
    "run",
    (
        FormField(
            "seed",
            "seed",
            FieldKind.INTEGER,
            default=1,
            help="Same seed, same result on this kind of machine.",
            minimum=0,
            maximum=2**32 - 1,
        ),
        FormField(
            "steps",
            "steps",
            FieldKind.INTEGER,
            help="Environment steps in all. Empty: the algorithm's own default.",
            nullable=True,
            unit="steps",
            above=0,
        ),
        FormField(
            "cpus",
            "cores",
            FieldKind.INTEGER,
            default=1,
            help="Cores that are reserved for it.",
            minimum=1,
            maximum=1024,
        ),
        FormField(
            "gpus",
            "GPUs",
            FieldKind.INTEGER,
            default=0,
            help="GPUs that are leased to it; with 0 it sees none.",
            minimum=0,
            maximum=64,
        ),
        FormField(
            "record",
            "record",
            FieldKind.CHOICE,
            default=RecordLevel.REPLAY.value,
            help="metrics: curves only. episodes: and each episode's return. replay: and every action, so that any "
            "episode can be shown again. full: and every observation.",
        ),
        FormField(
            "wall_time_s",
            "time limit",
            FieldKind.NUMBER,
            help="Stops the run after so many seconds. Empty: no limit.",
            nullable=True,
            unit="s",
            above=0,
        ),
        FormField(
            "name", "name", FieldKind.TEXT, nullable=True, help="Empty: made of what it trains."
        ),
        FormField(
            "tags",
            "tags",
            FieldKind.TEXT,
            default="",
            help="Words to find it by, with commas between them.",
        ),
    ),
)
"""Fields of a RunSpec that every algorithm has."""


@dataclass
class Draft:
    """One choice of worker, algorithm and environment with everything typed for it."""

    worker: WorkerEntry
    algorithm: Algorithm
    environment: str = ""
    run: Inputs = field(default_factory=Inputs)
    arguments: Inputs = field(default_factory=Inputs)
    consent: str | None = None
    parent: str | None = None

    @classmethod
    def of(cls, worker: WorkerEntry, algorithm: Algorithm) -> "Draft":
        """A fresh one with every default."""
        hidden = (
            algorithm.steps_parameter,
            algorithm.seed_parameter,
            algorithm.environment_parameter,
        )
        groups = read_schema(algorithm.parameters, frozenset(name for name in hidden if name))
        # the algorithm's own arguments before those of every script (names, tracking)
        groups.sort(key=lambda group: group.name == "run")
        return cls(
            worker=worker,
            algorithm=algorithm,
            environment=_first_environment(worker, algorithm),
            run=Inputs((_run_fields(worker, algorithm),)),
            arguments=Inputs(tuple(groups)),
        )

    def faults(self) -> dict[str, str]:
        """What is wrong before anybody is asked: by field of the spec, arguments as `parameters.NAME`."""
        found = dict(self.run.faults())
        found |= {f"parameters.{k}": v for k, v in self.arguments.faults().items()}
        if not self.environment.strip():
            found["environment"] = "choose an environment"
        return found

    def spec(self) -> dict[str, Any]:
        """The spec as it stands; only what differs from the defaults is named."""
        values: dict[str, Any] = dict(self.run.changed())
        if isinstance(tags := values.pop("tags", None), str):
            values["tags"] = [tag.strip() for tag in tags.split(",") if tag.strip()]
        spec: dict[str, Any] = {
            "worker": self.worker.manifest.id,
            "algorithm": self.algorithm.id,
            "environment": self.environment.strip(),
            **values,
            "parameters": dict(self.arguments.changed()),
        }
        for name, value in (("consent", self.consent), ("parent", self.parent)):
            if value is not None:
                spec[name] = value
        return spec

    def fill_from(self, spec: dict[str, Any]) -> None:
        """Take over another run's choices where this algorithm has them."""
        self.environment = str(spec.get("environment") or self.environment)
        for name, form_field in self.run.fields.items():
            value = spec.get(name)
            if name == "tags":
                value = ", ".join(value or ())
            if value is not None:
                self.run.texts[name] = form_field.text(value)
        for name, value in (spec.get("parameters") or {}).items():
            if name in self.arguments.fields:
                self.arguments.texts[name] = self.arguments.fields[name].text(value)


def environments_for(worker: WorkerEntry, algorithm: Algorithm) -> list[Environment]:
    """Those that the algorithm can act in, the ready ones first."""
    if worker.description is None:
        return []
    fitting = [e for e in worker.description.environments if _fits(e, algorithm)]
    return sorted(fitting, key=lambda e: (e.bundle is not None, e.id.casefold()))


def _fits(environment: Environment, algorithm: Algorithm) -> bool:
    if environment.algorithms:
        return algorithm.id in environment.algorithms
    spaces = algorithm.action_spaces
    return not spaces or environment.action_space is None or environment.action_space in spaces


def _first_environment(worker: WorkerEntry, algorithm: Algorithm) -> str:
    offered = environments_for(worker, algorithm)
    ready = [e.id for e in offered if e.bundle is None]
    default = algorithm.default_environment
    if default and (default in ready or not ready):
        return default
    return ready[0] if ready else offered[0].id if offered else ""


def _run_fields(worker: WorkerEntry, algorithm: Algorithm) -> FormGroup:
    levels = worker.description.record_levels if worker.description else []
    known = tuple(levels) or tuple(level.value for level in RecordLevel)
    default = RecordLevel.REPLAY.value if RecordLevel.REPLAY.value in known else known[-1]
    fields = []
    for form_field in RUN_FIELDS.fields:
        if form_field.name == "record":
            form_field = replace(form_field, choices=known, default=default)
        elif form_field.name == "steps":
            form_field = replace(form_field, placeholder=_default_steps(algorithm))
        fields.append(form_field)
    return FormGroup(RUN_FIELDS.name, tuple(fields))


def _default_steps(algorithm: Algorithm) -> str:
    properties = algorithm.parameters.get("properties", {})
    default = properties.get(algorithm.steps_parameter or "", {}).get("default")
    return f"{default:,}" if isinstance(default, int) else ""
