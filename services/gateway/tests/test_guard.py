"""Host, Origin and token on every route there is."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from starlette.routing import WebSocketRoute

from mosaic_gateway.access.guard import OPEN_PATHS, host_name, origin_name
from mosaic_gateway.api.app import create_app
from mosaic_gateway.services import assemble
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus

TOKEN = "t" * 43
RUN = "01JGXSYNTHET1CRVN000000000"
VALUES = {
    "run_id": RUN, "worker_id": "cleanrl", "path:any_path": "a.txt", "path": "a.txt",
    "name": "wandb_key", "attempt": "1", "env": "0", "episode": "0",
}  # fmt: skip


def routes_of(app: Any) -> list[tuple[str, str]]:
    """Method and path of every route, with values for its parameters."""
    found: list[tuple[str, str]] = []
    for context in iter_route_contexts(app.routes):
        path = context.path or ""
        for name, value in VALUES.items():
            path = path.replace(f"{{{name}}}", value)
        if isinstance(context.original_route, WebSocketRoute):
            found.append(("WS", path))
        else:
            found += [(method, path) for method in sorted(context.methods or [])]
    return found


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The application, for its route table."""
    settings = GatewaySettings(home=tmp_path_factory.mktemp("app"))
    return create_app(assemble(settings, Bus("nats://127.0.0.1:1", "gateway"), b"k" * 43), TOKEN)


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory, gateway_process: Any) -> Iterator[httpx.Client]:
    """A client of a real gateway whose broker is not there."""
    home = tmp_path_factory.mktemp("mosaic")
    (home / "secrets").mkdir()
    (home / "secrets" / "gateway.token").touch(0o600)
    (home / "secrets" / "gateway.token").write_text(TOKEN)
    process = gateway_process(
        home, "nats://127.0.0.1:1", MOSAIC_ALLOWED_HOSTS="box.example, other.example"
    )
    process.start()
    with process.client() as client:
        yield client
    assert process.stop() == 0


def call(http: httpx.Client, method: str, path: str, headers: dict[str, Any]) -> httpx.Response:
    """Send one request, also as a WebSocket handshake."""
    if method != "WS":
        return http.request(method, path, headers=headers)
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Protocol": "mosaic.json.v1",
    }
    return http.get(path, headers={**upgrade, **headers})


def told(reply: httpx.Response) -> tuple[int, str]:
    """Status and code of a refusal; an answer to HEAD has no body, so its code is the status' own."""
    if reply.request.method == "HEAD":
        codes = {421: "host_refused", 403: "origin_refused", 401: "unauthorized"}
        return reply.status_code, codes.get(reply.status_code, "")
    assert reply.headers["content-type"] == "application/problem+json"
    return reply.status_code, reply.json()["code"]


def test_the_route_table_is_whole(app: Any) -> None:
    """The routes of docs/interfaces.md are all there, so that the tests over the table test something."""
    paths = {path for _, path in routes_of(app)}
    run = f"/api/v1/runs/{RUN}"
    assert paths >= {
        "/healthz", "/readyz", "/api/v1/stack", "/api/v1/workers", "/api/v1/workers/cleanrl",
        "/api/v1/runs", "/api/v1/runs/check", run, f"{run}/stop", f"{run}/metrics", f"{run}/curve",
        f"{run}/episodes", f"{run}/episodes/1/0/0/steps", f"{run}/events", f"{run}/log",
        f"{run}/artifacts", f"{run}/artifacts/a.txt", f"{run}/quarantine", "/api/v1/live",
        "/api/v1/openapi.json", "/api/v1/preflight", "/api/v1/queue", "/api/v1/machine",
        "/api/v1/gpus", "/api/v1/secrets", "/api/v1/secrets/wandb_key", "/api/v1/tickets",
        f"{run}/queue", f"{run}/retry", f"{run}/resume", f"{run}/clone", f"{run}/play",
        f"{run}/restore",
    }  # fmt: skip


def test_no_route_answers_a_foreign_host(app: Any, http: httpx.Client) -> None:
    """A request for another host name (DNS rebinding) is refused on every route and method, token or not."""
    for method, path in routes_of(app):
        headers = {"Host": "evil.example:8765", "Authorization": f"Bearer {TOKEN}"}
        reply = call(http, method, path, headers)
        assert told(reply) == (421, "host_refused"), (method, path)


def test_no_route_answers_a_foreign_origin(app: Any, http: httpx.Client) -> None:
    """A page of another site is refused on every route and method."""
    for method, path in routes_of(app):
        for origin in ("http://evil.example", "null"):
            headers = {"Origin": origin, "Authorization": f"Bearer {TOKEN}"}
            reply = call(http, method, path, headers)
            assert told(reply) == (403, "origin_refused")


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer \xe9".encode("latin-1")},
    ],
)
def test_every_route_but_the_probes_wants_the_token(
    app: Any, http: httpx.Client, sent: dict[str, Any]
) -> None:
    """Without exactly the token there is 401 with WWW-Authenticate, and never the token in the answer."""
    for method, path in routes_of(app):
        if path in OPEN_PATHS:
            continue
        reply = call(http, method, path, sent)
        assert told(reply) == (401, "unauthorized"), (method, path)
        assert reply.headers["www-authenticate"] == "Bearer"
        assert TOKEN not in reply.text


def test_our_own_hosts_and_origins_pass(http: httpx.Client) -> None:
    """Loopback names with any port, and names that were allowed, are let through, with and without Origin."""
    for host in (
        "127.0.0.1:1",
        "localhost",
        "LOCALHOST:99",
        "[::1]:8765",
        "box.example",
        "other.example:80",
    ):
        for extra in ({}, {"Origin": f"http://{host}"}, {"Origin": f"https://{host}"}):
            assert http.get("/healthz", headers={"Host": host, **extra}).status_code == 200, host


@pytest.mark.parametrize(
    "text",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "a@127.0.0.1",
        "127.0.0.1:x",
        "",
        "[::1",
        "127.0.0.1/x",
    ],
)
def test_odd_hosts_are_none_of_ours(text: str) -> None:
    """What is not exactly a name and a port never reads as loopback."""
    assert host_name(text) not in ("127.0.0.1", "localhost", "::1")
    assert origin_name(f"http://{text}") not in ("127.0.0.1", "localhost", "::1")


def test_unknown_paths_and_methods_are_problems(http: httpx.Client) -> None:
    """404 and 405 are problem details with their codes, and 405 says what is allowed."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    gone = http.get("/api/v1/nothing", headers=headers)
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert gone.headers["content-type"] == "application/problem+json"
    wrong = http.put(f"/api/v1/runs/{RUN}", headers=headers)
    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_refused")
    assert "GET" in wrong.headers["allow"]
