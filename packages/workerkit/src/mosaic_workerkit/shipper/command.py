"""Requests on the run's control subject."""

import asyncio
import os
import time

from pydantic import ValidationError

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.services import ControlRequest, Reply
from mosaic_workerkit.control import ask_trainer
from mosaic_workerkit.errors import TrainerUnreachable
from mosaic_workerkit.shipper.delivery import DeliveryState

_WATCH_S = 10.0
_LONGEST_WATCH_S = 300.0


async def answer(delivery: DeliveryState, data: bytes) -> Reply:
    """Answer a control request: `watch`, `stop` or `ping`."""
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
    if request.op == "stop":
        try:
            reply = await asyncio.to_thread(ask_trainer, delivery.run_dir, {"op": "stop"})
        except TrainerUnreachable as error:
            return _refused(ProblemCode.RUN_ENDED, "no trainer to stop", str(error))
        return Reply(result=reply)
    return _refused(
        ProblemCode.REQUEST_INVALID, "unknown op", f"{request.op!r} is none of watch, stop, ping"
    )


def _refused(code: ProblemCode, title: str, detail: str) -> Reply:
    return Reply(problem=Problem(code=code, title=title, detail=detail))
