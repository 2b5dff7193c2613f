"""What can go wrong between a client and a stack. Messages say what to do next."""

from mosaic_contracts.problems import Problem


class ClientError(Exception):
    """Root of everything that this package raises on purpose."""


class StackUnreachable(ClientError):
    """No stack answers: none is up, it is elsewhere, or it does not come back."""


class TokenUnreadable(StackUnreachable):
    """A stack is known, but its token cannot be read."""


class AnswerInvalid(ClientError):
    """Something answered, but not as a gateway of this version would."""


class MosaicProblem(ClientError):
    """The stack refused or failed a request and said why.

    Attributes:
        problem: code, title, detail and per-field findings, as sent.
    """

    def __init__(self, problem: Problem) -> None:
        title = problem.title.rstrip(".")
        super().__init__(f"{title}. {problem.detail}".strip() if problem.detail else title)
        self.problem = problem
