"""Plans: where they come from, and reading them with line and column of what is wrong."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from mosaic_worker_spade.errors import PlanInvalid

LEARN, PLAY, SCOUT = "learn.asl", "play.asl", "scout.asl"
_MOST_BYTES = 256 * 1024
_RECOVERY = "recovery plans are ignored as of yet"


@dataclass(frozen=True)
class PlanSource:
    """A plan as it was given."""

    name: str
    text: str

    @property
    def digest(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def built_in(name: str) -> PlanSource:
    """One of our own."""
    return PlanSource(name, (resources.files(__package__) / "plans" / name).read_text())


def find_plan(text: str | None, path: str | None, *, plays: bool) -> PlanSource:
    """The plan of a run: what a person gave, or our own.

    Raises:
        PlanInvalid: its file cannot be read.
    """
    if text is not None:
        return PlanSource("plan", text)
    if path is None:
        return built_in(PLAY if plays else LEARN)
    file = Path(path).expanduser()
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise PlanInvalid(f"{path} is larger than {_MOST_BYTES // 1024} KiB: is it a plan?")
        return PlanSource(file.name, file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise PlanInvalid(
            f"The plan {path} cannot be read ({error}). Give an absolute path that the stack's machine has; a stack in "
            "containers does not see your files: give the text itself as the parameter `plan`."
        ) from error


@contextmanager
def collected_faults(plan: PlanSource, *names: str) -> Iterator[list[str]]:
    """Catch what agentspeak's parser and builder log, with the places that only the log records carry."""
    collector = _Collector(plan.name)
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger, list(logger.handlers), logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [collector], False
    try:
        yield collector.faults
    finally:
        for logger, handlers, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate


class _Collector(logging.Handler):
    def __init__(self, name: str) -> None:
        super().__init__(logging.WARNING)
        self._name = name
        self.faults: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == _RECOVERY:
            return  # ours are not
        place: Any = getattr(record, "loc", None)
        where = (
            f"{self._name}, line {place.lineno}, column {place.startcol + 1}"
            if place
            else self._name
        )
        self.faults.append(f"{where}: {record.getMessage()}.")
