"""Accounts for the agents of a run, on a real ejabberd."""

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.xmpp_server import TestXmppServer

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import WorkerDescription
from mosaic_contracts.xmpp import SERVER_FILE, XmppAccount
from mosaic_scheduler.admission.provisions import check_services
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import XmppUnavailable
from mosaic_scheduler.executors.access import (
    XmppLogin,
    deliver_login,
    login_variables,
    withdraw_login,
)
from mosaic_scheduler.xmpp.accounts import RunAccounts, agents_of
from mosaic_scheduler.xmpp.examination import examine
from mosaic_scheduler.xmpp.ledger import AccountClaim, AccountLedger
from mosaic_scheduler.xmpp.server import read_server

RUN, OTHER = "01K5ZZZZZZZZZZZZZZZZZZZZZZ", "01K5YYYYYYYYYYYYYYYYYYYYYY"


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[AccountLedger]:
    """An empty ledger."""
    database = Database(tmp_path / "scheduler.sqlite3")
    yield AccountLedger(database)
    await database.close()


def accounts(home: Path, ledger: AccountLedger, living: set[str]) -> RunAccounts:
    """What makes accounts, where these runs live."""

    async def alive() -> set[str]:
        return living

    return RunAccounts(home, ledger, alive)


async def test_accounts_live_as_long_as_their_run(
    xmpp_server: TestXmppServer, xmpp_home: Path, ledger: AccountLedger
) -> None:
    """One for each agent, with a password of its own; a sweep takes those of ended runs and no others."""
    living = {RUN, OTHER}
    ours = accounts(xmpp_home, ledger, living)
    login = await ours.provision(RUN, 2)
    await ours.provision(OTHER, 1)
    assert [account.name for account in login.accounts] == ["agent-1", "agent-2"]
    assert [account.jid for account in login.accounts] == [
        f"{RUN.lower()}-1@localhost",
        f"{RUN.lower()}-2@localhost",
    ]
    again = await ours.provision(RUN, 2)  # a second attempt
    passwords = {a.password.get_secret_value() for a in login.accounts + again.accounts}
    assert len(passwords) == 4
    await ours.sweep()
    assert [claim.run_id for claim in await ledger.all()] == [OTHER, RUN]
    living.clear()
    living.add(OTHER)
    await ours.sweep()
    assert not xmpp_server.has(f"{RUN.lower()}-1")
    assert not xmpp_server.has(f"{RUN.lower()}-2")
    assert xmpp_server.has(f"{OTHER.lower()}-1")
    living.clear()
    await ours.sweep()
    assert await ledger.all() == []


async def test_accounts_of_a_lost_ledger_are_swept(
    xmpp_server: TestXmppServer, xmpp_home: Path, ledger: AccountLedger
) -> None:
    """With the database gone, a run's folder still names its accounts: they go, and so do their passwords."""
    before = accounts(xmpp_home, ledger, {RUN})
    (xmpp_home / "runs" / RUN / "control").mkdir(parents=True)
    deliver_login(xmpp_home / "runs" / RUN, await before.provision(RUN, 2))
    await ledger.remove(AccountClaim(RUN, 2, "localhost"))  # as a new database has it
    (xmpp_home / "runs/no run/control/xmpp").mkdir(parents=True)
    (xmpp_home / "runs/no run/control/xmpp/access.json").write_text("{}")
    ours = accounts(xmpp_home, ledger, set())
    await ours.sweep()
    assert xmpp_server.has(f"{RUN.lower()}-2")
    await ours.adopt()
    await ours.sweep()
    assert not xmpp_server.has(f"{RUN.lower()}-1")
    assert not xmpp_server.has(f"{RUN.lower()}-2")
    assert await ledger.all() == []
    assert not (xmpp_home / "runs" / RUN / "control/xmpp").exists()


async def test_a_server_that_is_away_keeps_no_account_for_ever(
    xmpp_server: TestXmppServer, xmpp_home: Path, ledger: AccountLedger
) -> None:
    """An account that cannot be taken away now is taken away once the server is back."""
    ours = accounts(xmpp_home, ledger, set())
    await ours.provision(RUN, 1)
    await asyncio.to_thread(xmpp_server.stop)
    await ours.sweep()
    assert [claim.run_id for claim in await ledger.all()] == [RUN]
    await asyncio.to_thread(xmpp_server.start)
    await ours.sweep()
    assert await ledger.all() == []
    assert not xmpp_server.has(f"{RUN.lower()}-1")


async def test_accounts_of_another_domain_are_forgotten(
    xmpp_server: TestXmppServer, xmpp_home: Path, ledger: AccountLedger
) -> None:
    """A server that was made again for another domain does not keep the sweep from its end."""
    await ledger.add(AccountClaim(RUN, 1, "elsewhere"))
    await accounts(xmpp_home, ledger, set()).sweep()
    assert await ledger.all() == []


def changed(home: Path, at: Path, **facts: object) -> Path:
    """A MOSAIC_HOME whose server file has other facts than the one of `home`."""
    folder = (at / SERVER_FILE).parent
    folder.mkdir()
    original = json.loads((home / SERVER_FILE).read_text())
    for name in ("ca_file", "password_file"):
        original[name] = str((home / SERVER_FILE).parent / original[name])  # absolute
    (at / SERVER_FILE).write_text(json.dumps({**original, **facts}))
    return at


def another_certificate(path: Path) -> None:
    """One for the same name, which the server does not have."""
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    name = ["-nodes", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", os.devnull, "-out", str(path)]
    subprocess.run([*make, *name, *files], check=True, capture_output=True)


async def wrong(home: Path) -> XmppUnavailable:
    """What an examination finds."""
    with pytest.raises(XmppUnavailable) as caught:
        await examine(read_server(home))
    return caught.value


async def test_a_good_server_is_found_good(xmpp_server: TestXmppServer, xmpp_home: Path) -> None:
    """The examination goes all the way an agent and we go, and finds nothing."""
    await examine(read_server(xmpp_home))


async def test_what_is_wrong_is_named(
    xmpp_server: TestXmppServer, xmpp_home: Path, tmp_path: Path
) -> None:
    """Faults of name, port, TLS and account are distinguished, each with what to do."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        closed = unused.getsockname()[1]
    (tmp_path / "wrong.password").write_text("wrong")
    await asyncio.to_thread(another_certificate, tmp_path / "wrong.pem")
    cases: dict[str, dict[str, object]] = {
        "name": {"host": "no.such.host.invalid"},
        "port": {"port": closed},
        "tls": {"ca_file": str(tmp_path / "wrong.pem")},
        "account": {"password_file": str(tmp_path / "wrong.password")},
    }
    for part, facts in cases.items():
        home = tmp_path / part
        home.mkdir()
        found = await wrong(changed(xmpp_home, home, **facts))
        assert (found.part, bool(found.todo)) == (part, True), found
        assert found.problem.code == "xmpp_unavailable"
    away = tmp_path / "api"
    away.mkdir()
    found = await wrong(changed(xmpp_home, away, api_url=f"http://127.0.0.1:{closed}/api"))
    assert (found.part, str(closed) in found.message) == ("account", True)


async def test_another_program_on_the_port_is_no_server(
    xmpp_server: TestXmppServer, xmpp_home: Path, tmp_path: Path
) -> None:
    """A server that answers, but not with XMPP, is reported as such, at once."""

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        found = await wrong(changed(xmpp_home, tmp_path, port=port))
    assert found.part == "port"
    assert "not an XMPP server" in found.message


def test_a_stack_without_a_server_says_how_to_get_one(tmp_path: Path) -> None:
    """No file, or one that cannot be read: the message names the command."""
    with pytest.raises(XmppUnavailable, match=r"mosaic xmpp up") as caught:
        read_server(tmp_path)
    assert caught.value.part == "setup"
    (tmp_path / SERVER_FILE).parent.mkdir()
    (tmp_path / SERVER_FILE).write_text("{")
    with pytest.raises(XmppUnavailable, match="cannot be read"):
        read_server(tmp_path)


def test_a_run_finds_its_accounts_in_a_private_file(tmp_path: Path) -> None:
    """0600 in a folder 0700, certificate next to it, named by a variable; gone when it is withdrawn."""
    (tmp_path / "control").mkdir()
    account = XmppAccount(name="agent-1", jid="x-1@d", password=SecretStr("geheim"))
    login = XmppLogin("h", 1, "d", "PEM", [account])
    deliver_login(tmp_path, login)
    path = Path(login_variables(tmp_path, login)["MOSAIC_XMPP_FILE"])
    read = json.loads(path.read_text())
    assert read["accounts"] == [{"name": "agent-1", "jid": "x-1@d", "password": "geheim"}]
    assert Path(read["ca_file"]).read_text() == "PEM"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert "geheim" not in repr(login)
    withdraw_login(tmp_path)
    assert list((tmp_path / "control").iterdir()) == []
    deliver_login(tmp_path, None)
    withdraw_login(tmp_path)
    assert login_variables(tmp_path, None) == {}


SCHEMA: dict[str, Any] = {"properties": {"agents": {"type": "integer", "default": 2}}}


@pytest.mark.parametrize(
    ("algorithm", "parameters", "agents"),
    [
        ({}, {}, 0),
        ({"agents_parameter": "agents"}, {"agents": 3}, 0),
        ({"services": ["xmpp"]}, {}, 1),
        ({"services": ["xmpp"], "agents_parameter": "agents"}, {}, 2),
        ({"services": ["xmpp"], "agents_parameter": "agents"}, {"agents": 3}, 3),
    ],
)
def test_a_workers_description_says_who_needs_accounts(
    algorithm: dict[str, Any], parameters: dict[str, Any], agents: int
) -> None:
    """As many as the parameter says which the description names; none where the algorithm does without XMPP."""
    description = described(algorithm)
    spec = RunSpec(worker="w", algorithm="a", environment="E", parameters=parameters)
    assert agents_of(spec, description) == agents
    assert check_services(spec, description) == []


def test_an_unknown_service_is_refused() -> None:
    """A worker of a later version may need what this stack does not have: said before anything starts."""
    spec = RunSpec(worker="w", algorithm="a", environment="E")
    (finding,) = check_services(spec, described({"services": ["xmpp", "matrix"]}))
    assert "'matrix'" in finding.message


def described(algorithm: dict[str, Any]) -> WorkerDescription:
    """A worker with one algorithm."""
    return WorkerDescription.model_validate(
        {
            "worker": "w",
            "version": "1",
            "title": "W",
            "record_levels": ["replay"],
            "algorithms": [{"id": "a", "title": "A", "parameters": SCHEMA, **algorithm}],
            "environments": [],
        }
    )
