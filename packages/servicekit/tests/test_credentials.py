"""Credentials against a real nats-server in operator mode."""

import asyncio
import base64
import json
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from nats.aio.msg import Msg
from nats.errors import TimeoutError as NatsTimeout
from nats.js.api import DiscardPolicy, StreamConfig
from nats.js.errors import NoStreamResponseError

from mosaic_contracts import subjects, verbs
from mosaic_servicekit import jwt
from mosaic_servicekit.broker import init_broker
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import RunSigner
from mosaic_servicekit.errors import CredentialsInvalid
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

pytestmark = pytest.mark.broker

RUN, OTHER = RunIdSource().next(), RunIdSource().next()
Connect = Callable[[str, Path | None], Awaitable[Bus]]


@pytest.fixture
async def connect(secure_broker: TestBroker) -> AsyncIterator[Connect]:
    """Makes connected buses and closes them."""
    made: list[Bus] = []

    async def make(name: str, creds: Path | None) -> Bus:
        bus = Bus(secure_broker.url, name, creds)
        made.append(bus)
        await bus.start()
        await asyncio.wait_for(bus.connected.wait(), 60)
        return bus

    yield make
    for bus in made:
        await bus.close()


@pytest.fixture
async def recorder(secure_broker: TestBroker, connect: Connect) -> Bus:
    """The recorder, with the stream made."""
    bus = await connect("recorder", secure_broker.creds("recorder"))
    await bus.jetstream().add_stream(
        StreamConfig(
            name=subjects.EVENTS_STREAM,
            subjects=[subjects.EVENTS_ALL],
            discard=DiscardPolicy.NEW,
        )
    )
    return bus


@pytest.fixture
async def run(secure_broker: TestBroker, connect: Connect, tmp_path: Path, recorder: Bus) -> Bus:
    """A run's own connection."""
    path = tmp_path / "control" / "broker.creds"
    secure_broker.signer().write_creds(RUN, path)
    return await connect(RUN, path)


@pytest.fixture
async def admin(secure_broker: TestBroker, connect: Connect, tmp_path: Path) -> Bus:
    """Somebody who may publish anything, so that only the listener's permissions are tested."""
    keys = json.loads((secure_broker.home / "secrets/broker/keys.json").read_text())
    seed = jwt.new_seed(jwt.USER)
    token = jwt.user_jwt(
        keys["account"],
        jwt.public_key(keys["account"]),
        jwt.public_key(seed),
        "admin",
        jwt.permissions([">"], [">"]),
    )
    path = tmp_path / "admin.creds"
    path.write_text(jwt.creds_text(token, seed))
    return await connect("admin", path)


async def test_a_run_hears_its_own_control(run: Bus, admin: Bus) -> None:
    """What is published on the run's own control subject arrives (so silence elsewhere means refusal)."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(message: Msg) -> None:
        heard.put_nowait(message.data)

    await run.subscribe(subjects.control(RUN), take)
    await admin.publish(subjects.control(RUN), b"stop")
    assert await asyncio.wait_for(heard.get(), 2) == b"stop"


async def test_a_run_may_publish_its_own_events(run: Bus) -> None:
    """The stream takes a batch on the run's own subject."""
    assert (await run.jetstream().publish(subjects.events(RUN), b"x")).seq == 1


async def test_a_run_may_not_publish_for_another(run: Bus, recorder: Bus) -> None:
    """Another run's subject is refused, and nothing enters the stream."""
    with pytest.raises((NatsTimeout, NoStreamResponseError)):
        await run.jetstream(timeout_s=0.3).publish(subjects.events(OTHER), b"x")
    info = await recorder.jetstream().stream_info(subjects.EVENTS_STREAM)
    assert info.state.messages == 0


async def test_a_run_may_not_purge_the_stream(run: Bus) -> None:
    """The stream's administration is closed to a run."""
    with pytest.raises(NatsTimeout):
        await run.jetstream(timeout_s=0.3).purge_stream(subjects.EVENTS_STREAM)


@pytest.mark.parametrize(
    "subject",
    [
        subjects.EVENTS_ALL.replace("*", ">"),
        f"{subjects.inbox_prefix(OTHER)}.>",
        f"{subjects.inbox_prefix('gateway')}.>",
        "_INBOX.>",
        subjects.control(OTHER),
    ],
)
async def test_a_run_may_not_listen_to_others(run: Bus, admin: Bus, subject: str) -> None:
    """A foreign subscription gets nothing of what is published there."""
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(message: Msg) -> None:
        heard.put_nowait(message.data)

    await run.subscribe(subject, take)
    await admin.publish(subject.replace(">", "x").replace("*", OTHER), b"secret")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(heard.get(), 0.2)


async def test_a_run_answers_on_its_control_subject(
    run: Bus, secure_broker: TestBroker, connect: Connect
) -> None:
    """The gateway's request reaches the run, and the run's reply reaches the gateway."""
    gateway = await connect("gateway", secure_broker.creds("gateway"))
    await run.subscribe(subjects.control(RUN), lambda message: message.respond(b"pong"))
    answer = await gateway.ask(subjects.control(RUN), b"ping", "run")
    assert answer.data == b"pong"


async def test_services_speak_to_each_other(
    secure_broker: TestBroker, connect: Connect, recorder: Bus
) -> None:
    """The recorder may create a consumer, fetch, acknowledge and purge; scheduler events reach it."""
    scheduler = await connect("scheduler", secure_broker.creds("scheduler"))
    await scheduler.jetstream().publish(subjects.events(RUN), b"state")
    js = recorder.jetstream()
    pull = await js.pull_subscribe(subjects.EVENTS_ALL, durable=subjects.EVENTS_CONSUMER)
    (message,) = await pull.fetch(1, timeout=2)
    await message.ack_sync()
    assert message.data == b"state"
    assert await js.purge_stream(subjects.EVENTS_STREAM)
    await js.delete_consumer(subjects.EVENTS_STREAM, subjects.EVENTS_CONSUMER)


async def test_expired_credentials_drop_and_renewed_ones_reconnect(
    secure_broker: TestBroker, connect: Connect, tmp_path: Path, recorder: Bus
) -> None:
    """The server ends the connection at expiry; the bus is back once the creds file is renewed."""
    path = tmp_path / "control" / "broker.creds"
    signer = secure_broker.signer()
    signer.write_creds(RUN, path, lifetime_s=2)
    bus = await connect(RUN, path)
    await asyncio.wait_for(bus.lost.wait(), 60)
    signer.write_creds(RUN, path)
    await asyncio.wait_for(bus.connected.wait(), 60)
    assert (await bus.jetstream().publish(subjects.events(RUN), b"x")).seq == 1


async def test_a_user_that_asks_for_more_than_its_scope_is_refused(
    secure_broker: TestBroker, tmp_path: Path
) -> None:
    """A JWT of the run signer with permissions of its own does not connect."""
    signer = json.loads((secure_broker.home / "secrets/broker/run_signer.json").read_text())
    seed = jwt.new_seed(jwt.USER)
    greedy = jwt.user_jwt(
        signer["seed"],
        signer["account"],
        jwt.public_key(seed),
        RUN,
        jwt.permissions([">"], [">"]),
    )
    path = tmp_path / "greedy.creds"
    path.write_text(jwt.creds_text(greedy, seed))
    bus = Bus(secure_broker.url, RUN, path)
    await bus.start()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(bus.connected.wait(), 0.7)
    await bus.close()


@pytest.mark.parametrize("name", ["*", ">", "", "../x", RUN.lower()])
def test_only_run_ids_get_credentials(tmp_path: Path, name: str) -> None:
    """A name that is not a run id is refused before anything is signed: `*` would mean every run."""
    init_broker(tmp_path, 1, 2)
    with pytest.raises(ValueError, match="not a run id"):
        RunSigner.load(tmp_path).write_creds(name, tmp_path / "x.creds")
    assert not (tmp_path / "x.creds").exists()


def test_a_missing_signer_says_what_to_do(tmp_path: Path) -> None:
    """Without `broker init` the error names the command."""
    with pytest.raises(CredentialsInvalid, match="broker init"):
        RunSigner.load(tmp_path)


def test_init_twice_keeps_keys_and_modes(tmp_path: Path) -> None:
    """Keys survive a second init, and every secret is 0600 in a folder of 0700."""
    init_broker(tmp_path, 4001, 4002)
    keys = (tmp_path / "secrets/broker/keys.json").read_text()
    config = init_broker(tmp_path, 5001, 5002)
    assert (tmp_path / "secrets/broker/keys.json").read_text() == keys
    assert "127.0.0.1:5001" in config.read_text()
    folder = tmp_path / "secrets/broker"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}


def test_a_run_expires_after_an_hour(tmp_path: Path) -> None:
    """The JWT of a run carries an expiry one hour ahead."""
    init_broker(tmp_path, 1, 2)
    path = tmp_path / "x.creds"
    RunSigner.load(tmp_path).write_creds(RUN, path)
    body = path.read_text().splitlines()[1].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    assert claims["exp"] - claims["iat"] == 3600


def test_a_request_may_be_answered_as_long_as_somebody_waits() -> None:
    """The broker forgets who may reply after a while; a verb that imports an archive waits for an hour."""
    assert max(verb.timeout_s for verb in verbs.VERBS) < jwt.REPLY_TTL_S
    ttl_ns = jwt.permissions([], [])["resp"]["ttl"]
    assert ttl_ns == jwt.REPLY_TTL_S * 10**9
