"""A stop and the step of it that ended the worker, on real processes."""

import signal
from typing import Any

import pytest
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, file_exists, until

from mosaic_contracts.states import EndCause, RunState, StopStep

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack, pytest.mark.timeout(120)]

GRACE_S, GONE_S = 1.0, 5.0
"""What a worker is given, and what is promised after that."""
IMPORTING = "pathlib.Path('importing').touch(); time.sleep(600)"
DEAF = (
    "import subprocess; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    f"subprocess.Popen(['sleep', '600'], start_new_session=True); {IMPORTING}"
)
"""With a child in a session of its own, which inherits its deafness."""
OBEYS = f"signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {IMPORTING}"


@pytest.mark.nightly(by_day=["obeys"])
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
    """Also a worker that SIGTERM meets in its imports is `cancelled`, by request; nothing of it outlives its grace."""
    script_worker(stack, "slow", {"ok": True, "findings": [], "plan": {}}, train)
    run = await stack.submit(**SPEC, worker="slow", grace_s=GRACE_S)
    await file_exists(stack.worker_file(run.run_id, "importing"))
    await stack.stop(run.run_id)

    async def is_gone() -> bool:
        """Its whole tree: runner and shipper still have something to do."""
        left = [p.argv for p in stack.processes(run.run_id)]
        return all({"mosaic_workerkit.runner", "mosaic_workerkit.shipper"} & set(a) for a in left)

    await until(is_gone, GRACE_S + GONE_S)
    ended = await stack.wait_end(run.run_id)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    assert ended.end.stop_step is step
    assert ended.end.message.startswith("Stopped on request.")
    assert words in ended.end.message
    assert ended.end.model_dump(include=set(ends)) == ends
