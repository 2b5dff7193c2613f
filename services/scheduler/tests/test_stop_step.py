"""A stop and the step of it that ended the worker, on real processes."""

import signal
from typing import Any

import pytest
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, file_exists

from mosaic_contracts.states import EndCause, RunState, StopStep

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]

IMPORTING = "pathlib.Path('importing').touch(); time.sleep(600)"
DEAF = f"signal.signal(signal.SIGTERM, signal.SIG_IGN); {IMPORTING}"
OBEYS = f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {IMPORTING}"


@pytest.mark.parametrize(
    ("train", "step", "ends", "words"),
    [
        (IMPORTING, StopStep.TERMINATED, {"signal": signal.SIGTERM}, "still starting"),
        (DEAF, StopStep.KILLED, {"signal": signal.SIGKILL}, "was killed"),
        (OBEYS, StopStep.ASKED, {"exit_code": 0}, "by itself when asked"),
    ],
    ids=["importing", "deaf", "obeys"],
)
async def test_the_run_says_which_step_ended_it(
    stack: Stack, train: str, step: StopStep, ends: dict[str, Any], words: str
) -> None:
    """Also a worker that SIGTERM meets in its imports is `cancelled`, by request, and not crashed."""
    script_worker(stack, "slow", {"ok": True, "findings": [], "plan": {}}, train)
    run = await stack.submit(**SPEC, worker="slow", grace_s=1.0)
    await file_exists(stack.worker_file(run.run_id, "importing"))
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    assert ended.end.stop_step is step
    assert ended.end.message.startswith("Stopped on request.")
    assert words in ended.end.message
    assert ended.end.model_dump(include=set(ends)) == ends
