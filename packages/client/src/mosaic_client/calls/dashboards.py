"""Requests that open TensorBoard for a selection of runs."""

from collections.abc import Sequence

from mosaic_client.call import Call, body_of, query_of, typed
from mosaic_contracts import http_api
from mosaic_contracts.dashboards import DashboardRequest
from mosaic_contracts.runs import DashboardEntry


def open_tensorboard(run_ids: Sequence[str]) -> Call[DashboardEntry]:
    """Start TensorBoard for a selection of runs. `tensorboard` does that and waits until it can be opened.

    Args:
        run_ids: ids of the runs, at most 100.

    Returns:
        The run of kind `dashboard` that serves it; while one with the same runs is there, that one.

    Raises:
        RunUnknown: there is no such run.
        DashboardImpossible: no worker of the stack has TensorBoard.
    """
    return typed(http_api.OPEN_DASHBOARD, body=body_of(DashboardRequest(runs=list(run_ids))))


def tensorboards() -> Call[list[DashboardEntry]]:
    """List every TensorBoard that has not ended.

    Returns:
        The newest first, each with a link once it answers.
    """
    return typed(http_api.DASHBOARDS)


def tensorboard_entry(dashboard_id: str, wait_s: float = 0.0) -> Call[DashboardEntry]:
    """Read one TensorBoard.

    Args:
        dashboard_id: id of the run that serves it.
        wait_s: seconds, up to 30, that the stack waits until it can be opened.

    Returns:
        It, with a new link if it answers.

    Raises:
        RunUnknown: there is no such run.
        RunEnded: it has ended; the message has the last lines that it printed.
    """
    call = typed(http_api.DASHBOARD, dashboard_id, query=query_of(wait_s=wait_s))
    call.timeout_s += wait_s
    return call
