"""Messages from outside of the process: what arrives, what is ignored, and that nothing of it kills an agent."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from slixmpp import ClientXMPP
from spade.message import Message
from tests.run_folder import FinishedRun, finish, has, start, wait_for

from mosaic_workerkit.testing.recorded import read_events

pytestmark = [pytest.mark.xmpp, pytest.mark.timeout(240)]

LISTENER = """heard(0).
!go.
+!go <- .option(learn, anneal, 300, budget); .wait(30); !!go.
+fact(A, B, C) <- -+heard(A); .option(told, anneal, 100, budget).
+stop_it <- .finish.
"""
ODD = [
    ("shout", "fact(1, x, y)", "an unknown performative"),
    ("tell", "((", "the content is no literal"),
    ("tell", "Fact(1)", "the content is no literal"),
    ("achieve", "nowhere", "no applicable plan"),
]


async def send(access: dict[str, Any], account: int, messages: list[tuple[str, str]]) -> None:
    """Log in as one of the run's accounts, from elsewhere, and write to the learner."""
    reported = access["accounts"][account]
    client = ClientXMPP(f"{reported['jid']}/elsewhere", reported["password"])
    client.enable_direct_tls = False
    client.ssl_context.load_verify_locations(access["ca_file"])
    ready = asyncio.Event()
    client.add_event_handler("session_start", lambda _event: ready.set())
    client.connect(host=access["host"], port=access["port"])
    async with asyncio.timeout(60):
        await ready.wait()
    for kind, body in messages:
        data = {"performative": "BDI", "ilf_type": kind}
        message = Message(to=access["accounts"][0]["jid"], body=body, metadata=data)
        message.prepare(client).send()
    await client.disconnect()


def reported(done_or_events: Any) -> list[dict[str, Any]]:
    """What the agent said of messages."""
    return [e["data"] for e in done_or_events if e["type"] == "bdi.message"]


def run_with(
    folder: Path, access: Path, account: int, messages: list[tuple[str, str]]
) -> FinishedRun:
    """A run that learns until the last of the messages was seen, and is stopped then."""
    process = start(
        folder,
        access,
        algorithm="bdi_q",
        steps=100_000_000,
        record="metrics",
        parameters={"plan": LISTENER},
    )
    try:
        wait_for(folder, process, has("bdi.option"))
        asyncio.run(send(json.loads(access.read_text()), account, messages))
        wait_for(folder, process, lambda events: len(reported(events)) >= len(messages))
        mark = read_events(folder)[-1]["seq"]
        wait_for(
            folder,
            process,
            lambda events: any(e["type"] == "bdi.option" and e["seq"] > mark for e in events),
        )
    finally:
        process.send_signal(signal.SIGTERM)
        done = finish(process, folder)
    assert done.code == 0, done.stderr
    return done


@pytest.mark.nightly
def test_odd_messages_are_ignored_in_words_and_kill_nobody(access: Path, tmp_path: Path) -> None:
    """Unknown performatives, broken contents, unknown goals: each is recorded as ignored with why; learning goes on."""
    done = run_with(tmp_path / "run", access, 0, [(kind, body) for kind, body, _ in ODD])
    ignored = [message for message in reported(done.events) if message["way"] == "ignored"]
    for message, (kind, body, reason) in zip(ignored, ODD, strict=True):
        assert (message["performative"], message["content"]) == (kind, body)
        assert reason in message.get("reason", ""), message


def test_facts_arrive_with_their_types(access: Path, tmp_path: Path) -> None:
    """Numbers, words and strings with blanks, between two processes: the plan for them fires."""
    done = run_with(tmp_path / "run", access, 0, [("tell", 'fact(7, word, "two words")')])
    assert [message["way"] for message in reported(done.events)] == ["received"]
    assert "told" in {option["option"] for option in done.data("bdi.option")}
    added = [belief for data in done.data("bdi.belief") for belief in data["added"]]
    assert any(belief.startswith("fact(7, word, two words)") for belief in added)


def test_strangers_are_not_listened_to(access: Path, tmp_path: Path) -> None:
    """An account that is no agent of this run can tell it nothing."""
    done = run_with(tmp_path / "run", access, 1, [("tell", "stop_it")])
    (message,) = reported(done.events)
    assert (message["way"], message["reason"]) == ("ignored", "the sender is no agent of this run")
