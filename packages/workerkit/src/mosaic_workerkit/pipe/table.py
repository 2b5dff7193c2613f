"""Tables that training libraries print, e.g. Stable-Baselines3 and Spinning Up: a block of `| key | value |` rows."""

import re
from typing import Any

from mosaic_workerkit.pipe.number import numbers_of

STEP_KEYS = (
    *("time/total_timesteps", "total_timesteps", "global_step", "step"),
    *("TotalEnvInteracts", "total_env_steps"),
)
"""Names of rows that give the environment step of a table. A table without one is text."""
MAX_ROWS = 1000

_ROW = re.compile(r"\|( *)([^|]*?) *\| *([^|]*?) *\|")
_SUB_INDENT = 4
"""Stable-Baselines3 indents the rows of a section so far; the section's name ends with a slash."""


class PrintedTable:
    """A table that a program prints row by row."""

    def __init__(self) -> None:
        self._rows: dict[str, Any] = {}
        self._section = ""

    @property
    def is_open(self) -> bool:
        """Whether rows wait for the end of their table."""
        return bool(self._rows) or bool(self._section)

    def take(self, text: str) -> bool:
        """Add a row. Return False for a line that is no row, which ends the table."""
        row = _ROW.fullmatch(text)
        if row is None or len(self._rows) >= MAX_ROWS:
            return False
        indent, key, value = row.groups()
        if len(indent) < _SUB_INDENT:
            self._section = key if key.endswith("/") and not value else ""
        if key and value:
            self._rows[f"{self._section}{key}"] = _value(value)
        return True

    def close(self) -> dict[str, Any] | None:
        """End the table and return its fields with the step as `global_step`, or None if it names no step."""
        rows, self._rows, self._section = self._rows, {}, ""
        key = next((key for key in STEP_KEYS if key in rows), None)
        return None if key is None else {"global_step": rows.pop(key), **rows}


def _value(text: str) -> Any:
    numbers = numbers_of(text)
    return numbers[0] if numbers is not None and len(numbers) == 1 else text
