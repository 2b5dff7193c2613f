"""A training script of the user's own as a run: `./mosaic run ./train.py -- ARGUMENTS`."""

import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from mosaic_base.atomic import replace_file
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import err, say
from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.script_variables import read_variables

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.spec import RunSpec

WORKER, ALGORITHM = "script", "command"
_ENDINGS = (".py", ".ipynb")
_ENVIRONMENT = ("env-id", "env", "env-name", "environment", "gym-id", "task")
_SEED = ("seed", "random-seed")
_STEPS = ("total-timesteps", "timesteps", "num-timesteps", "total-steps", "max-steps")
_MOST_NAME = 200
"""Characters of a run's name; a file may have a longer one."""
_LISTENED = (
    "gymnasium, gym and EnvPool (episodes and steps), TensorBoard, W&B, mlflow, Lightning and the loggers of "
    "Stable-Baselines3 and d3rlpy (metrics), tqdm and rich (progress), torch.save, safetensors and model.save "
    "(checkpoints)"
)


class OwnCommand(NamedTuple):
    """What a command line asks to run."""

    argv: list[str]
    directory: Path
    subject: str
    """The script, as a whole path, or the program: what the user agrees to run."""
    variables: Sequence[str] = ()
    """Environment variables for it, as `NAME=VALUE`."""

    def fields(self) -> dict[str, Any]:
        """Fields of a spec; what the script's arguments say of the run is taken from them."""
        said = {
            "environment": _argument(self.argv, _ENVIRONMENT) or UNKNOWN_ENVIRONMENT,
            "seed": _number(_argument(self.argv, _SEED)),
        }
        steps = _number(_argument(self.argv, _STEPS))
        return {
            "worker": WORKER,
            "algorithm": ALGORITHM,
            "parameters": {
                "command": shlex.join(self.argv),
                "directory": str(self.directory),
                **({} if steps is None else {"expected_steps": steps}),
                **({"variables": shlex.join(self.variables)} if self.variables else {}),
            },
            "name": Path(self.subject).name[:_MOST_NAME],
        } | {name: value for name, value in said.items() if value is not None}


def own_command(
    words: Sequence[str | None], python: Path | None, variables: Sequence[str] = ()
) -> OwnCommand | None:
    """The command line that positional arguments of `run` ask for; None: they name a worker.

    Args:
        words: a script (`./train.py`, `train.ipynb`) with its arguments, or `script` with a whole command line.
        python: interpreter of the script; None: the shell's `python`.
        variables: environment variables for it, `NAME=VALUE`, or `NAME` alone for the value of the shell.

    Raises:
        FileProblem: there is no such script or interpreter.
        ValueRefused: no command line was given, or a variable has no value in the shell.
    """
    first, *rest = [word for word in words if word is not None] or [""]
    here = Path.cwd()
    given = with_values(variables)
    if first == WORKER and rest[:1] != [ALGORITHM]:
        if not rest:
            raise ValueRefused(
                "Give the command line: `./mosaic run script -- torchrun --nproc-per-node 2 train.py`."
            )
        program = shutil.which(rest[0])
        if program is None:
            raise FileProblem(f"{rest[0]} is not found in PATH, or is not executable.")
        return OwnCommand(
            [str(Path(program).absolute()), *rest[1:]], here, _subject(program, rest), given
        )
    if not first.endswith(_ENDINGS):
        return None
    script = (here / first).absolute()
    if not script.is_file():
        raise FileProblem(f"There is no script {first}.")
    interpreter = str(script_interpreter(python))
    if script.suffix == ".ipynb":
        argv = [interpreter, "-m", "jupyter", "execute", first, *rest]
    else:
        argv = [interpreter, first, *rest]
    return OwnCommand(argv, here, str(script), given)


def with_consent(
    client: "Client", spec: "RunSpec", command: OwnCommand, agreed: Path, *, yes: bool
) -> "RunSpec":
    """The spec with the consent that running the command takes; asks the first time for each script.

    Args:
        agreed: file with what the user has agreed to run.
        yes: agree without being asked.

    Raises:
        ValueRefused: nobody can be asked.
        typer.Abort: the user does not agree.
    """
    known = _read_agreed(agreed)
    if command.subject not in known:
        say(
            f"This command runs as you, outside of any container, in {command.directory}:\n"
            f"  {shlex.join(command.argv)}\n"
            f"MOSAIC listens to {_LISTENED}. It changes nothing that the script computes."
        )
        if not yes:
            if not sys.stdin.isatty():
                raise ValueRefused("Agree to that by --yes; it is asked once for each script.")
            typer.confirm("Run it?", abort=True, err=True)
        agreed.parent.mkdir(parents=True, exist_ok=True)
        replace_file(agreed, json.dumps([*known, command.subject], indent=1))
    digest = client.preflight(spec).digest
    return spec.model_copy(update={"consent": digest})


def with_values(variables: Sequence[str]) -> list[str]:
    """Variables as `NAME=VALUE`; `NAME` alone gets its value from the shell.

    Raises:
        ValueRefused: the shell has no such variable, or a run may not set it: MOSAIC does, or it is a secret.
    """
    words = []
    for variable in variables:
        if "=" not in variable and variable not in os.environ:
            raise ValueRefused(
                f"Your shell has no variable {variable}. Give a value: {variable}=VALUE."
            )
        words.append(variable if "=" in variable else f"{variable}={os.environ[variable]}")
    try:
        read_variables(words)
    except ValueError as error:
        raise ValueRefused(f"--env-var: {error}.") from error
    return words


def _read_agreed(path: Path) -> list[str]:
    try:
        known = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        err.print(f"{path} cannot be read, so you are asked again: {error}")
        return []
    return [str(one) for one in known] if isinstance(known, list) else []


def script_interpreter(python: Path | None) -> Path:
    """The interpreter of a script: the one named, else the shell's `python`.

    Raises:
        FileProblem: there is none.
    """
    if python is not None:
        found = shutil.which(python.expanduser())
        if found is None:
            raise FileProblem(f"{python} is no program. Give --python the path of an interpreter.")
        return Path(found).absolute()
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None:
            return Path(found).absolute()
    raise FileProblem("No `python` is found in PATH. Activate an environment, or give --python.")


def _subject(program: str, words: list[str]) -> str:
    for word in words[1:]:
        if word.endswith(_ENDINGS):
            return str(Path(word).absolute())
    return program


def _argument(argv: list[str], names: tuple[str, ...]) -> str | None:
    """The value of the first of these options in a command line."""
    pattern = re.compile(rf"--?({'|'.join(names)})(=(.+))?", re.IGNORECASE)
    for at, word in enumerate(argv):
        found = pattern.fullmatch(word.replace("_", "-")) if word.startswith("-") else None
        if found is None:
            continue
        if "=" in word:
            return word.partition("=")[2]
        if at + 1 < len(argv) and not argv[at + 1].startswith("-"):
            return argv[at + 1]
    return None


def _number(text: str | None) -> int | None:
    try:
        number = float(text) if text is not None else -1.0
    except ValueError:
        return None
    return int(number) if 0 < number < 2**32 and number.is_integer() else None
