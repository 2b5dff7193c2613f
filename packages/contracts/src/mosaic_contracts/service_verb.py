"""One kind of request between services on the bus; `verbs` has all of them."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

QUICK_S = 2.0
"""Time limit in seconds for answers from memory or a database: a user who waits longer needs an error."""

RequestT = TypeVar("RequestT", bound=BaseModel)
ResultT = TypeVar("ResultT", bound=BaseModel)


@dataclass(frozen=True)
class ServiceVerb(Generic[RequestT, ResultT]):
    """One kind of request that a service answers.

    Attributes:
        service: `scheduler` or `recorder`.
        name: last part of the subject.
        request: model of the payload.
        result: model of `Reply.result`.
        timeout_s: seconds to wait for the reply.
    """

    service: str
    name: str
    request: type[RequestT]
    result: type[ResultT]
    timeout_s: float = QUICK_S

    @property
    def is_slow(self) -> bool:
        """Whether the limit is too long to find out by it that nobody answers."""
        return self.timeout_s > QUICK_S
