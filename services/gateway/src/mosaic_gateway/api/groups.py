"""`/groups`: runs that are started together and looked at as one (ADR 0033). Sweeps are listed with them."""

from typing import Annotated, Any

from fastapi import Depends, Query
from pydantic import Field
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.groups import GroupPlan, GroupRetry, GroupSpec, GroupView
from mosaic_contracts.models import UserModel
from mosaic_contracts.services import (
    GroupDeleteRequest,
    GroupListRequest,
    GroupOrder,
    GroupRequest,
    GroupRetryOrder,
    GroupViews,
)
from mosaic_gateway.api.deps import JsonBody, ServicesDep, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.api.runs import DeleteQuery, IdempotencyKey
from mosaic_gateway.runs.groups import parse_group_id

router = Routes(tags=["groups"])


async def _group_id(group_id: str) -> str:
    return parse_group_id(group_id)


GroupId = Annotated[str, Depends(_group_id)]
"""Id of a group, or of a sweep's run, of the right form; anything else is `run_unknown`."""
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"model": GroupView, "description": "The group that this Idempotency-Key started."}
}


class GroupQuery(UserModel):
    """Query of the list of groups."""

    cursor: Annotated[str, Field(max_length=30)] | None = None
    """`next_cursor` of the page before."""
    limit: Annotated[int, Field(ge=1, le=200)] = 100


@router.post(
    "/groups",
    status_code=201,
    response_model=GroupView,
    responses=_AGAIN,
    openapi_extra=body_of(GroupSpec),
)
async def start_group(
    services: ServicesDep, group: JsonBody, idempotency_key: IdempotencyKey = None
) -> Response:
    """Start all runs of a group, or none if one of them is refused."""
    order = GroupOrder(group=group, idempotency_key=idempotency_key)
    view, is_new = await services.groups.start(order)
    headers = {"Location": f"/api/v1/groups/{view.group_id}"}
    return json_reply(view, 201 if is_new else 200, headers)


@router.post("/groups/check", response_model=GroupPlan, openapi_extra=body_of(GroupSpec))
async def check_group(services: ServicesDep, group: JsonBody) -> Response:
    """What a start would do: how many runs, how long about, and what is wrong; nothing is started."""
    order = GroupOrder(group=group, dry_run=True)
    return json_reply(await services.scheduler.call(verbs.CHECK_GROUP, order))


@router.get("/groups", response_model=GroupViews)
async def list_groups(services: ServicesDep, query: Annotated[GroupQuery, Query()]) -> Response:
    """Groups and sweeps that are not deleted, newest first."""
    request = GroupListRequest(before=query.cursor, limit=query.limit)
    page = await services.scheduler.call(verbs.GROUPS, request)
    groups = await services.groups.with_returns(page.groups)
    return json_reply(GroupViews(groups=groups, next_cursor=page.next_cursor))


@router.get("/groups/{group_id}", response_model=GroupView)
async def get_group(services: ServicesDep, group_id: GroupId) -> Response:
    """One group, also an archived one."""
    request = GroupRequest(group_id=group_id)
    return json_reply(await services.groups.ask(verbs.GET_GROUP, request))


@router.post("/groups/{group_id}/stop", status_code=202, response_model=GroupView)
async def stop_group(services: ServicesDep, group_id: GroupId) -> Response:
    """Ask all runs of a group that have not ended to stop, as `POST /runs/{run_id}/stop` does."""
    request = GroupRequest(group_id=group_id)
    return json_reply(await services.groups.ask(verbs.STOP_GROUP, request), 202)


@router.post(
    "/groups/{group_id}/retry",
    status_code=201,
    response_model=GroupView,
    openapi_extra=body_of(GroupRetry),
)
async def retry_group(services: ServicesDep, group_id: GroupId, retry: JsonBody) -> Response:
    """Start a new run in the place of each that failed."""
    order = GroupRetryOrder(group_id=group_id, retry=retry)
    return json_reply(await services.groups.ask(verbs.RETRY_GROUP, order), 201)


@router.delete("/groups/{group_id}", response_model=GroupView)
async def delete_group(
    services: ServicesDep, group_id: GroupId, query: Annotated[DeleteQuery, Query()]
) -> Response:
    """Delete all runs of a group that has ended; `?now` removes their files and events at once."""
    now, force = query.now is not False, query.force is not False
    request = GroupDeleteRequest(group_id=group_id, now=now, force=force)
    return json_reply(await services.groups.ask(verbs.DELETE_GROUP, request))


@router.post("/groups/{group_id}/restore", response_model=GroupView)
async def restore_group(services: ServicesDep, group_id: GroupId) -> Response:
    """Restore the deleted runs of a group."""
    request = GroupRequest(group_id=group_id)
    return json_reply(await services.groups.ask(verbs.RESTORE_GROUP, request))
