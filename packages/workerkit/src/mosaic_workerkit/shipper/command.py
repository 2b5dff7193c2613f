"""Requests on the run's control subject."""

import asyncio
import os
import signal
import time

from pydantic import ValidationError

from mosaic_contracts.frames import LEASE_S, FramesWanted, StepRange, encode_page
from mosaic_contracts.play import PlayInputs
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.shipper_messages import ControlRequest, Reply
from mosaic_workerkit.control import ask_trainer
from mosaic_workerkit.errors import TrainerUnreachable
from mosaic_workerkit.shipper.delivery import DeliveryState
from mosaic_workerkit.shipper.frames import NoFrames, WorkerGone
from mosaic_workerkit.shipper.parent import runner_pid

_WATCH_S = 10.0
_LONGEST_WATCH_S = 300.0


async def answer(delivery: DeliveryState, data: bytes) -> Reply | bytes:
    """Answer a control request: `watch`, `frames`, `show`, `act`, `stop`, `terminate` or `ping`.

    Bytes are an `EpisodeFrames`.
    """
    try:
        request = ControlRequest.model_validate_json(data)
    except ValidationError as error:
        return _refused(ProblemCode.REQUEST_INVALID, "not a control request", str(error))
    if request.op == "ping":
        return Reply(result={"ok": True, "shipper_pid": os.getpid(), **delivery.marks()})
    if request.op == "watch":
        ttl_s = min(_WATCH_S if request.ttl_s is None else request.ttl_s, _LONGEST_WATCH_S)
        delivery.watched_until = max(delivery.watched_until, time.monotonic() + ttl_s)
        delivery.wake.set()
        return Reply(result={"ok": True, "ttl_s": ttl_s})
    if request.op in ("frames", "show"):
        try:
            return await _frames(delivery, request)
        except ValidationError as error:
            return _refused(ProblemCode.REQUEST_INVALID, "not a request for frames", str(error))
        except NoFrames as error:
            return _refused(ProblemCode.FRAMES_UNAVAILABLE, "The run sends no frames", str(error))
    if request.op == "act":
        return await _act(delivery, request)
    if request.op == "stop":
        try:
            reply = await asyncio.to_thread(ask_trainer, delivery.run_dir, {"op": "stop"})
        except TrainerUnreachable as error:
            return _refused(ProblemCode.RUN_ENDED, "no trainer to stop", str(error))
        return Reply(result=reply)
    if request.op == "terminate":
        return _terminate()
    return _refused(
        ProblemCode.REQUEST_INVALID,
        "unknown op",
        f"{request.op!r} is none of watch, frames, show, act, stop, terminate, ping",
    )


def _terminate() -> Reply:
    """Signal the runner, as an engine would that can signal it alone."""
    runner = runner_pid()
    # while it is this process's parent, its number cannot have been given to another process
    if os.getppid() != runner:
        return _refused(ProblemCode.RUN_ENDED, "no runner to stop", "The run's runner has ended.")
    os.kill(runner, signal.SIGTERM)
    return Reply(result={"ok": True})


async def _frames(delivery: DeliveryState, request: ControlRequest) -> Reply | bytes:
    if request.op == "frames":
        envs = FramesWanted.model_validate(request.data).envs
        await delivery.frames.watch(envs, LEASE_S if request.ttl_s is None else request.ttl_s)
        return Reply(result={"ok": True})
    steps = StepRange.model_validate(request.data)
    return encode_page(await delivery.frames.show(steps.first, steps.last, steps.every))


async def _act(delivery: DeliveryState, request: ControlRequest) -> Reply:
    try:
        inputs = PlayInputs.model_validate(request.data).inputs
        taken = await delivery.frames.act(inputs)
    except ValidationError as error:
        return _refused(ProblemCode.REQUEST_INVALID, "not inputs of a person", str(error))
    except WorkerGone as error:
        words = f"{error} It takes no more inputs."
        return _refused(ProblemCode.RUN_ENDED, "The play has ended", words)
    except NoFrames as error:
        return _refused(ProblemCode.FRAMES_UNAVAILABLE, "The run took no input", str(error))
    return Reply(result=taken.model_dump(mode="json"))


def _refused(code: ProblemCode, title: str, detail: str) -> Reply:
    return Reply(problem=Problem(code=code, title=title, detail=detail))
