"""Inputs of one client to one run: they wait for each other, go in order, and each is answered."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.models import PeerModel
from mosaic_contracts.play import (
    MAX_INPUTS,
    Act,
    Acted,
    ActRefused,
    InputsTaken,
    PlayInput,
    PlayInputs,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import ControlRequest, Reply
from mosaic_gateway.live.run_answer import ask_run, problem_of
from mosaic_gateway.problem_reply import request_invalid
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus

MAX_WAITING = 256
"""Inputs of one client to one run that wait; a further one is refused."""
ASK_TIMEOUT_S = 8.0
"""Longer than a shipper waits for its worker, so that the answer says which of the two did not answer."""


class InputSender:
    """Sends what a client does to a run. What comes while a request is under way goes together in the next one.

    Args:
        player: names the client's connection.
        run_id: the run.
        reply: sends a message to the client.
    """

    def __init__(
        self,
        player: str,
        run_id: str,
        bus: Bus,
        scheduler: SchedulerClient,
        reply: Callable[[PeerModel], None],
    ) -> None:
        self._player = player
        self._run_id = run_id
        self._bus = bus
        self._scheduler = scheduler
        self._reply = reply
        self._waiting: deque[Act] = deque()
        self._newest: dict[int, Act] = {}
        """The newest input of each sub-environment."""
        self._task: asyncio.Task[None] | None = None

    def add(self, act: Act) -> None:
        """Send an input. Raises ProblemError: too many wait."""
        if len(self._waiting) >= MAX_WAITING:
            raise request_invalid(
                f"{MAX_WAITING} inputs wait for this run already. Send fewer: each carries all keys that are held."
            )
        self._newest[act.env] = act
        self._queue(act)

    async def release(self) -> None:
        """Release the keys that the client held: it has gone. However many inputs wait, none of these is refused."""
        self._reply = lambda _: None
        for act in list(self._newest.values()):
            if act.keys or act.axes:
                self._queue(Act(run_id=act.run_id, env=act.env, number=act.number + 1))
        if self._task is not None:
            await asyncio.wait([self._task])

    def _queue(self, act: Act) -> None:
        self._waiting.append(act)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(
                self._send_all(), name=f"inputs {self._run_id}"
            )

    async def _send_all(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MAX_INPUTS)
            await self._send([self._waiting.popleft() for _ in range(count)])

    async def _send(self, acts: list[Act]) -> None:
        inputs = PlayInputs(inputs=[self._input(act) for act in acts])
        try:
            refused = await self._ask(inputs)
        except ProblemError as error:
            for env in {act.env for act in acts}:
                self._refuse([act for act in acts if act.env == env], error.problem)
            return
        for act in acts:
            if act.number in refused:
                self._refuse([act], _not_taken(refused[act.number]))
        taken = [act for act in acts if act.number not in refused]
        for env in {act.env for act in taken}:
            number = max(act.number for act in taken if act.env == env)
            self._reply(Acted(run_id=self._run_id, env=env, number=number))

    async def _ask(self, inputs: PlayInputs) -> dict[int, str]:
        """Give inputs to the run; return what it refused. Raises ProblemError: none was taken."""
        data: dict[str, Any] = inputs.model_dump(mode="json", exclude_defaults=True)
        request = ControlRequest(op="act", data=data)
        message = await ask_run(self._bus, self._scheduler, self._run_id, request, ASK_TIMEOUT_S)
        problem = problem_of(self._run_id, message.data)
        if problem is not None:
            raise ProblemError(problem)
        try:
            taken = InputsTaken.model_validate(Reply.model_validate_json(message.data).result)
        except ValidationError as error:
            raise ProblemError(_not_taken("Its worker may be of an older version.")) from error
        return {one.number: one.why for one in taken.refused}

    def _input(self, act: Act) -> PlayInput:
        return PlayInput(
            player=self._player,
            env=act.env,
            number=act.number,
            keys=act.keys,
            axes=act.axes,
            do=act.do,
            rate=act.rate,
            seed=act.seed,
            key_map=act.key_map,
        )

    def _refuse(self, acts: list[Act], problem: Problem) -> None:
        """Refuse inputs of one sub-environment that follow each other."""
        self._reply(
            ActRefused(
                run_id=self._run_id,
                env=acts[0].env,
                first=acts[0].number,
                number=acts[-1].number,
                problem=problem,
            )
        )


def _not_taken(why: str) -> Problem:
    return Problem(
        code=ProblemCode.REQUEST_INVALID, title="The run did not take the input", detail=why
    )
