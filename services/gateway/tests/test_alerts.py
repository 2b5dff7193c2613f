"""`/alerts`: what is passed on, and what is never quoted."""

from typing import Any

import pytest

SECRET = "https://example.org/hooks/T0/very-secret"
TARGET = "/alerts/targets/chat"


async def test_rules_and_targets_are_passed_on(gateway: Any, peers: Any) -> None:
    """A rule goes to the scheduler as it was sent; a target with its address."""
    added = await gateway.ask("POST", "/alerts/rules", json={"rule": "return<50 for 50k steps"})
    assert added.status_code == 201
    assert peers.asked[-1].asked == {"rule": "return<50 for 50k steps"}
    kept = await gateway.ask("PUT", TARGET, json={"webhook": SECRET, "consent": True})
    assert kept.json()["shown"] == "https://example.org/***"
    assert peers.asked[-1].asked["webhook"] == SECRET


@pytest.mark.parametrize(
    "body",
    [
        {"webhook": SECRET},
        {"webhook": SECRET, "consent": False},
        {"webhook": [SECRET], "consent": True},
    ],
)
async def test_a_target_needs_consent_and_is_not_quoted(gateway: Any, body: dict[str, Any]) -> None:
    """Without `consent: true` nothing is kept, and the refusal has no part of the address."""
    refused = await gateway.ask("PUT", TARGET, json=body)
    assert refused.status_code == 422
    assert "secret" not in refused.text
