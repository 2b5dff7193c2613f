"""JSON lines on stderr: `{"event": "noun.verb", ...}`. Secrets are hidden by known name and known value."""

import logging
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "[hidden]"
SECRET_KEYS = frozenset(
    {"token", "password", "secret", "authorization", "api_key", "wandb_api_key", "jwt", "nkey"}
)
"""Whole names, never parts of names: `num_memory_tokens` is not a secret, and `seed` is a run's."""
_SHORTEST_SECRET = 8
"""A shorter value would hide ordinary words."""


class Redactor:
    """Hides secrets in what leaves the process: known values anywhere, known key names exactly."""

    def __init__(self) -> None:
        self._values: list[str] = []

    def hide(self, value: str) -> None:
        """From now on `value` is never shown. Raises ValueError for a value too short to be a secret."""
        if len(value) < _SHORTEST_SECRET:
            raise ValueError("a secret has at least 8 characters")
        if value not in self._values:
            self._values.append(value)

    def clean_text(self, text: str) -> str:
        """Return `text` without known secret values."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return text

    def clean(self, value: Any, key: str = "") -> Any:
        """Return `value` (of field `key`) without secrets, in nested dicts and lists too."""
        if key.lower() in SECRET_KEYS and value is not None:
            return HIDDEN
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, dict):
            return {k: self.clean(v, str(k)) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [self.clean(v) for v in value]
        return value

    def __call__(self, _logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        """As a structlog processor."""
        return {key: self.clean(value, key) for key, value in event.items()}


class PatientLogger(structlog.PrintLogger):
    """Writes lines to a stream, and drops those that it refuses: a log on a full disk must not end the service.

    The number of dropped lines is in the first line that can be written again.
    """

    def __init__(self, file: TextIO) -> None:
        super().__init__(file)
        self._stream = file

    def msg(self, message: str) -> None:
        """Write a line."""
        text = message + "\n"
        if _lost.lines:
            # what the last refused line had begun is no line
            text = f'\n{{"event": "log.lost", "level": "warning", "lines": {_lost.lines}}}\n{text}'
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            _lost.lines += 1
            return
        _lost.lines = 0

    log = debug = info = warn = warning = msg
    fatal = failure = err = error = critical = exception = msg


class _Lost:
    """Lines that could not be written since the last that could."""

    lines = 0


_lost = _Lost()
"""One for all loggers of this process: a logger is made for each line."""


redactor = Redactor()
"""The one redactor of this process."""

Log = structlog.stdlib.BoundLogger


def get_log(**fields: Any) -> Log:
    """A logger with fixed fields; usable before `configure_logging`."""
    log: Log = structlog.get_logger(**fields)
    return log


def configure_logging(service: str, log_format: Literal["json", "text"] = "json") -> None:
    """Send this process's log to stderr, one line an event, with `service` in each."""
    renderer: Processor = (
        structlog.processors.JSONRenderer(default=str)
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    tracebacks: list[Processor] = (
        [structlog.processors.format_exc_info] if log_format == "json" else []
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *tracebacks,
            redactor,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: PatientLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    structlog.contextvars.bind_contextvars(service=service)
