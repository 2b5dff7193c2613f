"""A draft of a run, or of a group of runs: choices, faults, and the spec made from them."""

import math
from dataclasses import dataclass, field
from typing import Any

from mosaic_contracts.group_words import MAX_GROUP_RUNS
from mosaic_contracts.run_command import run_command
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_contracts.worker import Algorithm, Environment
from mosaic_gui.state.edit_history import EditHistory, FormSnapshot, SpecDiff
from mosaic_gui.state.inputs import Inputs
from mosaic_gui.state.language import grouped, program_name, tr
from mosaic_gui.state.limits import UNKNOWN, Limits
from mosaic_gui.state.run_fields import run_groups
from mosaic_gui.state.schema_form import read_schema
from mosaic_gui.state.tracking import TrackerForm, part_tracking
from mosaic_gui.state.value_list import list_text

_AFTER = {"outputs": 1, "run": 2}
"""Groups that follow the algorithm's own arguments: further outputs, and what every script has."""


_LISTS = {"tags": ",", "alerts": ";"}
"""Fields with several texts in one line, and what separates them."""


@dataclass(frozen=True)
class Origin:
    """The run that a draft was copied from."""

    run_id: str
    name: str
    typed: FormSnapshot
    lost: tuple[str, ...] = ()
    """Its parameters that this algorithm does not have (any more)."""


@dataclass
class SpecDraft:
    """One choice of worker, algorithm and environment with everything typed for it."""

    worker: WorkerEntry
    algorithm: Algorithm
    environment: str = ""
    run: Inputs = field(default_factory=Inputs)
    arguments: Inputs = field(default_factory=Inputs)
    tracking: TrackerForm | None = None
    """Those of the arguments that steer a tracker; their group is the last one of `arguments`."""
    consent: str | None = None
    origin: Origin | None = None
    history: EditHistory = field(default_factory=lambda: EditHistory(FormSnapshot("", {}, {})))

    @classmethod
    def of(cls, worker: WorkerEntry, algorithm: Algorithm, limits: Limits = UNKNOWN) -> "SpecDraft":
        """A new draft with default values."""
        hidden = (
            algorithm.steps_parameter,
            algorithm.seed_parameter,
            algorithm.environment_parameter,
        )
        groups = read_schema(algorithm.parameters, frozenset(name for name in hidden if name))
        groups, tracking = part_tracking(worker, groups)
        groups.sort(key=lambda group: _AFTER.get(group.name, 0))
        draft = cls(
            worker=worker,
            algorithm=algorithm,
            environment=_first_environment(worker, algorithm),
            run=Inputs(run_groups(worker, algorithm, limits)),
            arguments=Inputs((*groups, tracking.group) if tracking else tuple(groups)),
            tracking=tracking,
        )
        draft.history = EditHistory(draft.snapshot())
        return draft

    def limit(self, limits: Limits) -> bool:
        """Apply the machine's limits; return whether they changed."""
        groups = run_groups(self.worker, self.algorithm, limits)
        is_new = groups != self.run.groups
        self.run.groups = groups
        return is_new

    @property
    def unused(self) -> frozenset[str]:
        """Names of arguments without a meaning in the tracker's mode."""
        texts = self.arguments.texts
        return self.tracking.unused(texts) if self.tracking is not None else frozenset()

    def faults(self) -> dict[str, str]:
        """Faults that the client finds itself, by field of the spec; arguments are `parameters.NAME`."""
        found = dict(self.run.faults())
        found |= {
            f"parameters.{k}": v for k, v in self.arguments.faults().items() if k not in self.unused
        }
        if why := why_not_startable(self.algorithm):
            return found | {"algorithm": why}
        if not self.environment.strip():
            found["environment"] = tr("choose an environment")
        if not found and self.size > MAX_GROUP_RUNS:
            found[self._first_list()] = tr(
                "{n} runs are more than the {most} that start together",
                n=grouped(self.size),
                most=grouped(MAX_GROUP_RUNS),
            )
        return found

    @property
    def environments(self) -> list[str]:
        """The environments; several stand between commas."""
        return [name.strip() for name in self.environment.split(",") if name.strip()]

    @property
    def size(self) -> int:
        """Number of runs: one for each combination of what has several values."""
        return math.prod(map(len, self._axes().values()))

    def _axes(self) -> dict[str, list[Any]]:
        """Values of each part that has several, by its place in the spec."""
        arguments = self.arguments.lists()
        found: dict[str, list[Any]] = {"seed": self.run.lists().get("seed", [])}
        found["environment"] = self.environments
        found |= {f"parameters.{k}": v for k, v in arguments.items() if k not in self.unused}
        return {place: values for place, values in found.items() if len(values) > 1}

    def _first_list(self) -> str:
        return next(iter(self._axes()))

    def group(self) -> dict[str, Any] | None:
        """The GroupSpec of all runs; None: there is one run."""
        axes = self._axes()
        if not axes:
            return None
        run = self.spec()
        name = run.pop("name", None)
        parameters = {
            place.removeprefix("parameters."): values
            for place, values in axes.items()
            if place.startswith("parameters.")
        }
        run["parameters"] = {k: v for k, v in run["parameters"].items() if k not in parameters}
        return {
            "run": run,
            "seeds": axes.get("seed", []),
            "environments": axes.get("environment", []),
            "parameters": parameters,
            **({"name": name} if name else {}),
        }

    def typed_spec(self) -> dict[str, Any]:
        """The spec with lists in place of values, for `fill_from` alone."""
        spec, axes = self.spec(), self._axes()
        for place, values in axes.items():
            part, _, name = place.rpartition(".")
            if place == "environment":
                spec["environment"] = self.environment
            elif None not in values:
                (spec[part] if part else spec)[name] = values
        return spec

    def command(self) -> str:
        """The command that starts the same."""
        group = self.group() or {}
        lists = {name: group[name] for name in ("seeds", "environments", "parameters") if group}
        return run_command(self.spec(), program=program_name(), **lists)

    def spec(self) -> dict[str, Any]:
        """The spec as it stands, of several runs the first one; only what differs from the defaults is named."""
        values: dict[str, Any] = dict(self.run.changed())
        for name, separator in _LISTS.items():
            if isinstance(text := values.pop(name, None), str):
                values[name] = [one.strip() for one in text.split(separator) if one.strip()]
        spec: dict[str, Any] = {
            "worker": self.worker.manifest.id,
            "algorithm": self.algorithm.id,
            "environment": (self.environments or [""])[0],
            **values,
            "parameters": dict(self.arguments.changed()),
        }
        if self.consent is not None:
            spec["consent"] = self.consent
        if self.origin is not None:
            spec["parent"] = self.origin.run_id
        return self.tracking.write(spec) if self.tracking is not None else spec

    def snapshot(self) -> FormSnapshot:
        """A snapshot of what was typed."""
        return FormSnapshot(self.environment, dict(self.run.texts), dict(self.arguments.texts))

    def restore(self, snapshot: FormSnapshot) -> None:
        """Restore a snapshot."""
        self.environment = snapshot.environment
        self.run.texts = dict(snapshot.run)
        self.arguments.texts = dict(snapshot.arguments)

    def fill_from(self, spec: dict[str, Any], run_id: str = "", name: str = "") -> None:
        """Take over another run's choices where this algorithm has them; with its id the new run is its child."""
        self.environment = str(spec.get("environment") or self.environment)
        self.run.texts, self.arguments.texts = {}, {}
        for field_name, form_field in self.run.fields.items():
            value = spec.get(field_name)
            if field_name == "internet" and WANDB_SECRET in (spec.get("secrets") or ()):
                value = None  # its tracker asked for that, and does so again if it is on here
            if field_name in _LISTS:
                value = f"{_LISTS[field_name]} ".join(value or ())
            if value is not None:
                self.run.texts[field_name] = list_text(form_field, value)
        lost = []
        given = spec.get("parameters") or {}
        given = self.tracking.read(given) if self.tracking is not None else given
        for field_name, value in given.items():
            if field_name in self.arguments.fields:
                form_field = self.arguments.fields[field_name]
                self.arguments.texts[field_name] = list_text(form_field, value)
            elif field_name != self.algorithm.steps_parameter:
                lost.append(field_name)
            else:
                self.run.texts.setdefault("steps", str(value))
        if run_id:
            self.origin = Origin(run_id, name, self.snapshot(), tuple(lost))

    def differences(self) -> list[SpecDiff]:
        """Fields that differ from the run that the draft was copied from."""
        if self.origin is None:
            return []
        before, now = self.origin.typed, self.snapshot()
        found = []
        if before.environment != now.environment:
            found.append(SpecDiff(tr("environment"), before.environment, now.environment))
        for inputs, was, typed in (
            (self.run, before.run, now.run),
            (self.arguments, before.arguments, now.arguments),
        ):
            for name, form_field in inputs.fields.items():
                default = form_field.text(form_field.default)
                texts = was.get(name, default), typed.get(name, default)
                if not form_field.is_same(*texts):
                    found.append(SpecDiff(form_field.label, *map(form_field.word, texts)))
        return found


def why_not_startable(algorithm: Algorithm) -> str:
    """Why no run of an algorithm can start on this machine; empty: one can."""
    if algorithm.unavailable or not algorithm.install:
        return algorithm.unavailable
    return tr("Not installed. {command} installs it.", command=algorithm.install)


def environments_for(worker: WorkerEntry, algorithm: Algorithm) -> list[Environment]:
    """Environments of an algorithm, the ready ones first."""
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
