"""Makes a run's events of what a program prints. A line that cannot be kept is counted and reported, never fatal."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_text
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.pipe import schema
from mosaic_workerkit.pipe.episodes import Episodes
from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.flat import FlatLines
from mosaic_workerkit.pipe.lines import OutputLine
from mosaic_workerkit.pipe.reading import (
    BYTE_ORDER_MARK,
    Fields,
    HugeNumber,
    has_long_number,
    may_be_pairs,
    number_of,
    outer_fields,
    plain_text,
    read_objects,
    read_plain_object,
    scan_objects,
    storable,
)
from mosaic_workerkit.pipe.table import PrintedTable
from mosaic_workerkit.pipe.typed import TypedLines
from mosaic_workerkit.telemetry import Telemetry

REPORTED_EACH = 5
"""Number of refusals of one kind that are reported by an event each. The rest is counted."""
LATE_CONFIG = "program.config"
CONFIG_WAIT_S = 5.0
"""Seconds that a program has from its first output to its own config line."""
_READ = (b"{", b"|", b" ", b"\t", b"\x1b", BYTE_ORDER_MARK)
"""How a line begins that may be an event, and no pairs."""


class Translator:
    """Records one program's output lines as events, in order.

    Args:
        config: what is known of the run before the program says anything.
        directory: where the program was started; files that it names are looked for there first.
    """

    def __init__(self, telemetry: Telemetry, config: Fields, directory: Path) -> None:
        self._telemetry = telemetry
        self._config = config
        self._has_begun = False
        self._first_output_at: float | None = None
        self._episodes = Episodes(telemetry)
        self._shown_step = 0
        self._flat = FlatLines(telemetry, self._episodes, self.refuse)
        self._table = PrintedTable()
        self._typed = TypedLines(
            telemetry, self._episodes, lambda: self._config["spaces"], directory
        )
        self.events_read = 0
        """Lines that became events."""
        self.refused: Counter[str] = Counter()

    @property
    def has_begun(self) -> bool:
        """Whether the config event is written."""
        return self._has_begun

    def note_output(self) -> None:
        """Note that the program has printed something, on stdout or stderr."""
        if self._first_output_at is None:
            self._first_output_at = time.monotonic()

    def tick(self) -> None:
        """Write the config of a program that prints, and had its time to print its own.

        Of a program that has printed nothing no event is written, for its first event says that it has started.
        """
        if (
            self._first_output_at is not None
            and time.monotonic() - self._first_output_at > CONFIG_WAIT_S
        ):
            self.begin()

    def begin(self) -> None:
        """Write the config event, if it is not written yet."""
        if not self._has_begun:
            self._has_begun = True
            self._telemetry.config(self._config)
            self._telemetry.lifecycle("training")
            self._telemetry.progress(0, self._config.get("total_steps"))

    def take_all(self, lines: Iterable[bytes | OutputLine]) -> None:
        """Read the lines of one chunk. Bytes are a complete line."""
        for line in lines:
            if not isinstance(line, bytes):
                self.take(line)
            elif self._table.is_open:
                self.take(OutputLine(line, len(line)))
            elif line.startswith(b"{"):
                if self._has_begun:
                    self._take_object(line)
                else:
                    self.take(OutputLine(line, len(line)))
            elif line.startswith(b"global_step=") or (b"step" in line and may_be_pairs(line)):
                if self._has_begun and self._flat.take_pairs(line):
                    self.events_read += 1
                else:
                    self.take(OutputLine(line, len(line)))
            elif line.startswith(_READ) or b"\0" in line:
                self.take(OutputLine(line, len(line)))
        self._show_progress()

    def _take_object(self, line: bytes) -> None:
        """Record a line that begins like an object, in the fewest steps for the usual forms."""
        if line.startswith(b'{"type"'):
            typed = schema.plain_line(line)
            if typed is not None:
                self._guard(self._typed.take, typed, line)
                return
        fields = read_plain_object(line)
        if fields is not None and self._flat.take_numbers(fields):
            self.events_read += 1
        elif fields is not None and not has_long_number(line):
            self._guard(self._translate, fields, line)
        else:
            self._take_objects(*scan_objects(plain_text(line)), line)

    def take(self, line: OutputLine) -> None:
        """Read one line of any form."""
        if line.is_whole:
            self._take_text(line)
            return
        self._lose_step(outer_fields(*line.ends))
        self.refuse(
            "line_too_long",
            f"a line of {line.size} bytes is read as no event; it stands whole in the log. Write data "
            'to a file and print {"type": "artifact", "path": ...}',
            line,
        )

    def _take_text(self, line: OutputLine) -> None:
        text = plain_text(line.data)
        if text.startswith(b"|") and self._table.take(text.decode(errors="replace")):
            return
        self._end_table()
        self._take_objects(*read_objects(text), line)

    def _take_objects(
        self, objects: list[Fields], error: LineRefused | None, line: OutputLine | bytes
    ) -> None:
        for fields in objects:
            self._guard(self._translate, fields, line)
        if error is not None:
            if not objects:
                self._lose_step(outer_fields(line if isinstance(line, bytes) else line.data))
            self.refuse(error.reason, str(error), line)

    def _end_table(self) -> None:
        fields = self._table.close() if self._table.is_open else None
        if fields is not None:
            self._guard(self._translate, fields, None)

    def _guard(
        self, record: Callable[[Any], None], what: Any, line: OutputLine | bytes | None
    ) -> None:
        """Record what a line says; a part that cannot be kept costs no more than itself."""
        try:
            record(what)
            self.events_read += 1
        except LineRefused as error:
            self.refuse(error.reason, str(error), line)
        except ValidationError as error:
            self.refuse("fields_invalid", _words(error), line)
        except RecursionError:
            self.refuse("event_invalid", "nested too deeply", line)
        except (ContractViolation, TypeError, ValueError, OverflowError, OSError) as error:
            self.refuse("event_invalid", str(error), line)

    def refuse(self, reason: str, message: str, line: OutputLine | bytes | None = None) -> None:
        """Count a line that is not recorded. The first few of a kind are reported one by one."""
        self.begin()
        self.refused[reason] += 1
        if self.refused[reason] > REPORTED_EACH:
            return
        data: Fields = {"reason": reason, "count": self.refused[reason]}
        if line is not None:
            shown, size = (line, len(line)) if isinstance(line, bytes) else line[:2]
            data["line"] = shown[:200].decode(errors="replace")
            data["line_bytes"] = size
        self._telemetry.log("warning", f"Not kept: {storable(message)}", data)

    def finish(self) -> None:
        """Report the counts."""
        self._end_table()
        self.begin()
        self._show_progress()
        if any(count > REPORTED_EACH for count in self.refused.values()):
            total = sum(self.refused.values())
            self._telemetry.log(
                "warning", f"{total} lines were not kept as events", {"refused": dict(self.refused)}
            )
        if self.refused:
            self._note_refusals()
        if not self.events_read:
            words = (
                "The program printed no line that is an event, so its log is all there is of it. Print JSON lines, "
                'e.g. {"global_step": 100, "loss": 0.5}; docs/any_program.md lists what counts.'
            )
            self._telemetry.log("warning", words)
            self._telemetry.note("output", words, kept=True)

    def _note_refusals(self) -> None:
        """Say with the run, also after its end, what of its output is missing."""
        counts = ", ".join(f"{count} {reason}" for reason, count in self.refused.most_common(6))
        self._telemetry.note(
            "refused",
            f"Some output of the program was not kept as events ({counts}); "
            "its log events of level warning say what and why.",
            kept=True,
        )

    def _show_progress(self) -> None:
        """Once a chunk: nobody looks more often."""
        step = self._episodes.global_step
        if step != self._shown_step:
            self._shown_step = step
            self._telemetry.progress(step)

    def _translate(self, fields: Fields) -> None:
        kind = fields.get("type", "")
        if not isinstance(kind, str):
            raise LineRefused("type_invalid", f'type is {kind!r:.60}, not a text like "metric"')
        if kind in schema.TYPES:
            self._take_typed(fields)
        elif "." in kind:
            self.begin()
            data = {key: value for key, value in fields.items() if key != "type"}
            self._telemetry.extra(kind, storable(data))
        else:
            self.begin()
            self._flat.take(fields)

    def _take_typed(self, fields: Fields) -> None:
        try:
            for value in fields.values():
                if isinstance(value, HugeNumber):
                    number_of(value)  # raises with the words for it
            line = schema.typed_line.validate_python(fields)
        except (LineRefused, ValidationError, RecursionError):
            self._lose_step(fields)
            raise
        if isinstance(line, schema.ConfigLine):
            self._take_config(line)
        else:
            self.begin()
            self._typed.take(line)

    def _lose_step(self, fields: Fields) -> None:
        """Count the step of a line that cannot be read, if it is a step's."""
        if fields.get("type") == "step":
            self.begin()
            self._typed.lose_step(fields)

    def _take_config(self, line: schema.ConfigLine) -> None:
        said = storable(line.model_dump(exclude={"type"}, exclude_none=True))
        if self._has_begun:
            self._telemetry.extra(LATE_CONFIG, said)
            raise LineRefused(
                "config_late",
                f"a config line came after the run's config was written; it is kept as {LATE_CONFIG}. Print it first",
            )
        self._config |= said
        self.begin()


def _words(error: ValidationError) -> str:
    faults = error.errors(include_url=False)[:3]
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'line'}: {fault_text(fault)}"
        for fault in faults
    )
