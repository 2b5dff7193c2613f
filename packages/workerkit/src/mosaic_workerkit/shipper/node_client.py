"""Requests to the scheduler of a run whose folder is not the scheduler's."""

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.launch import Launch
from mosaic_contracts.nodes import BEGUN_FILE, CHUNK_HEADER, Begun, NodeVerb
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.shipper_messages import Reply
from mosaic_workerkit.errors import NodeRefused, NodeUnanswered
from mosaic_workerkit.shipper.delivery import DeliveryState

_ANSWER_S = 30.0
"""A part of a file is written to a disk that may be busy."""


class NodeClient:
    """Asks over one connection."""

    def __init__(self, connection: Client, launch: Launch) -> None:
        self._connection = connection
        self._launch = launch

    async def ask(self, verb: NodeVerb, request: BaseModel) -> object:
        """Return the result of a request without bytes; errors as `send`."""
        return (await self.send(verb, request.model_dump_json().encode(), {})).result

    async def send(self, verb: NodeVerb, data: bytes, headers: dict[str, str]) -> Reply:
        """Send bytes and return the answer.

        Raises:
            NodeRefused: the scheduler refuses the request, and would again.
            NodeUnanswered: it does not answer now, or its disk is full.
        """
        message = await self._request(verb, data, headers)
        return _checked(message)

    async def read(self, request: BaseModel) -> tuple[bytes, int]:
        """A part of a file and the size of the whole; errors as `send`."""
        message = await self._request(NodeVerb.READ, request.model_dump_json().encode(), {})
        total = (message.headers or {}).get(CHUNK_HEADER)
        if total is None:
            _checked(message)
            raise NodeUnanswered("the answer has no bytes")
        return message.data, int(total)

    async def _request(self, verb: NodeVerb, data: bytes, headers: dict[str, str]) -> Msg:
        subject = subjects.node(self._launch.run_id, verb)
        try:
            return await self._connection.request(
                subject, data, timeout=_ANSWER_S, headers=headers or None
            )
        except nats.errors.NoRespondersError as error:
            raise NodeUnanswered("no scheduler is there") from error
        except nats.errors.TimeoutError as error:
            raise NodeUnanswered(f"no answer within {_ANSWER_S:g} s") from error


def claim_of(delivery: DeliveryState) -> str:
    """What the runner was granted this attempt by; empty where it asked nobody."""
    try:
        begun = Begun.model_validate_json((delivery.run_dir / BEGUN_FILE).read_bytes())
    except (OSError, ValidationError):
        return ""
    return begun.claim if begun.attempt == delivery.launch.attempt else ""


def _checked(message: Msg) -> Reply:
    try:
        reply = Reply.model_validate_json(message.data)
    except ValidationError as error:
        raise NodeUnanswered(f"the answer cannot be read: {error}") from error
    if reply.problem is None:
        return reply
    words = _words(reply.problem)
    if reply.problem.code in (ProblemCode.RUN_ENDED, ProblemCode.REQUEST_INVALID):
        raise NodeRefused(words, is_over=reply.problem.code is ProblemCode.RUN_ENDED)
    raise NodeUnanswered(words)


def _words(problem: Problem) -> str:
    return f"{problem.title}: {problem.detail}"
