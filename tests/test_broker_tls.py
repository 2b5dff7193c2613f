"""A stack whose broker listens for other machines: everything speaks TLS, and a run is stored whole."""

import json
import shutil
import socket
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from audit import audit_synthetic
from stack_under_test import StackUnderTest, link_environments

from mosaic_contracts.launch import LAUNCH_FILE
from mosaic_contracts.stack_files import BROKER_CA
from mosaic_contracts.states import RunState

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
)


@pytest.fixture(scope="module")
def tls_stack() -> Iterator[StackUnderTest]:
    """A stack with `--broker-bind`."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
        stack.environ["MOSAIC_BROKER_BIND"] = "127.0.0.1"
        stack.environ["MOSAIC_BROKER_RUNS_URL"] = ""
        try:
            stack.start()
            yield stack
        finally:
            stack.stop()


def test_a_run_is_stored_whole_over_tls(tls_stack: StackUnderTest) -> None:
    """Services and the run trust the stack's own authority, also after the broker was killed."""
    run = tls_stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", parameters={"events": 4000, "rate": 2000}
    )
    tls_stack.wait_stored(run.run_id, 100)
    tls_stack.kill_service("broker")
    final = tls_stack.wait_final(run.run_id)
    assert final.state is RunState.SUCCEEDED
    audit_synthetic(tls_stack.home, run.run_id, final.spec)
    launch = json.loads((tls_stack.run_dir(run.run_id) / LAUNCH_FILE).read_text())
    assert launch["broker_url"].startswith("tls://")
    assert launch["broker_ca"] == (tls_stack.home / BROKER_CA).read_text()


def test_the_broker_greets_nobody_in_the_clear(tls_stack: StackUnderTest) -> None:
    """A client that waits for a greeting in the clear gets none, and a foreign authority is refused."""
    address = urlsplit(tls_stack.stack_file().broker_url)
    assert address.scheme == "tls"
    where = (str(address.hostname), int(address.port or 0))
    with (
        socket.create_connection(where) as connection,
        pytest.raises(ssl.SSLCertVerificationError),
    ):
        ssl.create_default_context().wrap_socket(connection, server_hostname=where[0])
    with socket.create_connection(where) as connection:
        connection.sendall(b"CONNECT {}\r\nPING\r\n")
        assert b"INFO" not in connection.recv(4096)


def test_doctor_has_nothing_to_say_of_the_broker(tls_stack: StackUnderTest) -> None:
    """It reaches the broker over TLS as every service does."""
    done = tls_stack.cli("doctor", "--json")
    findings = json.loads(done.stdout)["findings"]
    assert [each for each in findings if "the broker" in each["message"]] == []
