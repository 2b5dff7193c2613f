"""The command line of a run: which words it has, and where it is executed."""

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from mosaic_worker_script.errors import CommandRefused
from mosaic_worker_script.variables import read_variables, split_variables

COMMAND, DIRECTORY, EXPECTED_STEPS = "command", "directory", "expected_steps"
VARIABLES = "variables"
SEED = "{seed}"
"""Replaced by the run's seed, so that a group runs one command line with several."""


@dataclass(frozen=True)
class ScriptCommand:
    """A command line and the folder in which it is executed."""

    argv: list[str]
    directory: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that it gets in addition to those of the stack."""

    def with_seed(self, seed: int) -> "ScriptCommand":
        """The same with the run's seed in the place of `{seed}`."""
        argv = [word.replace(SEED, str(seed)) for word in self.argv]
        return replace(self, argv=argv)

    @property
    def program(self) -> str | None:
        """Path of the program; None: it is not there."""
        name = self.argv[0]
        return shutil.which(str(self.directory / name) if "/" in name else name)

    @property
    def script(self) -> str:
        """The script or module that is run, for people; the program where there is none."""
        words = self.argv[1:]
        for at, word in enumerate(words):
            if word == "-m" and at + 1 < len(words):
                return words[at + 1]
            if not word.startswith("-"):
                return word if word.endswith((".py", ".ipynb")) else self.argv[0]
        return self.argv[0]

    def search_path(self, around: Mapping[str, str]) -> str:
        """PATH for the script: the folder of its interpreter first, as an activated environment has it."""
        own = str(Path(self.argv[0]).parent) if "/" in self.argv[0] else ""
        return os.pathsep.join(part for part in (own, around.get("PATH", os.defpath)) if part)


def read_command(parameters: Mapping[str, object]) -> ScriptCommand:
    """Return the command line of a run.

    Args:
        parameters: of the run's spec.

    Raises:
        CommandRefused: it cannot be executed; the message says what to change.
    """
    text, folder = parameters.get(COMMAND), parameters.get(DIRECTORY)
    if not isinstance(text, str) or not text.strip():
        raise CommandRefused("give the command line, e.g. -p command='python train.py --seed 1'")
    if not isinstance(folder, str) or not Path(folder).is_absolute():
        raise CommandRefused("give the folder to run in, as a whole path: -p directory=/home/...")
    if not Path(folder).is_dir():
        raise CommandRefused(f"the folder {folder} does not exist on the stack's machine")
    try:
        argv = shlex.split(text)
    except ValueError as error:
        raise CommandRefused(f"the command line cannot be split into words: {error}") from error
    variables = read_variables(split_variables(str(parameters.get(VARIABLES) or "")))
    command = ScriptCommand(argv, Path(folder), variables)
    if command.program is None:
        raise CommandRefused(
            f"{argv[0]} is not found or not executable on the stack's machine; write its whole path"
        )
    script = command.script
    if script.endswith((".py", ".ipynb")) and not (command.directory / script).is_file():
        raise CommandRefused(f"there is no script {script} in {folder}")
    return command
