"""Whether the server can be used, and which of name, port, TLS and account is wrong."""

import json
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.xmpp_server import LocalXmppServer

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.xmpp import ENV_XMPP_FILE, XmppAccess
from mosaic_worker_spade.errors import XmppUnusable
from mosaic_worker_spade.request import check_run
from mosaic_worker_spade.xmpp.access import read_access
from mosaic_worker_spade.xmpp.probe import probe

pytestmark = pytest.mark.xmpp


@pytest.fixture(scope="module")
def good(server: LocalXmppServer) -> dict[str, Any]:
    """An access that works."""
    return server.access(1)


def fault(access: dict[str, Any], **changes: Any) -> XmppUnusable:
    """What is said of an access with something changed."""
    with pytest.raises(XmppUnusable) as caught:
        probe(XmppAccess.model_validate({**access, **changes}))
    return caught.value


def test_a_good_access_is_good(good: dict[str, Any]) -> None:
    """Nothing is said against it."""
    probe(XmppAccess.model_validate(good))


def test_an_unknown_host_is_the_name(good: dict[str, Any]) -> None:
    """A host that does not resolve is reported by its name."""
    reported = fault(good, host="no-such-host.invalid")
    assert reported.part == "name"
    assert "no-such-host.invalid" in str(reported)


def test_a_domain_that_is_not_served_is_the_name(good: dict[str, Any]) -> None:
    """A server that answers for other domains."""
    assert fault(good, domain="elsewhere.test").part == "name"


def test_nobody_listening_is_the_port(good: dict[str, Any]) -> None:
    """Host and port are named, and what to do."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    reported = fault(good, port=port)
    assert reported.part == "port"
    assert f"127.0.0.1:{port}" in str(reported)
    assert "./mosaic xmpp up" in str(reported)


def test_another_certificate_is_tls(good: dict[str, Any], tmp_path: Path) -> None:
    """A certificate that ours was not made with is refused before any password goes out."""
    other = tmp_path / "other.pem"
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(other)]
    command = ["openssl", "req", "-x509", *key, "-subj", "/CN=localhost", *files]
    subprocess.run(command, check=True, capture_output=True)
    reported = fault(good, ca_file=str(other))
    assert reported.part == "TLS"
    assert fault(good, ca_file=str(tmp_path / "none.pem")).part == "TLS"


def test_a_wrong_password_is_the_account(good: dict[str, Any]) -> None:
    """The account is named, its password is not."""
    account = {**good["accounts"][0], "password": "wrong-word"}
    reported = fault(good, accounts=[account])
    assert reported.part == "account"
    assert account["jid"] in str(reported)
    assert "wrong-word" not in str(reported)


def test_too_few_accounts_and_no_file_are_said(good: dict[str, Any], tmp_path: Path) -> None:
    """What the stack did not give is reported as such."""
    with pytest.raises(XmppUnusable, match="is not set"):
        read_access({})
    path = tmp_path / "access.json"
    path.write_text(json.dumps(good))
    with pytest.raises(XmppUnusable, match="has 1 accounts and the run has 2 agents"):
        read_access({ENV_XMPP_FILE: str(path)}, 2)
    path.write_text('{"accounts": [{"password": "secret-word"')
    with pytest.raises(XmppUnusable) as caught:
        read_access({ENV_XMPP_FILE: str(path)})
    assert "secret-word" not in str(caught.value)


def test_check_says_it(
    good: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check` of a BDI run is blocking with the part that is wrong; plain learning does not care."""
    path = tmp_path / "access.json"
    path.write_text(json.dumps({**good, "accounts": [{**good["accounts"][0], "password": "x"}]}))
    monkeypatch.setenv(ENV_XMPP_FILE, str(path))
    spec = {"worker": "spade", "algorithm": "bdi_q", "environment": "FrozenLake-v1"}
    report = check_run(RunSpec.model_validate(spec))
    assert not report.ok
    assert report.findings[0].message.startswith("XMPP, account: the server refuses")
    assert check_run(RunSpec.model_validate({**spec, "algorithm": "q_learning"})).ok
