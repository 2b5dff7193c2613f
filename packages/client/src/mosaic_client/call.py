"""One request of the HTTP interface and how to read its answer, the same for the sync and the async client. No I/O
here; `mosaic_client.calls` has the requests."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mosaic_client.answer import HttpAnswer
from mosaic_client.errors import AnswerInvalid, problem_error
from mosaic_contracts.http_api import Method, Operation
from mosaic_contracts.problem_codes import ProblemCode

if TYPE_CHECKING:
    from pydantic import BaseModel

    from mosaic_contracts.problems import Problem

T = TypeVar("T")
M = TypeVar("M", bound="BaseModel")
QueryValue = str | int | float | Sequence[str]
Query = Mapping[str, QueryValue]

TIMEOUT_S = 15.0
WORKER_TIMEOUT_S = 120.0
"""Timeout of requests that start a worker's environment: its first import of torch from a cold disk can take this
long."""
_NO_QUERY: Query = MappingProxyType({})
_BODY_HEADERS = {"Content-Type": "application/json"}
_CODES = {
    401: ProblemCode.UNAUTHORIZED,
    404: ProblemCode.NOT_FOUND,
    422: ProblemCode.REQUEST_INVALID,
    502: ProblemCode.SERVICE_UNAVAILABLE,
    503: ProblemCode.SERVICE_UNAVAILABLE,
    504: ProblemCode.SERVICE_UNAVAILABLE,
}
"""What an error means that comes without a problem: from a proxy, or from no gateway at all."""


class Call(Generic[T]):
    """A request and the reader of its answer."""

    # no dataclass: these import inspect, half of what a press of the Tab key may cost
    def __init__(
        self,
        method: Method,
        path: str,
        read: Callable[[HttpAnswer], T],
        query: Query = _NO_QUERY,
        body: bytes | None = None,
        timeout_s: float = TIMEOUT_S,
        idempotency_key: str | None = None,
        expects_problem: bool = False,
        repeats: bool = False,
    ) -> None:
        """Describe a request.

        Args:
            method: its HTTP method.
            path: its path, encoded.
            read: reads the answer.
            query: parameters of the address.
            body: JSON.
            timeout_s: seconds between two signs of life.
            idempotency_key: with it the request may be repeated; the stack acts on it once.
            expects_problem: the reader takes error statuses too.
            repeats: it is no GET, but sending it twice is the same as once.
        """
        self.method = method
        self.path = path
        self.read = read
        self.query = query
        self.body = body
        self.timeout_s = timeout_s
        self.idempotency_key = idempotency_key
        self.expects_problem = expects_problem
        self._repeats = repeats

    @classmethod
    def of(
        cls,
        operation: Operation[Any],
        *values: object,
        read: Callable[[HttpAnswer], T],
        query: Query = _NO_QUERY,
        body: bytes | None = None,
        idempotency_key: str | None = None,
    ) -> "Call[T]":
        """Describe a request of one operation of the API.

        Args:
            operation: its method and path, and how it behaves.
            values: the path's parameters, in order.
            read: reads the answer.
            query: parameters of the address.
            body: JSON.
            idempotency_key: with it the request may be repeated; the stack acts on it once.

        Raises:
            ValueError: too few or too many values for the path.
        """
        return cls(
            operation.method,
            operation.at(*values),
            read,
            query,
            body,
            WORKER_TIMEOUT_S if operation.is_slow else TIMEOUT_S,
            idempotency_key,
            repeats=operation.repeats,
        )

    @property
    def may_repeat(self) -> bool:
        """Whether sending the request twice has the same effect as once."""
        return self.method == "GET" or self._repeats or self.idempotency_key is not None

    @property
    def headers(self) -> dict[str, str]:
        """Headers of this request."""
        headers = {} if self.body is None else dict(_BODY_HEADERS)
        if self.idempotency_key is not None:
            headers["Idempotency-Key"] = self.idempotency_key
        return headers

    def answer(self, answer: HttpAnswer) -> T:
        """Read the answer.

        Raises:
            MosaicProblem: the stack refused or failed.
            AnswerInvalid: not an answer of a gateway.
        """
        if answer.is_error and not self.expects_problem:
            raise problem_error(read_problem(answer))
        if answer.redirect is not None:
            raise AnswerInvalid(
                f"{answer.url} redirects to {answer.redirect}. The token is not sent there. "
                "If that is your stack, use its address (--url, MOSAIC_URL)."
            )
        try:
            return self.read(answer)
        except ValueError as error:  # that of pydantic and of msgspec is one
            raise AnswerInvalid(
                f"{self.method} {answer.url} gave an answer that this version cannot read "
                f"({type(error).__name__}). Check that it is a MOSAIC stack of the same "
                "version (`./mosaic doctor`)."
            ) from error


def read_problem(answer: HttpAnswer) -> "Problem":
    """Return the problem in an error's answer, or one made from its status."""
    from pydantic import ValidationError

    from mosaic_contracts.problems import Problem

    try:
        return Problem.model_validate_json(answer.content)
    except ValidationError:
        pass
    status = answer.status_code
    detail = "The answer names no reason; the gateway's log may."
    if status in (502, 503, 504):
        detail = (
            "It comes from a proxy in front of the stack, whose gateway does not answer. Check "
            "that the stack is up there."
        )
    elif status in (404, 405):
        detail = "The answer is not from a MOSAIC gateway. Check the address (--url, MOSAIC_URL)."
    return Problem(
        code=_CODES.get(status, ProblemCode.INTERNAL),
        status=status,
        title=f"{answer.url} answered {status}",
        detail=detail,
    )


def model(kind: type[M]) -> Callable[[HttpAnswer], M]:
    """Return a reader of an answer that is one model."""
    return lambda answer: kind.model_validate_json(answer.content)


def typed(
    operation: Operation[T],
    *values: object,
    query: Query = _NO_QUERY,
    body: bytes | None = None,
) -> Call[T]:
    """A request whose answer is read as the model that the operation names; arguments as for `Call.of`."""
    return Call.of(operation, *values, read=_reader(operation), query=query, body=body)


@lru_cache
def _reader(operation: Operation[T]) -> Callable[[HttpAnswer], T]:
    if operation.form == "nothing":
        return lambda _: None  # type: ignore[return-value]  # the operation's type is None
    if operation.form == "list":
        from pydantic import TypeAdapter

        rows = TypeAdapter[Any](list[operation.answer_model()])  # type: ignore[misc, arg-type]  # known at run time
        return lambda answer: rows.validate_json(answer.content)
    return model(operation.answer_model())


def query_of(**values: QueryValue | None) -> Query:
    """Return a query of the arguments that were given."""
    return {name: value for name, value in values.items() if value is not None}


def body_of(given: "BaseModel") -> bytes:
    """Return a body of the fields that were set. The stack fills in the defaults."""
    return given.model_dump_json(exclude_unset=True).encode()
