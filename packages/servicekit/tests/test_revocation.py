"""Credentials of ended runs, on a real broker: useless at once, and after its restart too; nobody else notices."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import nats
import pytest
from nats.errors import Error as NatsError
from nats.js.api import DiscardPolicy, StreamConfig

from mosaic_contracts import subjects
from mosaic_servicekit import jwt
from mosaic_servicekit.account import REVOKED_FILE, REVOKER, Accounts, load_keys
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import RUN_LIFETIME_S, RunSigner, creds_path
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.errors import RevocationFailed
from mosaic_servicekit.revocation import RunRevoker
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource
from mosaic_servicekit.visit import visit

pytestmark = pytest.mark.broker

IDS = RunIdSource()
RUN, OTHER = IDS.next(), IDS.next()
Connect = Callable[[str], Awaitable[Bus]]


@pytest.fixture
async def connect(secure_broker: TestBroker, tmp_path: Path) -> AsyncIterator[Connect]:
    """Connects runs and services, and closes them."""
    made: list[Bus] = []

    async def make(name: str) -> Bus:
        path = secure_broker.creds(name) if name in ("recorder", "gateway") else None
        if path is None:
            path = tmp_path / name / "broker.creds"
            secure_broker.signer().write_creds(name, path)
        bus = Bus(secure_broker.url, name, path)
        made.append(bus)
        await bus.start()
        await asyncio.wait_for(bus.connected.wait(), 60)
        return bus

    yield make
    for bus in made:
        await bus.close()


def revoker_of(broker: TestBroker) -> RunRevoker:
    """What a scheduler has."""
    return RunRevoker(broker.home, broker.url, broker.signer())


async def is_admitted(broker: TestBroker, creds: Path) -> bool:
    """Whether the broker lets these credentials in."""

    try:
        async with visit(broker.url, RUN, "test", CredsFile(creds)):
            return True
    except NatsError as error:
        if not jwt.is_refusal(str(error)):
            raise
        return False


async def test_an_ended_run_is_shut_out_and_no_other(
    secure_broker: TestBroker, connect: Connect, tmp_path: Path
) -> None:
    """Its connection is closed and its file refused, new ones too; others keep their connection and lose nothing."""
    recorder = await connect("recorder")
    config = StreamConfig(
        name=subjects.EVENTS_STREAM, subjects=[subjects.EVENTS_ALL], discard=DiscardPolicy.NEW
    )
    await recorder.jetstream().add_stream(config)
    run, other = await connect(RUN), await connect(OTHER)
    tail = await recorder.jetstream().pull_subscribe(subjects.EVENTS_ALL)
    publishing = asyncio.create_task(publish(other, 200))
    await revoker_of(secure_broker).revoke([RUN])
    await asyncio.wait_for(run.lost.wait(), 60)
    await publishing
    assert len(await tail.fetch(200, timeout=60)) == 200
    assert (other.connects, recorder.connects) == (1, 1)
    creds = tmp_path / RUN / "broker.creds"
    assert not await is_admitted(secure_broker, creds)
    secure_broker.signer().write_creds(RUN, creds)
    assert not await is_admitted(secure_broker, creds)
    assert await is_admitted(secure_broker, tmp_path / OTHER / "broker.creds")


async def publish(bus: Bus, events: int) -> None:
    """One after the other, each acknowledged."""
    for _ in range(events):
        await bus.jetstream().publish(subjects.events(OTHER), b"x")


async def test_a_restart_of_the_broker_forgets_no_revocation(
    secure_broker: TestBroker, connect: Connect, tmp_path: Path
) -> None:
    """Also of a run that ended while there was no broker: that is said, and a broker that starts knows it."""
    await connect(RUN)
    await connect(OTHER)
    await revoker_of(secure_broker).revoke([RUN])
    secure_broker.kill()
    with pytest.raises(RevocationFailed, match="not informed"):
        await revoker_of(secure_broker).revoke([OTHER])
    secure_broker.start()
    for run_id in (RUN, OTHER):
        assert not await is_admitted(secure_broker, tmp_path / run_id / "broker.creds")
    # Once more, and one more run: a second change within a second is taken too.
    third = IDS.next()
    secure_broker.signer().write_creds(third, tmp_path / "third.creds")
    assert await is_admitted(secure_broker, tmp_path / "third.creds")
    await revoker_of(secure_broker).revoke([RUN])
    await revoker_of(secure_broker).revoke([third])
    assert not await is_admitted(secure_broker, tmp_path / "third.creds")


async def test_the_revoker_may_do_nothing_else(secure_broker: TestBroker) -> None:
    """Its user of the system account may not ask the server for anything but that one change."""
    said: list[Exception] = []

    async def hear(error: Exception) -> None:
        said.append(error)

    client = await nats.connect(
        secure_broker.url,
        inbox_prefix=subjects.inbox_prefix(REVOKER),
        error_cb=hear,
        **CredsFile(creds_path(secure_broker.home, REVOKER)).options(),
    )
    await client.subscribe("$SYS.>")
    await client.publish("$SYS.REQ.SERVER.PING.CONNZ")
    for _ in range(2):
        await client.flush()
    await client.close()
    assert len([error for error in said if "permissions violation" in str(error)]) == 2


def test_what_nothing_can_need_any_more_is_dropped(tmp_path: Path) -> None:
    """The list holds what ended within a run's lifetime, however many runs there were; a new start keeps it."""
    init_broker(tmp_path, 1, 2)
    clock = [time.time()]
    accounts = Accounts(tmp_path, load_keys(tmp_path), lambda: clock[-1])
    users = [RunSigner.load(tmp_path).public_key(IDS.next()) for _ in range(6)]
    for user in users:
        accounts.revoke([user])
        clock.append(clock[-1] + RUN_LIFETIME_S / 3)
    assert set(json.loads((tmp_path / REVOKED_FILE).read_text())) == set(users[2:])
    init_broker(tmp_path, 3, 4)
    assert set(json.loads((tmp_path / REVOKED_FILE).read_text())) == set(users[2:])


def test_a_run_has_one_user_for_life(tmp_path: Path) -> None:
    """Whatever is minted for a run is for the same user, which is another one for each run and each stack."""
    for name in ("one", "two"):
        init_broker(tmp_path / name, 1, 2)
    one, again = RunSigner.load(tmp_path / "one"), RunSigner.load(tmp_path / "one")
    two = RunSigner.load(tmp_path / "two")
    one.write_creds(RUN, tmp_path / "a.creds")
    again.write_creds(RUN, tmp_path / "b.creds", lifetime_s=5)
    users = {CredsFile(tmp_path / f"{n}.creds").parts().claims["sub"] for n in "ab"}
    assert users == {one.public_key(RUN)}
    assert len({one.public_key(RUN), one.public_key(OTHER), two.public_key(RUN)}) == 3
