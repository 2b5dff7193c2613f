"""`program.toml`: which programs a worker has, with what arguments they are started."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, model_validator

from mosaic_base.nearest import nearest_names
from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.id_fields import WorkerIdField
from mosaic_contracts.models import UserModel
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import CHECKPOINT_MARK
from mosaic_workerkit.compat import tomllib
from mosaic_workerkit.pipe.errors import ProgramFileInvalid, ProgramRefused

_PLACEHOLDER = re.compile(r"\{([a-z_][a-z0-9_]*)\}")
SEED, STEPS, ENVIRONMENT = "seed", "steps", "environment"
HERE, RUN_DIR, RUN_ID = "here", "run_dir", "run_id"
WHEN_TRUE, WHEN_FALSE = "x-when-true", "x-when-false"
"""Keys in the schema of a boolean parameter: the words that the program gets in place of `{name}`."""
OF_THE_RUN = frozenset({SEED, STEPS, ENVIRONMENT, HERE, RUN_DIR, RUN_ID})
"""Placeholders that are no parameters: fields of the run's spec, and paths."""


class Program(UserModel):
    """One program, which is one algorithm of the worker."""

    command: list[str] = Field(min_length=1)
    """argv. `{name}` is replaced, in each word by itself: no shell sees it. A boolean parameter can become a word of
    its own, or none (`x-when-true`, `x-when-false`)."""
    title: str = ""
    summary: str = ""
    directory: str = "{run_dir}"
    """Folder in which the program is started; `{here}` is the folder of program.toml."""
    steps: int | None = Field(default=None, gt=0)
    """Value of `{steps}` if the run sets none."""
    tells: list[str] = Field(default_factory=list)
    """Families of namespaced events that the program prints, e.g. `bdi` for `bdi.intention`."""
    parameters: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """JSON Schema of each parameter; `{name}` in the command is its value."""

    @model_validator(mode="after")
    def _is_whole(self) -> "Program":
        used = {name for word in self.command for name in _PLACEHOLDER.findall(word)}
        taken = sorted(OF_THE_RUN & set(self.parameters))
        unknown = sorted(used - OF_THE_RUN - set(self.parameters))
        unused = sorted(set(self.parameters) - used)
        if taken:
            raise ValueError(
                f"parameter {taken[0]!r} has the name of a field of the run; rename it"
            )
        if unknown:
            raise ValueError(f"the command has {{{unknown[0]}}}, which is no parameter; declare it")
        if unused:
            raise ValueError(f"parameter {unused[0]!r} is not in the command; add {{{unused[0]}}}")
        for name, schema in self.parameters.items():
            if schema.get("type") == "boolean" and not isinstance(
                schema.get("default", True), bool
            ):
                raise ValueError(f"the default of boolean parameter {name!r} is not true or false")
            if WHEN_TRUE in schema or WHEN_FALSE in schema:
                self._check_switch(name, schema)
        return self

    def _check_switch(self, name: str, schema: dict[str, Any]) -> None:
        """Refuse words of a boolean parameter that could not be placed."""
        if schema.get("type") != "boolean":
            raise ValueError(f"parameter {name!r} has {WHEN_TRUE} or {WHEN_FALSE}; make it boolean")
        for key in (WHEN_TRUE, WHEN_FALSE):
            words = schema.get(key, "")
            if not isinstance(words, str) and not (
                isinstance(words, list) and all(isinstance(word, str) for word in words)
            ):
                raise ValueError(f"{key} of parameter {name!r} is a text or a list of texts")
        place = f"{{{name}}}"
        if (
            any(place in word and word != place for word in self.command)
            or self.command[0] == place
        ):
            raise ValueError(
                f"{place} has words of its own; write it as a word by itself, not first"
            )

    @property
    def placeholders(self) -> set[str]:
        """Return the names that the command uses."""
        return {name for word in self.command for name in _PLACEHOLDER.findall(word)}

    def values(self, spec: RunSpec) -> dict[str, Any]:
        """Return the value of each parameter in this run.

        Raises:
            ProgramRefused: an unknown one, one without a default that was not given, or a boolean one that is not
            true or false.
        """
        for name in spec.parameters:
            if name not in self.parameters:
                near = nearest_names(name, self.parameters)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {_list(self.parameters)}"
                raise ProgramRefused(f"{spec.algorithm} has no parameter {name!r}; {hint}")
        values = {name: s["default"] for name, s in self.parameters.items() if "default" in s}
        values |= spec.parameters
        missing = [name for name in self.parameters if values.get(name) is None]
        if missing:
            raise ProgramRefused(f"give a value for {missing[0]}: -p {missing[0]}=VALUE")
        for name, schema in self.parameters.items():
            if schema.get("type") == "boolean" and not isinstance(values[name], bool):
                raise ProgramRefused(f"{name} is {values[name]!r}; give true or false")
        return values

    def total_steps(self, spec: RunSpec) -> int | None:
        """Return the environment steps of the run, if known."""
        return spec.steps or self.steps

    def argv(self, spec: RunSpec, places: Mapping[str, str]) -> list[str]:
        """Return the command line of a run.

        Args:
            spec: the run's spec.
            places: paths and id by the names `here`, `run_dir` and `run_id`.

        Raises:
            ProgramRefused: as for `values`, or the program needs the number of steps and the spec has none.
        """
        steps = self.total_steps(spec)
        if STEPS in self.placeholders and steps is None:
            raise ProgramRefused("say how many steps: --steps N (program.toml has no default)")
        fields = {SEED: spec.seed, STEPS: steps, ENVIRONMENT: spec.environment}
        given = {
            name: self._placed(name, value, places) for name, value in self.values(spec).items()
        }
        texts = {name: _word(value) for name, value in {**fields, **places, **given}.items()}
        argv: list[str] = []
        for word in self.command:
            switch = self._switch(word, given)
            if switch is None:
                argv.append(_PLACEHOLDER.sub(lambda found: texts[found[1]], word))
            else:
                argv += switch
        return argv

    def _switch(self, word: str, given: Mapping[str, Any]) -> list[str] | None:
        """The words that pass a boolean parameter; None when `word` is no such parameter.

        Raises:
            ProgramRefused: the value is false, and program.toml does not say how the program gets that.
        """
        name = word[1:-1] if _PLACEHOLDER.fullmatch(word) else ""
        schema = self.parameters.get(name, {})
        if WHEN_TRUE in schema or WHEN_FALSE in schema:
            words = schema.get(WHEN_TRUE if given[name] else WHEN_FALSE, "")
            return words if isinstance(words, list) else [words] if words else []
        for name in _PLACEHOLDER.findall(word):
            if given.get(name) is False:
                # bool("false") is true in Python, so argparse's type=bool would run what was not asked for.
                raise ProgramRefused(
                    f"{name} is false, and program.toml does not say which word means that. In "
                    f"[algorithms.NAME.parameters.{name}] give {WHEN_TRUE} and {WHEN_FALSE} (empty: no word), and "
                    f"write {{{name}}} as a word by itself"
                )
        return None

    def _placed(self, name: str, value: Any, places: Mapping[str, str]) -> Any:
        """A checkpoint lies in the run folder, and the program may be started elsewhere."""
        if self.parameters[name].get(CHECKPOINT_MARK) is True and isinstance(value, str):
            return str(Path(places[RUN_DIR]) / value)
        return value


class ProgramFile(UserModel):
    """Content of a program.toml."""

    id: WorkerIdField
    """Id of the worker, as in the worker.toml whose command names this file."""
    title: str
    summary: str = ""
    environments: list[str] = Field(default_factory=list)
    """Known environments; an empty list permits any name."""
    algorithms: dict[str, Program] = Field(min_length=1)


def read_program_file(path: Path) -> ProgramFile:
    """Read a program.toml.

    Raises:
        ProgramFileInvalid: it cannot be read, or says something that cannot be.
    """
    try:
        return ProgramFile.model_validate(tomllib.loads(path.read_text()))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProgramFileInvalid(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        faults = [
            f"{fault_place(fault)}: {fault_text(fault)}"
            for fault in error.errors(include_url=False)
        ]
        raise ProgramFileInvalid(f"{path}: {'; '.join(faults)}") from error


def find_executable(argv: list[str], directory: str) -> str | None:
    """Return the path of the program, from PATH or relative to its start folder; None if there is none."""
    if "/" in argv[0]:
        return shutil.which(str(Path(directory) / argv[0]))
    return shutil.which(argv[0])


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "none"
