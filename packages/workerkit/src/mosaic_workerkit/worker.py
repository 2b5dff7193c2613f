"""Base class of a worker: it answers `describe` and `check`, so that the author writes `train` and little else."""

from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from mosaic_base.nearest import nearest_names
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.worker import (
    CHECKPOINT_MARK,
    Algorithm,
    CheckReport,
    Environment,
    WorkerDescription,
)
from mosaic_workerkit.entry import (
    DashboardServer,
    Inspector,
    Replayer,
    RunSender,
    Sweeper,
)
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.parameters import check_parameters

P = TypeVar("P")


class BaseWorker:
    """A worker that is described by its attributes. A subclass sets these and writes `train`.

    `check` refuses algorithms, environments, modes and parameters that the worker does not have. A subclass gives
    further rules in `check_more`. An algorithm with `play=True` needs a method `play`. A method `replay` makes episodes
    of its runs rebuildable, a method `inspect` takes files of other stacks and programs as checkpoints, a method
    `dashboard` serves TensorBoard, a method `sync` sends runs to W&B.
    """

    id: str
    """As in worker.toml."""
    version: str
    title: str
    summary: str = ""
    algorithms: Sequence[Algorithm]
    environments: Sequence[Environment] = ()
    """Known ones; empty: any name is taken. The first one whose action space an algorithm supports is its default,
    where it names none."""
    evaluates: bool = False
    """Whether `play` also does runs of kind `evaluate`, as `mosaic_gymkit.PolicyPlay` does."""
    packages: Sequence[str] = ()
    """Names of the installed packages that decide results."""

    def describe(self) -> WorkerDescription:
        """Return what a client needs to build its lists and forms."""
        return WorkerDescription(
            worker=self.id,
            version=self.version,
            title=self.title,
            summary=self.summary,
            modes=self._modes(),
            record_levels=[level.value for level in RecordLevel],
            algorithms=[
                known.model_copy(
                    update={
                        "default_environment": known.default_environment
                        or self._first_environment(known)
                    }
                )
                for known in self.algorithms
            ],
            environments=list(self.environments),
            packages=package_versions(*self.packages),
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Return what a run would do and what is wrong with it. Nothing is started."""
        findings = Findings()
        arguments = self._checked_arguments(spec, findings)
        plan = {
            "algorithm": spec.algorithm,
            "environment": spec.environment,
            "parameters": arguments,
            "record": spec.record.value,
        }
        return findings.report(plan)

    def check_more(self, spec: RunSpec, arguments: Mapping[str, Any], findings: Findings) -> None:
        """Add findings of your own. Called when all arguments are right by themselves."""

    def arguments(self, spec: RunSpec, parameters: type[P]) -> P:
        """Return the arguments of a run, each with its value, as an instance of the dataclass `parameters`.

        Raises:
            RunRefused: the spec is one that `check` calls blocking.
        """
        findings = Findings()
        values = self._checked_arguments(spec, findings)
        findings.require_none()
        return parameters(**values)

    def _first_environment(self, algorithm: Algorithm) -> str | None:
        spaces = algorithm.action_spaces
        fitting = (
            each.id
            for each in self.environments
            if not spaces or each.action_space is None or each.action_space in spaces
        )
        return next(fitting, None)

    def _checked_arguments(self, spec: RunSpec, findings: Findings) -> dict[str, Any]:
        algorithm = self._find_algorithm(spec, findings)
        if algorithm is None:
            return {}
        self._check_environment(spec, findings)
        self._check_request(spec, findings)
        arguments = self._read_arguments(spec, algorithm, findings)
        self._check_checkpoint(spec, algorithm, arguments, findings)
        if not findings.is_blocked:
            self.check_more(spec, arguments, findings)
        return arguments

    def _find_algorithm(self, spec: RunSpec, findings: Findings) -> Algorithm | None:
        known = {algorithm.id: algorithm for algorithm in self.algorithms}
        if spec.algorithm not in known:
            nearest = nearest_names(spec.algorithm, known)
            words = f"There is no algorithm {spec.algorithm!r} here. Known: {', '.join(known)}."
            findings.block("algorithm", words, ProblemCode.ALGORITHM_UNKNOWN, nearest)
        return known.get(spec.algorithm)

    def _check_environment(self, spec: RunSpec, findings: Findings) -> None:
        known = {environment.id: environment for environment in self.environments}
        if known and spec.environment not in known:
            nearest = nearest_names(spec.environment, known)
            words = f"There is no environment {spec.environment!r} here. Known: {', '.join(known)}."
            findings.block("environment", words, ProblemCode.ENVIRONMENT_UNKNOWN, nearest)

    def _check_request(self, spec: RunSpec, findings: Findings) -> None:
        if spec.kind is RunKind.IMPORT or spec.kind.value not in self._modes():
            words = f"This worker has no mode {spec.kind.value!r}."
            findings.block("kind", words, ProblemCode.SPEC_INVALID)

    def _check_checkpoint(
        self,
        spec: RunSpec,
        algorithm: Algorithm,
        arguments: Mapping[str, Any],
        findings: Findings,
    ) -> None:
        """Refuse a play that does not say what acts."""
        properties = algorithm.parameters["properties"]
        takes = [name for name, part in properties.items() if part.get(CHECKPOINT_MARK) is True]
        if spec.kind.plays and takes and not any(arguments.get(name) for name in takes):
            words = (
                f"A play shows what a checkpoint has learned: -p {takes[0]}=RUN/PATH, or let `./mosaic play RUN` "
                "take the newest of a run."
            )
            findings.block(f"parameters.{takes[0]}", words, ProblemCode.PARAMETER_INVALID)

    def _modes(self) -> list[str]:
        can_play = any(algorithm.play for algorithm in self.algorithms)
        can = {
            RunKind.TRAIN: True,
            RunKind.PLAY: can_play,
            RunKind.EVALUATE: can_play and self.evaluates,
            RunKind.REPLAY: isinstance(self, Replayer),
            RunKind.IMPORT: isinstance(self, Inspector),
            RunKind.DASHBOARD: isinstance(self, DashboardServer),
            RunKind.SWEEP: isinstance(self, Sweeper),
            RunKind.SYNC: isinstance(self, RunSender),
        }
        return [kind.value for kind, has_it in can.items() if has_it]

    def _read_arguments(
        self, spec: RunSpec, algorithm: Algorithm, findings: Findings
    ) -> dict[str, Any]:
        """Return every parameter with its value: the default, the user's, or what a field of the spec sets."""
        set_by_spec = {
            algorithm.seed_parameter: ("seed", spec.seed),
            algorithm.environment_parameter: ("environment", spec.environment),
        }
        if spec.steps is not None:
            set_by_spec[algorithm.steps_parameter] = ("steps", spec.steps)
        fields = {name: setting for name, setting in set_by_spec.items() if name is not None}
        refused = {
            name: f"{name} is set by the field `{key}` of the run; leave the parameter out."
            for name, (key, _value) in fields.items()
        }
        schema = algorithm.parameters
        given = check_parameters(
            spec.parameters, schema, findings, algorithm=algorithm.id, refused=refused
        )
        properties = schema["properties"]
        values = {name: part["default"] for name, part in properties.items() if "default" in part}
        values |= {name: value for name, (_key, value) in fields.items()} | given
        for name in schema.get("required", []):
            if name not in values and name not in spec.parameters:
                words = f"{name} needs a value: -p {name}=VALUE."
                findings.block(f"parameters.{name}", words, ProblemCode.PARAMETER_INVALID)
        return values


def package_versions(*names: str) -> dict[str, str]:
    """Return the version of each package that is installed. It is read from metadata; nothing is imported."""
    versions = {}
    for name in names:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions
