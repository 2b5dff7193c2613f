"""Requests to a run itself, answered by its shipper: pages of a replay's frames, and live frames."""

import asyncio

from nats.aio.msg import Msg
from pydantic import ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.frames import FRAMES_HEADER, StepRange
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ControlRequest, Reply, RunRequest
from mosaic_contracts.states import RunState
from mosaic_contracts.verbs import GET
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus

SHOW_TIMEOUT_S = 20.0
"""Time limit in seconds for one page. A seek into a long episode may have to rebuild all steps before it."""
RETRY_AFTER_S = 0.5
_OF_A_RUN = frozenset(
    {
        ProblemCode.RUN_NOT_STARTED,
        ProblemCode.RUN_ENDED,
        ProblemCode.FRAMES_UNAVAILABLE,
        ProblemCode.REPLAY_IMPOSSIBLE,
        ProblemCode.EPISODE_UNKNOWN,
        ProblemCode.REQUEST_INVALID,
        ProblemCode.RANGE_INVALID,
    }
)
"""Codes of problems that a run may answer with. It could name any, also those that blame the gateway."""


async def page_of_frames(
    bus: Bus, scheduler: SchedulerClient, run_id: str, asked: StepRange
) -> bytes:
    """The encoded `EpisodeFrames` of these steps.

    Raises:
        ProblemError: as `ask_run`, or what the run answered.
    """
    request = ControlRequest(op="show", data=asked.model_dump())
    message = await ask_run(bus, scheduler, run_id, request, SHOW_TIMEOUT_S)
    if FRAMES_HEADER in (message.headers or {}):
        return message.data
    raise ProblemError(problem_of(run_id, message.data) or _without_frames(run_id))


async def ask_run(
    bus: Bus, scheduler: SchedulerClient, run_id: str, request: ControlRequest, timeout_s: float
) -> Msg:
    """The answer of a run's shipper.

    Raises:
        ProblemError: `run_not_started` (ask again), `run_ended`, `run_unknown`; or broker or scheduler do not answer.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    payload = request.model_dump_json().encode()
    try:
        return await bus.ask(subjects.control(run_id), payload, "run", timeout_s)
    except ProblemError as error:
        is_silent = error.problem.code is ProblemCode.SERVICE_UNAVAILABLE
        if not is_silent or loop.time() - began >= timeout_s / 2:
            raise
        record = await scheduler.call(GET, RunRequest(run_id=run_id))
        raise ProblemError(_no_answer(record)) from error


def problem_of(run_id: str, data: bytes) -> Problem | None:
    """The problem in a run's answer; None: it has none."""
    try:
        problem = Reply.model_validate_json(data).problem
    except ValidationError:
        return _without_frames(run_id)
    if problem is None:
        return None
    if problem.code in _OF_A_RUN:
        return problem.model_copy(update={"status": problem.code.http_status})
    return _frames_unavailable(f"{problem.title}. {problem.detail}".strip())


def _no_answer(record: RunRecord) -> Problem:
    """Why nobody answers for a run, from its state."""
    if record.state.is_final:
        why = f" {record.end.message}" if record.end is not None else ""
        return Problem(
            code=ProblemCode.RUN_ENDED,
            title="The run has ended",
            detail=f"Run {record.run_id} is {record.state}, so that it sends no frames.{why}",
        )
    waits = f" It waits: {record.waiting_reason}." if record.waiting_reason else ""
    starts = "" if record.state is RunState.QUEUED else " Its processes are starting."
    return Problem(
        code=ProblemCode.RUN_NOT_STARTED,
        title="The run does not answer yet",
        detail=f"Run {record.run_id} is {record.state}.{waits or starts} Ask again in a moment.",
        retry_after_s=RETRY_AFTER_S,
    )


def _without_frames(run_id: str) -> Problem:
    return _frames_unavailable(
        f"Run {run_id} answers, but not with frames. Its worker may be of an older version."
    )


def _frames_unavailable(detail: str) -> Problem:
    """The run lives, and sends no frames."""
    return Problem(
        code=ProblemCode.FRAMES_UNAVAILABLE, title="The run sends no frames", detail=detail
    )
