"""A script that was added to the roster (`./mosaic add`): its arguments are the parameters of runs."""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.id_fields import WorkerIdField
from mosaic_contracts.models import UserModel
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.spec import ParameterValue, RecordLevel, RunSpec
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.worker import (
    CHECKPOINT_MARK,
    Algorithm,
    CheckReport,
    Environment,
    WorkerDescription,
)
from mosaic_worker_script.arguments import ScriptArgument, read_arguments
from mosaic_worker_script.command import ScriptCommand
from mosaic_worker_script.errors import CommandRefused, ScriptUnreadable
from mosaic_worker_script.running import LISTENED, run_script
from mosaic_worker_script.variables import read_variables
from mosaic_worker_script.worker import VERSION
from mosaic_workerkit.compat import tomllib
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.findings import Findings
from mosaic_workerkit.parameters import check_parameters
from mosaic_workerkit.pipe.child import Ending

_SEED = ("seed", "random_seed")
_STEPS = (
    "total_timesteps",
    "total_steps",
    "timesteps",
    "num_timesteps",
    "max_steps",
    "n_steps_total",
)
_ENVIRONMENT = ("env_id", "env", "env_name", "environment", "gym_id", "task")


class ScriptFile(UserModel):
    """Content of a script.toml, which `./mosaic add` writes. Relative paths begin at its folder."""

    id: WorkerIdField
    title: str
    script: str = Field(min_length=1)
    """Path of the script."""
    python: str = Field(min_length=1)
    """Path of its interpreter."""
    directory: str = Field(min_length=1)
    """Folder in which it runs."""
    words: list[str] = Field(default_factory=list)
    """Arguments of every run, in front of those of the run."""
    variables: list[str] = Field(default_factory=list)
    """Environment variables of every run, as `NAME=VALUE`."""
    resume_argument: str | None = None
    """Argument by which the script begins with a file that an earlier run has saved; None: it has none."""


def read_script_file(path: Path) -> ScriptFile:
    """Read a script.toml.

    Raises:
        ScriptUnreadable: it cannot be read, or says something that cannot be.
    """
    try:
        file = ScriptFile.model_validate(tomllib.loads(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScriptUnreadable(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        faults = [f"{fault_place(one)}: {fault_text(one)}" for one in error.errors()]
        raise ScriptUnreadable(f"{path}: {'; '.join(faults)}") from error
    here = path.absolute().parent
    paths = {name: getattr(file, name) for name in ("script", "python", "directory")}
    return file.model_copy(update={name: str(here / value) for name, value in paths.items()})


@dataclass
class _Plan(Findings):
    """What a spec asks of the script, and why it cannot be."""

    words: list[str] | None = None
    values: dict[str, ParameterValue] | None = None
    """Every argument with the value that the run gives it, or the default as the script has it."""
    variables: dict[str, str] = field(default_factory=dict)


class AddedScript:
    """A worker with one algorithm: the script. Its arguments are read from the script each time."""

    def __init__(self, file: ScriptFile) -> None:
        self._file = file
        self.ending: Ending | None = None
        """How the script ended, once it has."""

    @property
    def algorithm(self) -> str:
        """Id of the algorithm: the script's name without its ending."""
        return re.sub(r"[^A-Za-z0-9_-]+", "_", Path(self._file.script).stem) or "script"

    def describe(self) -> WorkerDescription:
        """Return the script's arguments as the parameters of one algorithm.

        Raises:
            ScriptUnreadable: the script cannot be read, or lacks the argument for a checkpoint.
        """
        arguments = read_arguments(Path(self._file.script))
        self._require_resume_argument(arguments)
        by_name = {argument.name: argument for argument in arguments}
        environment = _first(by_name, _ENVIRONMENT)
        default = by_name[environment].default if environment else None
        choices = by_name[environment].choices if environment else ()
        if choices and default is not None:
            choices = tuple(dict.fromkeys([*choices, default]))
        return WorkerDescription(
            worker=self._file.id,
            version=VERSION,
            title=self._file.title,
            summary=f"Runs {self._file.script} as it is.",
            record_levels=[level.value for level in RecordLevel],
            algorithms=[
                Algorithm(
                    id=self.algorithm,
                    title=Path(self._file.script).name,
                    summary="A script of your own." if arguments else "It declares no arguments.",
                    parameters=self._schema(arguments),
                    default_environment=str(default) if default else UNKNOWN_ENVIRONMENT,
                    steps_parameter=_number(by_name, _STEPS),
                    seed_parameter=_number(by_name, _SEED),
                    environment_parameter=environment,
                    warm_start=self._file.resume_argument is not None,
                    resumes=False,
                )
            ],
            # Without choices it takes whatever the script can make, which is not known here.
            environments=[Environment(id=str(choice)) for choice in choices],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Return the command that would be executed."""
        plan = self._plan(spec)
        if plan.is_blocked:
            return CheckReport(ok=False, findings=plan.findings)
        command = self._command(plan)
        return CheckReport(
            ok=True,
            findings=plan.findings,
            plan={
                "argv": command.argv,
                "directory": self._file.directory,
                "variables": plan.variables,
                "parameters": plan.values,
                "listens_to": LISTENED,
                "record": spec.record.value,
            },
        )

    def train(self, context: TrainContext) -> None:
        """Run the script to its end.

        Raises:
            ScriptUnreadable: the spec is one that `check` calls blocking.
            SystemExit: with the script's own exit code when that is not 0.
        """
        plan = self._plan(self._with_input(context.spec, context.run_dir))
        if plan.is_blocked:
            raise ScriptUnreadable(plan.refusal)
        steps = _first(plan.values or {}, _STEPS)
        total = (plan.values or {}).get(steps) if steps else None
        self.ending = run_script(
            context,
            self._command(plan),
            dict(plan.values or {}),
            int(total) if isinstance(total, int | float) else None,
        )
        if self.ending.code:
            sys.exit(self.ending.code)

    def _with_input(self, spec: StoredSpec, run_dir: Path) -> StoredSpec:
        """The spec with the whole path of the checkpoint, which lies in the run's folder; the script runs elsewhere."""
        name = self._file.resume_argument
        value = spec.parameters.get(name) if name is not None else None
        if name is None or not isinstance(value, str) or value.startswith(("/", "~")):
            return spec
        return spec.model_copy(
            update={"parameters": {**spec.parameters, name: str(run_dir / value)}}
        )

    def _command(self, plan: _Plan) -> ScriptCommand:
        argv = [self._file.python, self._file.script, *self._file.words, *(plan.words or [])]
        return ScriptCommand(argv, Path(self._file.directory), plan.variables)

    def _require_resume_argument(self, arguments: list[ScriptArgument]) -> None:
        """Refuse a name that is no argument of the script, or one whose value can be no path."""
        name = self._file.resume_argument
        takes_paths = [one.name for one in arguments if one.type in (None, "string")]
        if name is not None and name not in takes_paths:
            raise ScriptUnreadable(
                f"{self._file.script} has no argument {name!r} that takes a path (--resume-arg of `./mosaic add`). It "
                f"has: {', '.join(takes_paths) or 'none'}. Add it again with `--replace`."
            )

    def _schema(self, arguments: list[ScriptArgument]) -> dict[str, Any]:
        properties = {argument.name: argument.schema() for argument in arguments}
        if self._file.resume_argument in properties:
            properties[self._file.resume_argument][CHECKPOINT_MARK] = True
        return {
            "type": "object",
            "properties": properties,
            "required": [argument.name for argument in arguments if argument.required],
            "additionalProperties": False,
        }

    def _plan(self, spec: RunSpec | StoredSpec) -> _Plan:
        plan = _Plan()
        try:
            plan.variables = read_variables(self._file.variables)
        except CommandRefused as error:
            plan.block("worker", f"in its script.toml, {error}", ProblemCode.PARAMETER_INVALID)
        arguments = read_arguments(Path(self._file.script))
        by_name = {argument.name: argument for argument in arguments}
        given: dict[str, ParameterValue] = {}
        for names, value in (
            (_SEED, spec.seed),
            (_STEPS, spec.steps),
            (_ENVIRONMENT, None if spec.environment == UNKNOWN_ENVIRONMENT else spec.environment),
        ):
            name = _first(by_name, names)
            if name is not None and value is not None:
                given[name] = value
        asked = check_parameters(
            dict(spec.parameters), self._schema(arguments), plan, algorithm=self.algorithm
        )
        given |= asked
        for argument in arguments:
            if argument.required and given.get(argument.name) is None:
                words = f"give a value: -p {argument.name}=VALUE"
                plan.block(f"parameters.{argument.name}", words, ProblemCode.PARAMETER_INVALID)
        positional = [one for one in arguments if not one.flag]
        options = [one for one in arguments if one.flag]
        plan.words = [
            word
            for argument in (*options, *positional)
            if argument.name in given
            for word in argument.words(given[argument.name])
        ]
        plan.values = {one.name: given.get(one.name, one.default) for one in arguments}
        return plan


def _first(known: Any, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in known), None)


def _number(known: dict[str, ScriptArgument], names: tuple[str, ...]) -> str | None:
    """The argument that takes a number of the run; one of another type is a parameter like any other."""
    name = _first(known, names)
    return name if name is not None and known[name].type in ("integer", "number") else None
