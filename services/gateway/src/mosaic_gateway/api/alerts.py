"""`/alerts`: rules for all runs, what they found, and targets. The address of a target goes in and never comes out."""

import re
from typing import Annotated

from fastapi import Depends, Query, Request
from pydantic import ValidationError
from starlette.responses import Response

from mosaic_contracts import verbs
from mosaic_contracts.alert_words import TARGET_PATTERN
from mosaic_contracts.alerts import (
    AlertQuery,
    AlertReport,
    AlertRuleName,
    AlertRuleOrder,
    AlertRuleRequest,
    AlertRuleView,
    AlertTargetName,
    AlertTargetOrder,
    AlertTargetRequest,
    AlertTargetView,
    AlertTestOrder,
    AlertTestReport,
    AlertTestRequest,
    DeliveryView,
)
from mosaic_gateway.api.deps import JsonBody, ServicesDep, json_body, json_reply
from mosaic_gateway.api.openapi import body_of
from mosaic_gateway.api.routes import Routes
from mosaic_gateway.problem_reply import request_invalid
from mosaic_gateway.strict_json import JsonInvalid

router = Routes(tags=["alerts"])


async def _target_body(request: Request) -> AlertTargetRequest:
    """The target. What is wrong with a body is not quoted from it: any part of it may be a secret."""
    try:
        return AlertTargetRequest.model_validate(await json_body(request))
    except (JsonInvalid, ValidationError):
        raise request_invalid(
            'The body must be {"webhook": "https://...", "consent": true}, and may have "authorization".'
        ) from None


def _target_name(name: str) -> str:
    if re.fullmatch(TARGET_PATTERN, name) is None:
        raise request_invalid(
            "The name of a target has up to 40 small letters, digits, _ and -, and begins with a letter."
        )
    return name


TargetBody = Annotated[AlertTargetRequest, Depends(_target_body)]
Name = Annotated[str, Depends(_target_name)]


@router.get("/alerts", response_model=AlertReport)
async def list_alerts(services: ServicesDep, query: Annotated[AlertQuery, Query()]) -> Response:
    """Rules for all runs, alerts and targets."""
    return json_reply(await services.scheduler.call(verbs.ALERTS, query))


@router.post(
    "/alerts/rules",
    response_model=AlertRuleView,
    status_code=201,
    openapi_extra=body_of(AlertRuleRequest),
)
async def add_alert_rule(services: ServicesDep, asked: JsonBody) -> Response:
    """Add a rule for all runs. Adding it again changes nothing."""
    order = AlertRuleOrder(asked=asked)
    return json_reply(await services.scheduler.call(verbs.ADD_ALERT_RULE, order), status=201)


@router.delete("/alerts/rules/{rule_id}", response_model=AlertRuleView)
async def remove_alert_rule(services: ServicesDep, rule_id: str) -> Response:
    """Remove a rule. It can be restored for a day."""
    name = AlertRuleName(rule_id=rule_id)
    return json_reply(await services.scheduler.call(verbs.REMOVE_ALERT_RULE, name))


@router.post("/alerts/rules/{rule_id}/restore", response_model=AlertRuleView)
async def restore_alert_rule(services: ServicesDep, rule_id: str) -> Response:
    """Bring a removed rule back."""
    name = AlertRuleName(rule_id=rule_id)
    return json_reply(await services.scheduler.call(verbs.RESTORE_ALERT_RULE, name))


@router.post(
    "/alerts/test", response_model=AlertTestReport, openapi_extra=body_of(AlertTestRequest)
)
async def test_alert(services: ServicesDep, asked: JsonBody) -> Response:
    """Try a rule on what a run has recorded. Nothing is kept or sent."""
    order = AlertTestOrder(asked=asked)
    return json_reply(await services.scheduler.call(verbs.TEST_ALERT, order))


@router.put(
    "/alerts/targets/{name}",
    response_model=AlertTargetView,
    openapi_extra=body_of(AlertTargetRequest),
)
async def put_alert_target(services: ServicesDep, name: Name, body: TargetBody) -> Response:
    """Send alerts to a webhook from now on, in place of an earlier one of that name."""
    asked = {
        "webhook": body.webhook.get_secret_value(),
        "consent": body.consent,
        **(
            {}
            if body.authorization is None
            else {"authorization": body.authorization.get_secret_value()}
        ),
    }
    order = AlertTargetOrder(name=name, asked=asked)
    return json_reply(await services.scheduler.call(verbs.SET_ALERT_TARGET, order))


@router.delete("/alerts/targets/{name}", status_code=204)
async def delete_alert_target(services: ServicesDep, name: Name) -> Response:
    """Remove a target."""
    await services.scheduler.call(verbs.DELETE_ALERT_TARGET, AlertTargetName(name=name))
    return Response(status_code=204)


@router.post("/alerts/targets/{name}/test", response_model=DeliveryView)
async def test_alert_target(services: ServicesDep, name: Name) -> Response:
    """Send a test to a target, once, and report how it went."""
    return json_reply(
        await services.scheduler.call(verbs.TEST_ALERT_TARGET, AlertTargetName(name=name))
    )
