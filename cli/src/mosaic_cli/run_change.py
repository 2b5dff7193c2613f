"""Requests about runs that `mosaic_client` has no method for: change, queue, repeat, put away, filtered lists."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mosaic_client import Client
from mosaic_client.request import request
from mosaic_contracts.changes import CloneRequest, QueuePatch, RunPatch
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.spec import RunSpec

PAGE = 200
Filters = Mapping[str, str | Sequence[str] | None]


def each_run(client: Client, filters: Filters) -> Iterator[RunView]:
    """Runs that fit the filters of `GET /runs`, in its order, page by page."""
    query: dict[str, Any] = {key: value for key, value in filters.items() if value}
    while True:
        page = request(client, "GET", "/runs", RunPage, query=query | {"limit": PAGE})
        yield from page.runs
        if page.next_cursor is None:
            return
        query["cursor"] = page.next_cursor


def patch(client: Client, run_id: str, **changes: Any) -> RunView:
    """Change name, tags or note."""
    return request(client, "PATCH", f"/runs/{run_id}", RunView, body=RunPatch(**changes))


def move(client: Client, run_id: str, **changes: Any) -> RunView:
    """Hold, release or move a run that waits."""
    return request(client, "PATCH", f"/runs/{run_id}/queue", RunView, body=QueuePatch(**changes))


def queue(client: Client) -> list[RunView]:
    """Runs that wait, in the order in which they will start."""
    return request(client, "GET", "/queue", RunPage).runs


def retry(client: Client, run_id: str) -> RunView:
    """A new run with the same spec."""
    return request(client, "POST", f"/runs/{run_id}/retry", RunView)


def clone(client: Client, run_id: str, overrides: dict[str, Any]) -> RunView:
    """A new run with the same spec but for the overrides."""
    body = CloneRequest(overrides=overrides)
    return request(client, "POST", f"/runs/{run_id}/clone", RunView, body=body)


def put_away(client: Client, run_id: str, *, now: bool) -> RunView:
    """Delete a run: at once, or so that it can be restored for a day."""
    query = {"now": "true"} if now else None
    return request(client, "DELETE", f"/runs/{run_id}", RunView, query=query)


def restore(client: Client, run_id: str) -> RunView:
    """Bring a run back that was put away."""
    return request(client, "POST", f"/runs/{run_id}/restore", RunView)


def preflight(client: Client, spec: RunSpec) -> PreflightReport:
    """Whether a run would start now."""
    return request(client, "POST", "/preflight", PreflightReport, body=spec)
