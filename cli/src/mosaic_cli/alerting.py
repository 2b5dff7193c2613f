"""Alert rules on the command line, and targets that are made on the machine of the stack."""

import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path

from mosaic_base.atomic import replace_file
from mosaic_cli.errors import ValueRefused
from mosaic_contracts.alert_rules import AlertError, AlertRule, parse_alert
from mosaic_contracts.alert_words import TARGETS_DIR


def read_alert(text: str) -> AlertRule:
    """Read a rule. Raises ValueRefused, with a line that marks the word."""
    try:
        return parse_alert(text)
    except AlertError as error:
        raise ValueRefused(f"{error.reason}.\n{error.pointed}") from None


def keep_command(home: Path, name: str, line: str) -> list[str]:
    """Write a target that runs a command, which is the user's consent.

    Args:
        home: MOSAIC_HOME of the stack, on this machine.
        name: name of the target.
        line: program and arguments, with quotes as in a shell. No shell reads it.

    Returns:
        Program and arguments; the program as an absolute path.

    Raises:
        ValueRefused: there is no such program, or the folder cannot be written.
    """
    from mosaic_contracts.alerts import AlertTargetFile

    try:
        argv = shlex.split(line)
    except ValueError as error:
        raise ValueRefused(f"The command cannot be read ({error}). Check its quotes.") from None
    program = shutil.which(argv[0]) if argv else None
    if program is None:
        raise ValueRefused(
            f"No program {argv[0]!r} is found." if argv else "Name a program, e.g. notify-send."
        )
    argv[0] = str(Path(program).absolute())
    target = AlertTargetFile(kind="command", argv=argv, created_at=datetime.now(UTC))
    folder = home / TARGETS_DIR
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(folder / f"{name}.json", target.model_dump_json(indent=2) + "\n", mode=0o600)
    except OSError as error:
        raise ValueRefused(f"{folder} cannot be written: {error.strerror}.") from None
    return argv
