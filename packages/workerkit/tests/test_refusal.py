"""A broker that refuses the run's credentials: the word of it lies in the run folder, and nothing is lost."""

import asyncio
import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker import Broker, StubRecorder
from tests.run_folder import RUN_ID
from tests.test_shipping import check_values, make_run, report, spec_of, start, until

from mosaic_contracts import subjects
from mosaic_contracts.launch import CREDS_FILE, SHIPPER_LOG, SHIPPER_STATE_FILE, ShipperState
from mosaic_workerkit.shipper.refusal import refusal_of

pytestmark = pytest.mark.broker

ACCOUNTS = 'authorization {{ users: [{{ user: "u", password: "p" }}{more}] }}\n'
LET_IN = """
no_auth_user: run
"""
SHUT = ACCOUNTS.format(more="")
OF_ANOTHER = (
    ACCOUNTS.format(
        more=', { user: "run", password: "p", permissions: { publish: "none", subscribe: "none" } }'
    )
    + LET_IN
)
"""A client without credentials is let in and may do nothing of what a run does."""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    server = Broker(tmp_path / "nats")
    yield server
    server.kill()


@pytest.mark.nightly(by_day=["config1-permissions violation"])
@pytest.mark.parametrize(
    ("config", "words"), [(SHUT, "authorization violation"), (OF_ANOTHER, "permissions violation")]
)
async def test_a_refusal_is_left_as_a_word(
    tmp_path: Path, broker: Broker, config: str, words: str
) -> None:
    """Refused credentials are recorded in the run folder, logged once a cause, and cleared when the broker agrees."""
    open_to_all = broker.configure(config)
    broker.start()
    folder = make_run(tmp_path, broker, parameters={"events": 3_000, "rate": 1_500})
    runner = await start(folder)
    await until((folder / SHIPPER_STATE_FILE).exists)
    state = ShipperState.model_validate_json((folder / SHIPPER_STATE_FILE).read_bytes())
    assert words in state.refused.lower()
    assert state.attempt == 1
    await asyncio.sleep(1.5)  # time for more tries, which must not be reported again
    said = [json.loads(line) for line in (folder / SHIPPER_LOG).read_text().splitlines()]
    assert [line["event"] for line in said].count("credentials.refused") == 1, said
    assert len(said) <= 4, said
    broker.kill()
    broker.configure(open_to_all)
    broker.start()
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        assert await asyncio.wait_for(runner.wait(), 60) == 0
        assert check_values(recorder.records, spec_of(folder)) == 3_003
    assert report(folder).phase == "drained"
    assert not (folder / SHIPPER_STATE_FILE).exists()


async def test_damaged_credentials_are_a_refusal(tmp_path: Path, broker: Broker) -> None:
    """Whatever is in the creds file, the shipper lives, says so, and goes on with the file that comes next."""
    broker.start()
    folder = make_run(tmp_path, broker, parameters={"events": 10**8, "rate": 200})
    creds = folder / CREDS_FILE
    creds.write_bytes(b"\xff nothing")
    runner = await start(folder)
    await until((folder / SHIPPER_STATE_FILE).exists)
    state = folder / SHIPPER_STATE_FILE
    for text in ("-----BEGIN NATS USER JWT-----\n.\n-----BEGIN USER NKEY SEED-----\nSUAA\n", ""):
        creds.write_text(text)
        await until(lambda: CREDS_FILE in state.read_text())
    creds.unlink()
    async with StubRecorder(broker.url, RUN_ID) as recorder:
        await until(lambda: recorder.next_seq > 10)
        assert not state.exists()
        runner.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(runner.wait(), 60) == 0


@pytest.mark.parametrize(
    ("said", "refused"),
    [
        ("nats: 'Authorization Violation'", "authorization violation"),
        ("nats: user authentication expired", "user authentication expired"),
        ("nats: user authentication revoked", "user authentication revoked"),
        (
            f'nats: permissions violation for publish to "{subjects.events(RUN_ID)}"',
            "permissions violation for publish",
        ),
        ('nats: permissions violation for publish to "_inbox_gateway.x"', None),
        ("nats: empty connection", None),
        ("None", None),
    ],
)
def test_what_is_a_refusal(said: str, refused: str | None) -> None:
    """A refusal is distinguished from an outage, and from an answer that came too late to be published."""
    assert refusal_of(said) == refused
