"""Every operation of the published OpenAPI document, driven with generated input against a real gateway process."""

import asyncio
import json
import os
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from mosaic_contracts.problems import Problem
from mosaic_store.testing import RUN_ID, messages

EXAMPLES = int(os.environ.get("MOSAIC_TEST_EXAMPLES", "4"))
"""Examples of each operation and mode; more by hand, when the API has changed."""
pytestmark = [pytest.mark.broker, pytest.mark.timeout(60 + 60 * EXAMPLES)]
KNOWN = {
    "run_id": RUN_ID, "worker_id": "cleanrl", "attempt": 1, "env": 0, "episode": 0, "name": "wandb_key",
    "path": "logs/worker.log", "group_id": "g01JGXSYNTHET1CRVN000000099",
}  # fmt: skip
"""What exists, so that more is reached than refusals of what does not."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def operations(document: dict[str, Any]) -> list[Any]:
    """All operations of the document."""
    schema = schemathesis.openapi.from_dict(document)
    return [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]


def can_be_wrong(operation: Any) -> bool:
    """Whether there is input that the document does not allow: a path may hold any text."""
    parameters = operation.definition.raw.get("parameters", [])
    return "requestBody" in operation.definition.raw or any(
        parameter["in"] == "query" or parameter["schema"].get("type") != "string"
        for parameter in parameters
    )


def drive(operation: Any, mode: GenerationMode, url: str, token: str) -> None:
    """Send generated requests of one operation."""
    session = requests.Session()
    session.trust_env = False

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=operation.as_strategy(generation_mode=mode), exists=st.sets(st.sampled_from([*KNOWN]))
    )
    def one(case: Any, exists: set[str]) -> None:
        for name in exists & (case.path_parameters or {}).keys():
            case.path_parameters[name] = KNOWN[name]
        headers = {"Authorization": f"Bearer {token}"}
        reply = case.call(base_url=url, session=session, headers=headers)
        case.validate_response(reply, checks=CHECKS)
        if reply.status_code >= 400:
            assert reply.headers["content-type"] == ["application/problem+json"], reply.headers
            problem = Problem.model_validate_json(reply.content)
            assert problem.status == reply.status_code
            assert problem.title

    one()


@pytest.mark.nightly
async def test_no_input_breaks_any_operation(gateway: Any, peers: Any, record: Any) -> None:
    """Whatever is sent, no answer is a 5xx, each is what the document says, and each refusal is a problem."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(301, 100)))
    log = gateway.home / "runs" / RUN_ID / "logs" / "worker.log"
    log.parent.mkdir(parents=True)
    log.write_text("hello\n")
    document = json.loads((await gateway.get("/openapi.json")).content)
    found = operations(document)
    assert len(found) == sum(len(methods) for methods in document["paths"].values()) >= 30
    failures = []
    for operation in found:
        for mode in GenerationMode:
            if mode is GenerationMode.NEGATIVE and not can_be_wrong(operation):
                continue
            try:
                await asyncio.to_thread(drive, operation, mode, gateway.url, gateway.token)
            except (AssertionError, BaseExceptionGroup) as error:
                failures.append(
                    f"{operation.method.upper()} {operation.path} ({mode}): {error!r} {error}"
                )
    assert not failures, "\n\n".join(failures)
