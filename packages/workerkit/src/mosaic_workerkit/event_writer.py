"""Writes the events of a run, in the order that the contract asks for. `Telemetry` builds on it.

Config comes first, seqs are contiguous, and nothing follows a terminal lifecycle. Values of secrets are masked.
"""

import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from mosaic_base.atomic import replace_file
from mosaic_contracts.launch import KEPT_NOTES_FILE, NOTES_FILE
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import (
    INTEGER_LIMIT,
    SOURCE_WORKER,
    THINNED,
    BatchInvalid,
    Extra,
    Log,
    Record,
    decode_record,
)
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.masking import SecretMask, read_secrets
from mosaic_workerkit.outbox import OutboxWriter, outbox_dir
from mosaic_workerkit.plain import plain_hook

LOG_LEVELS = frozenset({"debug", "info", "warning", "error"})
MAX_LOG_CHARS = 16 * 1024
MAX_NOTE_CHARS = 500
_REDUCED = "event-too-large"
"""Name of the note on events that are kept without a part."""

encode = msgspec.msgpack.Encoder(enc_hook=plain_hook).encode
monotonic_ns = time.monotonic_ns
_decode = msgspec.msgpack.decode


class EventWriter:
    """Writes the events of one attempt into its outbox."""

    def __init__(self, run_dir: Path, run_id: str, attempt: int, spec: StoredSpec) -> None:
        self.run_dir = run_dir
        self.run_id = run_id
        self.attempt = attempt
        self.spec = spec
        self._outbox = OutboxWriter(
            outbox_dir(run_dir, attempt),
            run_id,
            attempt,
            SOURCE_WORKER,
            spec.outbox_bytes,
            spec.when_outbox_full,
        )
        self._t0_ns = self._outbox.t0_ns
        mask = SecretMask(read_secrets(os.environ))
        self._mask = mask if mask else None
        self._append = self._outbox.append if not mask else self._append_masked
        self._has_config = False
        self.ended: str | None = None
        """Phase of the terminal lifecycle once it is written."""
        self._may_step = False
        """Whether events other than the config may come."""
        self._notes: dict[str, str] = {}
        self._kept_notes: dict[str, str] = {}
        self._reduced = 0
        """Events that were kept without what made them too large."""

    @property
    def next_seq(self) -> int:
        """Seq of the next event."""
        return self._outbox.next_seq

    def log(self, level: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        """Record a log message.

        Args:
            level: `debug`, `info`, `warning` or `error`.
            message: the text; one above 16,384 characters is cut, with a mark.
            data: values that belong to it.

        Raises:
            ContractViolation: another level, or data that an event cannot hold.
        """
        self._ready("log")
        if level not in LOG_LEVELS:
            raise ContractViolation(f"log level {level!r} is none of {sorted(LOG_LEVELS)}")
        text = message
        if len(text) > MAX_LOG_CHARS:
            text = f"{text[:MAX_LOG_CHARS]} [cut: {len(message)} characters]"
        self._fact(Log(self.next_seq, self._dt(), level, text, dict(data or {})))

    def note(self, name: str, words: str | None, *, kept: bool = False) -> None:
        """Show a message with the run while it lasts. A note is no event.

        Args:
            name: name of the note; another message under it replaces the first.
            words: the message, cut at 500 characters; None removes the note.
            kept: the note stays with the run after its end.
        """
        notes, file = (self._kept_notes, KEPT_NOTES_FILE) if kept else (self._notes, NOTES_FILE)
        if words is None:
            notes.pop(name, None)
        else:
            words = words if self._mask is None else self._mask.in_text(words)
            notes[name] = words[:MAX_NOTE_CHARS]
        try:
            (self.run_dir / file).parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.run_dir / file, json.dumps(notes), durable=True)
        except OSError as error:
            # On a full disk, or in a folder that the program deleted, the run is worth more than the note.
            print(f"a note could not be written: {error}", file=sys.stderr)  # noqa: T201 - the worker's log

    def _note_once(self, name: str, words: str) -> None:
        """Keep a note; the first one of its name stays, for thousands may follow."""
        if name not in self._kept_notes:
            self.note(name, words, kept=True)
            self.log("warning", words)

    def _dt(self) -> int:
        return (monotonic_ns() - self._t0_ns) // 1000

    def _ready(self, what: str) -> None:
        """Facts wait for room and come after the count of what was thinned."""
        if not self._may_step:
            self._refuse(what)
        if self._outbox.thinned:
            self._record_thinned()

    def _refuse(self, what: str) -> None:
        if self.ended:
            raise ContractViolation(
                f"{what} after the terminal lifecycle {self.ended!r}: nothing may follow it"
            )
        if not self._has_config:
            raise ContractViolation(f"{what} before config: call config(data) first")
        raise ContractViolation(f"{what} after close()")

    def _resume(self) -> bool:
        if not self._outbox.has_room():
            return False
        self._record_thinned()
        return True

    def _record_thinned(self) -> None:
        count = self._outbox.thinned
        self._write(Extra(self.next_seq, self._dt(), THINNED, {"steps": count}))
        self._outbox.thinned = 0

    def _write(self, record: Record) -> None:
        try:
            self._append(encode(record))
        except TypeError as error:
            raise ContractViolation(
                f"{type(record).__name__}: {error}; give plain values"
            ) from error

    def _fact(self, record: Record) -> None:
        """Write a record whose values came from outside: what the recorder would refuse is refused here."""
        try:
            data = encode(record)
            decode_record(data)
        except (TypeError, BatchInvalid) as error:
            raise ContractViolation(
                f"{type(record).__name__} does not fit the event contract: {error}"
            ) from error
        self._append(data)

    def _append_masked(self, record: bytes, may_drop: bool = False) -> bool:
        """For a run with secrets: as the outbox, with the values masked."""
        if self._mask is not None and self._mask.is_in(record):
            known = len(self._mask.found)
            record = encode(self._mask.in_value(_decode(record)))
            if len(self._mask.found) > known:
                for name, words in self._mask.notes().items():
                    self.note(f"secret {name}", words, kept=True)
        return self._outbox.append(record, may_drop)

    def _report_reduced(self, what: str, without: str, why: str) -> None:
        self._reduced += 1
        if self._reduced > 1:
            return
        words = f"An event is too large: {what} is kept without {without}"
        self.note(_REDUCED, f"{words}. Others like it are kept so too, and counted.")
        self.log("warning", f"{words} ({why}). Others like it are counted.", {"count": 1})

    def _count_reduced(self) -> None:
        """Log how many events there were in all, unless the first report has said it."""
        if self._reduced > 1 and self._may_step:
            count, self._reduced = self._reduced, 0
            self.log(
                "warning",
                f"{count:,} events were too large and are kept without their observations",
                {"count": count},
            )


def check_range(*values: int) -> None:
    """Refuse what the store cannot hold, here, where it costs one event: the recorder would set aside a whole batch."""
    for value in values:
        if not -INTEGER_LIMIT < value < INTEGER_LIMIT:
            raise ContractViolation(f"{value} is beyond 2**62, which no integer of an event may be")
