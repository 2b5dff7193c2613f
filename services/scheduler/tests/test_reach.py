"""The probe of a W&B server: each thing that can be wrong, in words, through real sockets, and bounded in time."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.tracking import X_TRACKING
from mosaic_contracts.worker import Algorithm, WorkerDescription
from mosaic_scheduler.admission import reach
from mosaic_scheduler.admission.reach import ReachProbe, TrackerServer, proxy_of
from mosaic_scheduler.admission.tracker_look import TrackerLooks
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings

VIEWER = '{"data":{"viewer":{"id":"a"}}}'
KEY, OTHER = SecretStr("k" * 40), SecretStr("o" * 40)


@asynccontextmanager
async def answering(
    *answers: str | None, certificate: Path | None = None
) -> AsyncIterator[tuple[int, list[str]]]:
    """A server that gives one answer for each head that it reads; None: silence. Its port, and the heads."""
    heads: list[str] = []
    given = list(answers)
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            answer = given.pop(0) if given else None
            if answer is None:
                await reader.read()
            else:
                writer.write(answer.encode())
                await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1], heads


def http(status: int, body: str = "") -> str:
    """An HTTP answer."""
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n{body}"


async def fault(address: str, proxy: str | None = None, key: SecretStr | None = KEY) -> str:
    """What a probe says."""
    via = None if proxy is None else SecretStr(proxy)
    return await ReachProbe(limit_s=3).fault(TrackerServer(address, via, key))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http(200, VIEWER), ""),
        (http(200, '{"data": {"viewer": null}}'), "does not know the key"),
        (http(401), "does not accept the key (HTTP 401); set WANDB_API_KEY again"),
        (http(503), "answered HTTP 503"),
        ("SSH-2.0-x\r\n\r\n", "does not speak HTTP"),
    ],
)
async def test_what_a_server_answers(answer: str, words: str) -> None:
    """A key that is not taken has other words than a server that is away."""
    async with answering(answer) as (port, heads):
        found = await fault(f"http://127.0.0.1:{port}")
    assert (words in found, bool(found)) == (True, bool(words))
    assert heads[0].startswith("POST /graphql HTTP/1.1\r\n")


async def test_what_lies_before_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name service, a closed port, silence, and no TLS: each is named, none takes longer than the limit."""
    assert "the name service does not know nobody.invalid" in await fault("https://nobody.invalid")
    assert "127.0.0.1:9 cannot be connected to" in await fault("http://127.0.0.1:9")
    async with answering(None) as (port, _):
        probe = ReachProbe(limit_s=0.2)
        server = TrackerServer(f"http://127.0.0.1:{port}", None, KEY)
        assert await probe.fault(server) == "an answer of 127.0.0.1 took longer than 0.2 s"
        # For a while the same is said, so that a consent fits its preflight.
        with monkeypatch.context() as patched:
            patched.setattr(reach, "_sign_in", None)
            assert "took longer" in await probe.fault(server)
    async with await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", 0) as plain:
        port = plain.sockets[0].getsockname()[1]
        assert "does not speak TLS" in await fault(f"https://127.0.0.1:{port}")


async def test_a_certificate_that_nobody_signed(tmp_path: Path) -> None:
    """It is refused, by the reason of the TLS library."""
    certificate = tmp_path / "pair.pem"
    words = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=mosaic"
    )
    files = ["-keyout", str(certificate), "-out", str(tmp_path / "only.pem")]
    argv = ["openssl", *words.split(), *files]
    await asyncio.to_thread(subprocess.run, argv, check=True, capture_output=True)
    certificate.write_text(certificate.read_text() + (tmp_path / "only.pem").read_text())
    async with answering(http(200, VIEWER), certificate=certificate) as (port, heads):
        found = await fault(f"https://127.0.0.1:{port}")
    assert "certificate of 127.0.0.1 is not valid here (self" in found
    assert heads == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (http(403), "refuses wandb.test:443 (HTTP 403)"),
        (http(407), "wants another name and password (HTTP 407)"),
        (http(200), "wandb.test does not speak TLS"),
    ],
)
async def test_what_a_proxy_answers(answer: str, words: str) -> None:
    """It is asked for the server by name, which it looks up itself; its password is never quoted."""
    async with answering(answer) as (port, heads):
        found = await fault("https://wandb.test", f"http://me:pr0xy-canary@127.0.0.1:{port}")
    assert words in found
    assert "canary" not in found
    assert heads[0].startswith("CONNECT wandb.test:443 HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic " in heads[0]


async def test_plain_http_goes_by_the_proxy_too() -> None:
    """The whole address is asked of it."""
    async with answering(http(200, VIEWER), http(407)) as (port, heads):
        for key, words in ((KEY, ""), (OTHER, "wants another name and password")):
            found = await fault("http://wandb.test", f"http://127.0.0.1:{port}", key)
            assert (words in found, bool(found)) == (True, bool(words))
    assert heads[0].startswith("POST http://wandb.test/graphql HTTP/1.1\r\n")
    assert "the proxy 127.0.0.1:9 cannot be connected" in await fault(
        "https://wandb.test", "http://127.0.0.1:9"
    )


def test_which_proxy_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the address's scheme, and none for what NO_PROXY names."""
    http_one, https_one = SecretStr("http://a:1"), SecretStr("http://b:2")
    monkeypatch.setenv("NO_PROXY", "inside.test,127.0.0.1")
    assert proxy_of("https://api.wandb.ai", http_one, https_one) is https_one
    assert proxy_of("http://wandb.test:8080", http_one, https_one) is http_one
    assert proxy_of("https://w.inside.test", http_one, https_one) is None
    assert proxy_of("http://127.0.0.1:9", http_one, https_one) is None


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({"track": True}, "https://own"),
        ({"track": True, "base_url": "https://other"}, "https://other"),
        ({"track": True, "mode": "offline"}, None),
        ({}, None),
    ],
)
def test_the_spec_of_an_online_run_names_its_server(
    tmp_path: Path, given: dict[str, bool | str], address: str | None
) -> None:
    """The run's own server, else the stack's, is in the spec that its worker and its record have."""
    roles = ("track", "base_url", "mode")
    properties = {role: {X_TRACKING: role} for role in roles}
    algorithm = Algorithm(id="a", title="A", parameters={"properties": properties})
    description = WorkerDescription(
        worker="w",
        version="1",
        title="W",
        record_levels=[],
        algorithms=[algorithm],
        environments=[],
    )
    settings = SchedulerSettings(home=tmp_path, wandb_base_url="https://own")
    looks = TrackerLooks(settings, SecretVault(tmp_path), ReachProbe())
    spec = RunSpec(worker="w", algorithm="a", environment="e", parameters=given)
    assert looks.with_address(spec, description).parameters.get("base_url") == address
