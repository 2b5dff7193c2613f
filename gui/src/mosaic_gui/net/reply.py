"""Replies of the HTTP API, and why a request failed."""

from dataclasses import dataclass, field
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gui.state.language import tr


@dataclass(frozen=True)
class ApiProblem:
    """Why a request failed, in words for the user."""

    message: str
    problem: Problem | None = None
    """The stack's answer; None when there was none."""

    is_answer_unread: bool = False
    """The stack answered with something that this version cannot read."""

    @property
    def is_passing(self) -> bool:
        """Whether a later try may succeed: there was no answer, or the stack is busy."""
        if self.problem is None:
            return not self.is_answer_unread
        return self.problem.status in (429, 503)

    @property
    def fields(self) -> list[dict[str, Any]]:
        """Findings by field of the spec."""
        return self.problem.fields if self.problem else []


@dataclass(frozen=True)
class LogPiece:
    """A piece of a run's output and the offset from which to go on."""

    text: str
    next_offset: int
    more: bool = field(default=False)
    """The piece has the requested size, so more can be read at once."""


class ApiReply(QObject):
    """One running request. It emits exactly one of both signals, or none after `drop`."""

    done = pyqtSignal(object)
    failed = pyqtSignal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._dropped = False

    def succeed(self, model: object) -> None:
        """Emit `done` with the answer."""
        if not self._dropped:
            self.done.emit(model)
        self.deleteLater()

    def fail(self, problem: ApiProblem) -> None:
        """Emit `failed` with the reason."""
        if not self._dropped:
            self.failed.emit(problem)
        self.deleteLater()

    def drop(self) -> None:
        """Emit no signal from now on."""
        self._dropped = True


def problem_words(problem: Problem) -> str:
    """Title and details of a problem in one text."""
    return f"{problem.title.rstrip('.')}. {problem.detail}".strip()


def read_problem(status: int, data: bytes) -> Problem:
    """Read the problem in the body of a refusal."""
    try:
        return Problem.model_validate_json(data)
    except ValueError:
        return Problem(
            code=ProblemCode.INTERNAL,
            title=tr("Status {status} from a program that is no MOSAIC gateway", status=status),
            status=status,
        )
