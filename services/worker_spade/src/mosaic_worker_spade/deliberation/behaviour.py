"""The behaviour that keeps an agent reasoning: idle it costs nothing, and no message and no plan can kill it.

spade_bdi's own takes a whole core when idle, does one instruction a turn of the event loop, and dies of a failed plan
or an unknown performative while the agent looks alive.
"""

import asyncio
import re
import time
from collections.abc import Callable
from typing import Any

from agentspeak import GoalType, Literal, Trigger
from agentspeak.runtime import Intention
from spade.message import Message
from spade_bdi.bdi import BDIBehaviour
from spade_bdi.utils import parse_literal

from mosaic_worker_spade.deliberation.reasoner import PLAN_FAILURES, Reasoner
from mosaic_worker_spade.deliberation.trace import Trace
from mosaic_worker_spade.deliberation.work import AgentWork
from mosaic_worker_spade.errors import PlanStuck

TURN_S = 0.004
"""Seconds of reasoning before the event loop gets a turn."""
IDLE_S = 0.05
"""An idle agent looks up that often: for a stop, which no message brings, and for plans that wait for a time."""
MOST_FAILURES = 200
"""In a row without a step in the world: by then it is a circle."""
_KINDS = {
    "tell": (Trigger.addition, GoalType.belief),
    "untell": (Trigger.removal, GoalType.belief),
    "achieve": (Trigger.addition, GoalType.achievement),
    "unachieve": (Trigger.removal, GoalType.achievement),
}
_NAME = re.compile(r"~?[a-z][A-Za-z0-9_]*")


class AgentBehaviour(BDIBehaviour):  # type: ignore[misc] # spade_bdi is not typed
    """Turns of one agent.

    Args:
        friends: bare addresses whose messages count.
        is_stopping: whether the run is to end.
        is_alone: whether nobody can wake this agent once its plans have come to an end.
        early_s: seconds until the next step is due, in a play at a person's pace.
    """

    def __init__(
        self,
        work: AgentWork,
        trace: Trace,
        friends: Callable[[], set[str]],
        is_stopping: Callable[[], bool],
        is_alone: Callable[[], bool],
        early_s: Callable[[], float],
    ) -> None:
        super().__init__()
        self._work = work
        self._trace = trace
        self._friends = friends
        self._is_stopping = is_stopping
        self._is_alone = is_alone
        self._early_s = early_s
        self._woken = asyncio.Event()
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Ends with the work, or with what went wrong."""

    def add_actions(self) -> None:
        """They are made with the agent (`mosaic_worker_spade.deliberation.action`)."""

    async def enqueue(self, message: Message) -> None:
        """Take a message from the server."""
        await self.queue.put(message)
        self._woken.set()

    async def run(self) -> None:
        """One turn."""
        try:
            await self._turn()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - a task's boundary: spade would log it and go on without a behaviour
            self._leave(error)

    @property
    def is_at_rest(self) -> bool:
        """Whether it has nothing to do and waits for nothing but messages."""
        return not self._reasoner.intentions and self.queue.empty()

    @property
    def _reasoner(self) -> Reasoner:
        reasoner: Reasoner = self.agent.bdi_agent
        return reasoner

    async def _turn(self) -> None:
        received = not self.queue.empty()
        if received:
            self._receive(self.queue.get_nowait())
        ends = time.perf_counter() + TURN_S
        moved, early_s = False, 0.0
        while (
            not self._work.is_finished
            and not (early_s := self._early_s())
            and self._reasoner.step()
        ):
            moved = True
            if time.perf_counter() > ends:
                break
        if self._reasoner.failures > MOST_FAILURES:
            raise PlanStuck(
                f"The plans of the agent {self._work.name} failed more than {MOST_FAILURES} times without a step. "
                "`./mosaic events RUN -t bdi.intention` shows which and why; correct the plan and run it again."
            )
        if self._is_stopping():
            self._work.end("stop")
        if early_s and not self._work.is_finished:
            await self._wait(min(early_s, IDLE_S))
        elif not moved and not received and not self._work.is_finished:
            await self._rest()
        if self._work.is_finished:
            self._leave(None)

    async def _rest(self) -> None:
        if self.is_at_rest and self._is_alone():
            self._work.end("the plan came to its end")
            return
        await self._wait(self._rest_s())

    async def _wait(self, most_s: float) -> None:
        """For a message, so long at most."""
        self._woken.clear()
        waiting = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([waiting], timeout=most_s)
        finally:
            waiting.cancel()

    def _rest_s(self) -> float:
        deadline = self._reasoner.shortest_deadline()
        if deadline is None:
            return IDLE_S
        return min(IDLE_S, max(0.001, float(deadline) - time.time()))

    def _receive(self, message: Message) -> None:
        kind = str(message.get_metadata("ilf_type"))
        peer, content = str(message.sender).partition("/")[0], str(message.body)
        try:
            trigger, goal_type, term = self._read(peer, kind, content)
            self._trace.message("received", peer, kind, content)
            self._reasoner.call(trigger, goal_type, term, Intention(), delayed=True)
        except PLAN_FAILURES as error:
            self._trace.message("ignored", peer, kind, content, str(error))

    def _read(self, peer: str, kind: str, content: str) -> tuple[Any, Any, Literal]:
        """What a message asks for. Raises one of PLAN_FAILURES when it is no message for us."""
        if peer not in self._friends():
            raise ValueError("the sender is no agent of this run")
        if kind not in _KINDS:
            raise ValueError(f"an unknown performative; known are {', '.join(_KINDS)}")
        name, arguments = parse_literal(content)
        if _NAME.fullmatch(name) is None or any(part is None for part in arguments):
            raise ValueError("the content is no literal")
        source = Literal(
            "source", (Literal(peer),)
        )  # without the resource, which a reconnect changes
        return *_KINDS[kind], Literal(name, tuple(arguments), (source,))

    def _leave(self, error: BaseException | None) -> None:
        if not self.done.done():
            if error is None:
                self.done.set_result(None)
            else:
                self.done.set_exception(error)
        self.kill()
