"""Runs whose agents talk: a real scheduler, real runs, a real ejabberd."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.script_worker import SPEC, script_worker
from tests.stack import DEADLINE_S, Stack, file_exists, until
from tests.stack import SPEC as SYNTHETIC
from tests.xmpp_server import TestXmppServer

from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import SubmitRequest
from mosaic_contracts.states import RunState

SCHEMA: dict[str, Any] = {"properties": {"agents": {"type": "integer", "default": 2}}}

TALKS = {"services": ["xmpp"], "agents_parameter": "agents", "parameters": SCHEMA}
SHOWS = """\
path = pathlib.Path(os.environ["MOSAIC_XMPP_FILE"])
access = json.loads(path.read_text())
words = [[a["jid"], a["password"][::-1]] for a in access["accounts"]]
pathlib.Path("seen.new").write_text(json.dumps({"path": str(path), "accounts": words}))
pathlib.Path("seen.new").rename("seen.json")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(60)
"""


def talking_worker(stack: Stack) -> dict[str, Any]:
    """A worker whose runs need XMPP for two agents; a spec for it."""
    script_worker(stack, "talks", {"ok": True, "findings": []}, SHOWS, TALKS)
    return {**SPEC, "worker": "talks"}


async def seen_by(stack: Stack, run_id: str) -> dict[str, Any]:
    """What the worker saw."""
    path = stack.worker_file(run_id, "seen.json")
    await file_exists(path)
    seen: dict[str, Any] = json.loads(path.read_text())
    return seen


def mentions(home: Path, words: list[str]) -> list[str]:
    """Files below `home` in which one of these stands."""
    files = [path for path in home.rglob("*") if path.is_file()]
    hits = [path for path in files if any(w.encode() in path.read_bytes() for w in words)]
    return [str(path.relative_to(home)) for path in hits]


async def lines_of(stack: Stack, spec: dict[str, Any]) -> dict[str, PreflightLine]:
    """A preflight's lines by their id."""
    request = SubmitRequest(spec=spec)
    report = await stack.bus.request(
        "scheduler", "preflight", request, PreflightReport, timeout_s=DEADLINE_S
    )
    return {line.id: line for line in report.lines}


@pytest.mark.nightly
@pytest.mark.broker
async def test_a_runs_agents_have_accounts_for_its_lifetime(
    xmpp_server: TestXmppServer, xmpp_home: Path, stack: Stack
) -> None:
    """As many as asked for, the passwords in one file 0600 and nowhere else; after the end neither is there."""
    (stack.home / "xmpp").symlink_to(xmpp_home / "xmpp")
    spec = talking_worker(stack)
    line = (await lines_of(stack, spec))["xmpp"]
    assert (line.level, "(2)" in line.message) == ("ok", True)
    run = await stack.submit(**spec, parameters={"agents": 3})
    seen = await seen_by(stack, run.run_id)
    users = [f"{run.run_id.lower()}-{number}" for number in (1, 2, 3)]
    assert [jid for jid, _ in seen["accounts"]] == [f"{user}@localhost" for user in users]
    assert [await asyncio.to_thread(xmpp_server.has, user) for user in users] == [True] * 3
    access = f"runs/{run.run_id}/control/xmpp/access.json"
    assert seen["path"] == str(stack.home / access)
    passwords = [backwards[::-1] for _, backwards in seen["accounts"]]
    assert await asyncio.to_thread(mentions, stack.home, passwords) == [access]
    await stack.stop(run.run_id)
    await stack.wait_end(run.run_id)
    assert await asyncio.to_thread(mentions, stack.home, passwords) == []
    await gone(xmpp_server, users)


@pytest.mark.broker
async def test_no_account_outlives_a_killed_scheduler(
    xmpp_server: TestXmppServer, xmpp_home: Path, stack: Stack
) -> None:
    """What lives keeps its accounts over a kill; what ended meanwhile loses them at the next start."""
    (stack.home / "xmpp").symlink_to(xmpp_home / "xmpp")
    spec = talking_worker(stack)
    lives, ends = [await stack.submit(**spec), await stack.submit(**spec)]
    for run in (lives, ends):
        await seen_by(stack, run.run_id)
    await stack.kill_scheduler()
    stack.kill(stack.process(ends.run_id, "mosaic_workerkit.runner"))
    await stack.start_scheduler()
    await stack.wait_end(ends.run_id)
    await gone(xmpp_server, [f"{ends.run_id.lower()}-{number}" for number in (1, 2)])
    assert await asyncio.to_thread(xmpp_server.has, f"{lives.run_id.lower()}-1")


async def gone(xmpp_server: TestXmppServer, users: list[str]) -> None:
    """Wait until none of these accounts is there."""

    async def none_left() -> bool:
        return not any([await asyncio.to_thread(xmpp_server.has, user) for user in users])

    await until(none_left)


@pytest.mark.nightly
@pytest.mark.broker
async def test_a_run_that_cannot_talk_does_not_start(stack: Stack) -> None:
    """Without a server `submit` refuses what needs one, `preflight` and `check` say why, and others are not asked."""
    spec = talking_worker(stack)
    with pytest.raises(ProblemError, match=r"mosaic xmpp up") as caught:
        await stack.submit(**spec)
    assert caught.value.problem.code == ProblemCode.XMPP_UNAVAILABLE
    line = (await lines_of(stack, spec))["xmpp"]
    assert (line.level, line.code) == ("blocking", "xmpp_unavailable")
    assert "xmpp up" in line.message
    assert "xmpp" not in await lines_of(stack, SYNTHETIC)
    assert (await stack.submit(steps=10)).state is RunState.QUEUED


@pytest.mark.nightly
@pytest.mark.broker
async def test_a_server_that_went_away_while_a_run_waited(
    xmpp_server: TestXmppServer, xmpp_home: Path, stack: Stack
) -> None:
    """The run fails at its start, and its end says which part is wrong."""
    (stack.home / "xmpp").symlink_to(xmpp_home / "xmpp")
    run = await stack.submit(**talking_worker(stack), hold=True)
    (stack.home / "xmpp").unlink()
    await stack.release(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.FAILED
    assert ended.end is not None
    assert ended.end.cause == "placement_failed"
    assert "xmpp: setup:" in ended.end.message
