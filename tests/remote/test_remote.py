"""Every way of docs/remote.md to a stack on another machine, with the command line as the client.

"Another machine" is this one with a data root of its own, that has nothing but copies of the stack's token and
certificate. The stack is a real one with both doors; the programs before it are real, too.
"""

import hashlib
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from remote.programs import Programs, free_port
from stack_under_test import (
    ROOT,
    VENVS,
    StackUnderTest,
    last_json,
    link_environments,
    until,
)

from mosaic_contracts import stack as names

pytestmark = [
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        shutil.which("openssl") is None,
        reason="NOT TESTED: no openssl, with which a gateway makes its certificate",
    ),
]
LARGE = 8 * 2**20
PROXY_CONFIG = ROOT / "deploy" / "remote" / "haproxy.cfg"
Cli = Callable[..., "subprocess.CompletedProcess[str]"]


class Elsewhere:
    """A stack with its doors, and what a person on another machine has of it."""

    def __init__(self, stack: StackUnderTest, tls_port: int, folder: Path) -> None:
        self.stack, self.tls_port, self.folder = stack, tls_port, folder
        self.plain_port = int(stack.stack_file().gateway_url.rpartition(":")[2])
        self.token = shutil.copy(stack.home / names.TOKEN_FILE, folder / "lab.token")
        self.certificate = shutil.copy(stack.home / "secrets" / "gateway.crt", folder / "lab.crt")
        self.run_id = stack.wait_final(
            stack.submit("synthetic", "synthetic", "Synthetic-v0", steps=200).run_id
        ).run_id
        file = stack.run_dir(self.run_id) / "checkpoints" / "large.bin"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(os.urandom(LARGE))
        self.digest = hashlib.sha256(file.read_bytes()).hexdigest()

    def argv(
        self, url: str, *args: str, token: Path | None = None, trusts: bool = True
    ) -> list[str]:
        """`./mosaic --url ...` as typed on the other machine."""
        argv = [str(VENVS / "cli" / "bin" / "python"), "-m", "mosaic_cli"]
        argv += ["--url", url, "--token-file", str(token or self.token)]
        return [*argv, *(("--ca-file", str(self.certificate)) if trusts else ()), *args]

    @property
    def environ(self) -> dict[str, str]:
        """Environment of the other machine: nothing of this one's stack."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")}
        return kept | {"MOSAIC_HOME": str(self.folder / "home"), "MOSAIC_ROOT": str(self.folder)}

    def cli(
        self, url: str, *args: str, token: Path | None = None, trusts: bool = True
    ) -> "subprocess.CompletedProcess[str]":
        """One call of the command line."""
        return subprocess.run(
            self.argv(url, *args, token=token, trusts=trusts),
            env=self.environ,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def says(self, url: str, *words: str, trusts: bool = True, token: Path | None = None) -> None:
        """`ps` fails with exit code 3 and these words."""
        done = self.cli(url, "ps", trusts=trusts, token=token)
        told = " ".join(done.stderr.split())
        assert (done.returncode, "Traceback" in told) == (3, False), done
        assert [word for word in words if word not in told] == [], told

    def works(self, url: str, context: ssl.SSLContext | None = None) -> None:
        """List, run and follow (WebSocket) to the end, fetch a large file, open a link without the token."""
        done = self.cli(url, "ps", "--json")
        assert done.returncode == 0, done
        assert self.run_id in done.stdout
        done = self.cli(
            *(url, "run", "synthetic", "synthetic", "Synthetic-v0"),
            *("--steps", "3000", "-p", "rate=2000", "--json"),
        )
        assert done.returncode == 0, done
        assert "connection lost" not in done.stderr
        assert last_json(done.stdout)["state"] == "succeeded"
        fetched = self.folder / "fetched.bin"
        done = self.cli(url, "download", self.run_id, "checkpoints/large.bin", "-o", str(fetched))
        assert done.returncode == 0, done
        assert hashlib.sha256(fetched.read_bytes()).hexdigest() == self.digest
        done = self.cli(url, "link", self.run_id, "checkpoints/large.bin")
        assert done.returncode == 0, done
        opens_without_token(done.stdout.strip(), fetched.read_bytes(), context)
        fetched.unlink()


def opens_without_token(link: str, content: bytes, context: ssl.SSLContext | None) -> None:
    """As a player asks: no bearer, a range of a large file; and nothing else opens by that ticket."""
    request = urllib.request.Request(link, headers={"Range": "bytes=1000000-1999999"})
    with urllib.request.urlopen(request, timeout=30, context=context) as answer:
        assert (answer.status, answer.read()) == (206, content[1_000_000:2_000_000])
        assert answer.headers["Content-Range"] == f"bytes 1000000-1999999/{len(content)}"
    other = link.replace("checkpoints/large.bin", "spec.json")
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(other, timeout=30, context=context)
    assert refused.value.code == 401
    refused.value.close()


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[Elsewhere]:
    """A stack with a TLS door on all addresses, and a finished run with a large file."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as folder:
        venvs = link_environments(Path(folder) / "venvs", "worker_cleanrl")
        stack, tls_port = StackUnderTest(Path(folder) / "lab", venvs), free_port()
        stack.environ |= {
            "MOSAIC_BIND": "0.0.0.0",  # noqa: S104
            "MOSAIC_TLS": "self",
            "MOSAIC_TLS_PORT": str(tls_port),
            "MOSAIC_ALLOWED_HOSTS": "lab.example",
        }
        there = Path(folder) / "there"
        there.mkdir()
        try:
            stack.start()
            yield Elsewhere(stack, tls_port, there)
        finally:
            stack.stop()


@pytest.fixture
def trusted(elsewhere: Elsewhere) -> ssl.SSLContext:
    """A browser that trusts the stack's certificate."""
    return ssl.create_default_context(cafile=elsewhere.certificate)


@pytest.fixture
def programs(elsewhere: Elsewhere) -> Programs:
    """haproxy and sshd, whose files lie on the "other machine", too."""
    return Programs(elsewhere.folder)


def test_tls_of_the_gateways_own(elsewhere: Elsewhere, trusted: ssl.SSLContext) -> None:
    """Over HTTPS and wss with a copy of the gateway's own certificate all works as on the machine itself."""
    elsewhere.works(f"https://localhost:{elsewhere.tls_port}", trusted)


def test_tensorboard_over_tls(elsewhere: Elsewhere, trusted: ssl.SSLContext) -> None:
    """Its link opens over HTTPS with a cookie for HTTPS alone, and the curve is read through it; in plain HTTP too."""
    for url, context in (
        (f"https://localhost:{elsewhere.tls_port}", trusted),
        (f"http://localhost:{elsewhere.plain_port}", None),
    ):
        done = elsewhere.cli(url, "tensorboard", elsewhere.run_id, "--no-open", "--json")
        assert done.returncode == 0, done
        link = str(last_json(done.stdout)["url"])
        assert link.startswith(f"{url}/dashboards/")
        cookies = CookieJar()
        browser = urllib.request.build_opener(
            urllib.request.HTTPSHandler(context=context),
            urllib.request.HTTPCookieProcessor(cookies),
        )
        browser.open(link, timeout=60).close()
        assert [cookie.secure for cookie in cookies] == [context is not None]
        page = link.partition("?")[0]
        with browser.open(page, timeout=60) as answer:
            assert b"<title>TensorBoard" in answer.read()

        def has_run(page: str = page, browser: urllib.request.OpenerDirector = browser) -> bool:
            with browser.open(f"{page}data/plugin/scalars/tags", timeout=60) as answer:
                return bool(json.load(answer))

        until(has_run, "TensorBoard has the run's metrics", 60)
    stopped = elsewhere.cli(f"https://localhost:{elsewhere.tls_port}", "tensorboard", "--stop")
    assert stopped.returncode == 0, stopped


def test_what_is_wrong_is_told_apart(elsewhere: Elsewhere) -> None:
    """Certificate unknown, for another name, http for https and the reverse, token, address: each in its words."""
    tls, plain = elsewhere.tls_port, elsewhere.plain_port
    elsewhere.says(f"https://localhost:{tls}", "not known here", "--ca-file", trusts=False)
    # All of 127.0.0.0/8 is this machine: an address that the certificate does not have.
    elsewhere.says(f"https://127.0.0.2:{tls}", "other names than 127.0.0.2", "MOSAIC_ALLOWED_HOSTS")
    elsewhere.says(f"http://localhost:{tls}", "begins with https://")
    elsewhere.says(f"https://localhost:{plain}", "does not speak TLS", "http://")
    elsewhere.says(f"http://localhost:{free_port()}", "Check the address", "tunnel")
    elsewhere.says(f"localhost:{tls}", "is no address", "http://127.0.0.1:8080")
    wrong = elsewhere.folder / "wrong.token"
    wrong.write_text("not-the-token-of-this-stack")
    elsewhere.says(f"https://localhost:{tls}", "token is not that of this stack", token=wrong)


@contextmanager
def ssh_server(programs: Programs) -> Iterator[list[str]]:
    """A real sshd on loopback; yields how `ssh` logs in there."""
    folder, port = programs.folder, free_port()
    for name in ("host_key", "user_key"):
        (folder / name).unlink(missing_ok=True)
        keygen = programs.argv(
            "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)
        )
        subprocess.run(keygen, check=True, timeout=60)
    (folder / "known_hosts").write_text(
        f"[127.0.0.1]:{port} {(folder / 'host_key.pub').read_text()}"
    )
    (folder / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\nPidFile none\nUsePAM no\n"
        f"AuthorizedKeysFile {folder}/user_key.pub\nStrictModes no\nPasswordAuthentication no\n"
    )
    with programs.running("sshd", "-D", "-e", "-f", str(folder / "sshd_config"), port=port):
        yield [
            *("-p", str(port), "-i", str(folder / "user_key"), "-o", "IdentitiesOnly=yes"),
            *("-o", f"UserKnownHostsFile={folder}/known_hosts", "-o", "BatchMode=yes"),
            *("-o", "ExitOnForwardFailure=yes", "-F", "none", f"{programs.login}@127.0.0.1"),
        ]


def test_an_ssh_tunnel(elsewhere: Elsewhere, programs: Programs) -> None:
    """Through `ssh -L` all works without TLS, and a followed run outlives a tunnel that breaks and is opened again."""
    port = free_port()
    forward = f"127.0.0.1:{port}:127.0.0.1:{elsewhere.plain_port}"
    with ssh_server(programs) as login:
        with programs.running("ssh", "-N", "-L", forward, *login, port=port):
            elsewhere.works(f"http://127.0.0.1:{port}")
            run = elsewhere.argv(f"http://127.0.0.1:{port}", "run", "synthetic", "synthetic")
            run += ["Synthetic-v0", "--steps", "6000", "-p", "rate=1000", "--json"]
            follower = subprocess.Popen(
                run,
                env=elsewhere.environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            with elsewhere.stack.client() as client:
                until(lambda: client.runs(state=["running"]).runs, "it runs", 60)
        with programs.running("ssh", "-N", "-L", forward, *login, port=port):
            out, err = follower.communicate(timeout=120)
        assert follower.returncode == 0, err
        assert "connection lost" in err
        assert last_json(out)["state"] == "succeeded"


def test_a_name_that_is_not_allowed(elsewhere: Elsewhere, programs: Programs) -> None:
    """A request under a host name that the gateway does not allow is refused with the variable to set."""
    port = free_port()
    forward = f"127.0.0.2:{port}:127.0.0.1:{elsewhere.plain_port}"
    with (
        ssh_server(programs) as login,
        programs.running("ssh", "-N", "-L", forward, *login, port=port, host="127.0.0.2"),
    ):
        elsewhere.says(f"http://127.0.0.2:{port}", "add '127.0.0.2' to", "MOSAIC_ALLOWED_HOSTS")


def test_a_reverse_proxy(elsewhere: Elsewhere, programs: Programs, trusted: ssl.SSLContext) -> None:
    """Behind haproxy with the documented configuration all works; a gateway that is away is the proxy's word."""
    port, secrets = free_port(), elsewhere.stack.home / "secrets"
    pem, config = elsewhere.folder / "proxy.pem", elsewhere.folder / "haproxy.cfg"
    pem.write_text((secrets / "gateway.crt").read_text() + (secrets / "gateway.key").read_text())
    shutil.copy(PROXY_CONFIG, config)
    environ = {"MOSAIC_DOOR": f"127.0.0.1:{port}", "MOSAIC_CERT": str(pem)}
    gateway = f"127.0.0.1:{elsewhere.plain_port}"
    with programs.running(
        "haproxy", "-db", "-f", str(config), port=port, MOSAIC_GATEWAY=gateway, **environ
    ):
        elsewhere.works(f"https://localhost:{port}", trusted)
        elsewhere.says(f"https://localhost:{port}", "not known here", trusts=False)
        named = urllib.request.Request(
            f"https://localhost:{port}/healthz", headers={"Host": "lab.example"}
        )
        with urllib.request.urlopen(named, timeout=30, context=trusted) as answer:
            assert answer.status == 200
    closed = f"127.0.0.1:{free_port()}"
    with programs.running(
        "haproxy", "-db", "-f", str(config), port=port, MOSAIC_GATEWAY=closed, **environ
    ):
        done = elsewhere.cli(f"https://localhost:{port}", "ps")
        assert done.returncode == 6, done
        assert "proxy in front of the stack" in done.stderr


def test_the_docs_name_what_is_tested() -> None:
    """docs/remote.md shows the tunnel's command, and the proxy's configuration as it lies in deploy/remote."""
    text = (ROOT / "docs" / "remote.md").read_text()
    assert "ssh -N -L 8080:127.0.0.1:8080 lab" in text
    assert "(../deploy/remote/haproxy.cfg)" in text
