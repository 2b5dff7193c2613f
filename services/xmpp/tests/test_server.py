"""The server as it is configured here: a real ejabberd on free ports."""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
import serve
from tests.login import Session

HERE = Path(serve.__file__).parent
pytestmark = pytest.mark.skipif(not serve.is_installed(), reason="no ejabberd on this machine")
AGENT = ("agent-1", "correct horse, battery: staple")


class Server:
    """A running server and its HTTP API."""

    def __init__(self, home: Path) -> None:
        self.home = home
        # As a user that has no account here, where root may become one and such a user can read the checkout.
        is_open = all(folder.stat().st_mode & 0o001 for folder in serve.RUN.parents)
        self._uid = 54321 if os.getuid() == 0 and is_open else None
        if self._uid is not None:
            os.chown(home, self._uid, self._uid)
        self.start()

    def start(self) -> None:
        """Start it, in the same folder as before."""
        self.process = serve.start(self.home, self._uid)
        self.facts = json.loads((self.home / "server.json").read_text())
        self.port: int = self.facts["port"]
        self.secret = (self.home / self.facts["password_file"]).read_text().strip()

    def call(self, verb: str, *, as_user: tuple[str, str] | None = None, **fields: str) -> int:
        """Status of an API call, made as the scheduler unless `as_user` is given."""
        url, auth = f"{self.facts['api_url']}/{verb}", as_user or (self.facts["user"], self.secret)
        return httpx.post(url, json=fields, auth=auth, timeout=10, trust_env=False).status_code

    def register(self, user: str, password: str) -> int:
        """Make an account."""
        return self.call("register", user=user, host=serve.DOMAIN, password=password)

    def session(self) -> Session:
        """A connection that is encrypted, its certificate verified."""
        session = Session(self.port, serve.DOMAIN)
        session.encrypt(self.home / self.facts["ca_file"], serve.DOMAIN)
        return session


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for all tests."""
    with tempfile.TemporaryDirectory() as home:  # tmp_path lies where others may not look
        running = Server(Path(home))
        yield running
        assert serve.stop(running.process) == 0


def test_an_account_from_register_to_unregister(server: Server) -> None:
    """A registered account can log in with its password only, and no longer once it is unregistered."""
    assert server.register(*AGENT) == 200
    assert server.register(*AGENT) == 409
    for password, known in ((AGENT[1], True), ("wrong", False)):
        with server.session() as session:
            assert session.log_in(AGENT[0], password) is known
    assert server.call("unregister", user=AGENT[0], host=serve.DOMAIN) == 200
    with server.session() as session:
        assert not session.log_in(*AGENT)


def test_the_api_gives_two_verbs_to_one_user(server: Server) -> None:
    """Users other than the scheduler may do nothing; the scheduler may only register and unregister."""
    server.register("somebody", "pw")
    fields = {"user": "new", "host": serve.DOMAIN, "password": "pw"}
    wrong, agent = (server.facts["user"], "wrong"), (f"somebody@{serve.DOMAIN}", "pw")
    assert server.call("register", as_user=wrong, **fields) == 401
    assert server.call("register", as_user=agent, **fields) == 403
    assert httpx.post(f"{server.facts['api_url']}/register", json=fields).status_code == 403
    for verb in ("status", "stop", "restart", "reload_config", "connected_users"):
        assert server.call(verb) == 403
    assert server.call("registered_users", host=serve.DOMAIN) == 403


def test_the_schedulers_account_is_no_agents(server: Server) -> None:
    """With the API's password nobody becomes a client that others could talk to."""
    with server.session() as session:
        user = server.facts["user"].partition("@")[0]
        # the password is right; the right to a session is asked for afterwards
        assert session.log_in(user, server.secret)
        assert "not-allowed" in session.open_session()


def test_nothing_is_said_in_the_clear(server: Server) -> None:
    """Before STARTTLS no login is offered, and the certificate is for the domain and no other name."""
    with Session(server.port, serve.DOMAIN) as session:
        assert "starttls" in session.features
        assert "mechanism" not in session.features
        with pytest.raises(ssl.SSLCertVerificationError, match="example"):
            session.encrypt(server.home / server.facts["ca_file"], "example.org")


def test_nobody_registers_themselves(server: Server) -> None:
    """In-band registration is neither offered nor done."""
    with server.session() as session:
        assert "register" not in session.features
        assert "result" not in session.register()
    assert server.register("intruder", "x") == 200  # 409 if the name were taken


def test_only_two_doors_and_no_secret_in_sight(server: Server) -> None:
    """The server listens on its two ports of 127.0.0.1; its password is in no argument and in no file for others."""
    process = psutil.Process(server.process.pid)
    listening = {
        (address.laddr.ip, address.laddr.port)
        for address in process.net_connections("tcp")
        if address.status == psutil.CONN_LISTEN
    }
    api = int(server.facts["api_url"].split(":")[2].partition("/")[0])
    assert listening == {(serve.HOST, server.port), (serve.HOST, api)}
    assert server.secret not in " ".join(process.cmdline())
    made = [path for part in ("conf", "db", "log") for path in (server.home / part).rglob("*")]
    assert {path.stat().st_mode & 0o077 for path in made} == {0}


def test_a_stop_is_quick_and_loses_nothing(server: Server) -> None:
    """SIGTERM right after a registration: exit code 0 in seconds, and the next start knows account and certificate."""
    certificate = (server.home / "conf" / "cert.pem").read_text()
    assert server.register("late", "pw") == 200
    server.process.terminate()
    assert server.process.wait(60) == 0
    server.start()
    with server.session() as session:
        assert session.log_in("late", "pw")
    assert (server.home / "conf" / "cert.pem").read_text() == certificate


def test_the_health_check_tells_up_from_down(server: Server) -> None:
    """ready.sh is 0 while agents can log in, else not."""
    with socket.create_server((serve.HOST, 0)) as mute:
        for port, healthy in ((server.port, True), (mute.getsockname()[1], False), (1, False)):
            env = {**os.environ, "XMPP_PORT": str(port), "XMPP_DOMAIN": serve.DOMAIN}
            done = subprocess.run([HERE / "ready.sh"], env=env, capture_output=True, check=False)
            assert (done.returncode == 0) is healthy, done.stderr


@pytest.mark.parametrize("killed", [False, True])
def test_the_launcher_ends_with_whoever_started_it(tmp_path: Path, killed: bool) -> None:
    """serve.py says where its server is; with its stdin closed, or killed, the server is gone."""
    launcher = [sys.executable, str(HERE / "serve.py")]
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        launcher, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    port = said["server"]["port"]
    assert serve.offers_login(port)
    if killed:
        process.kill()
    process.communicate()
    if killed:
        deadline_s = time.monotonic() + 60
        while serve.offers_login(port) and time.monotonic() < deadline_s:
            time.sleep(0.05)
    else:
        assert process.returncode == 0
        assert not Path(said["home"]).exists()
    assert not serve.offers_login(port)


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [
        ("XMPP_DOMAIN", 'x"y', "lower-case names"),
        ("XMPP_API_HOST", "no.such.host.invalid", "no address"),
        ("XMPP_HOME", "/proc/nothing", "XMPP_HOME"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, variable: str, value: str, word: str) -> None:
    """A setting that cannot be used ends the start with 2 and its name."""
    env = {**os.environ, "XMPP_HOME": str(tmp_path), variable: value}
    done = subprocess.run([serve.RUN], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert word in done.stderr
