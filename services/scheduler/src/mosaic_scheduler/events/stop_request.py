"""A stop that reaches a run's runner over the broker, for engines that cannot signal it alone."""

from mosaic_contracts import subjects
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.services import ControlRequest, Reply
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_servicekit.bus import Bus

_ANSWER_S = 2.0


async def ask_runner_to_stop(bus: Bus, ref: AttemptRef) -> bool:
    """Have the run's shipper signal its runner (SIGTERM). Return whether it did.

    Args:
        bus: the broker.
        ref: the attempt, which lives.
    """
    request = ControlRequest(op="terminate").model_dump_json().encode()
    try:
        answer = await bus.ask(subjects.control(ref.run_id), request, "run", _ANSWER_S)
    except ProblemError:
        return False  # no broker, or no shipper yet
    return Reply.model_validate_json(answer.data).problem is None
