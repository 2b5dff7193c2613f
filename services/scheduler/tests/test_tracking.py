"""Tracked runs and the way out: the key's line in all its colours, proxies of the stack, and no password anywhere."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack

from mosaic_contracts.access import SecretEntry
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import SetSecretRequest, SubmitRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import SettingsInvalid

pytestmark = pytest.mark.shared_stack

PASSWORD = "pr0xy-canary"
PROPERTIES = {
    "track": {"type": "boolean", "x-tracking": "track"},
    "offline": {"type": "boolean", "x-tracking": "offline"},
    "https_proxy": {"type": "string", "x-tracking": "https_proxy"},
    "server": {"type": "string", "x-tracking": "base_url"},
}
_SHOW = """\
names = ("HTTP_PROXY", "http_proxy", "NO_PROXY", "MOSAIC_SECRET_HTTPS_PROXY_FILE")
seen = {name: os.environ.get(name) for name in names}
seen["https"] = pathlib.Path(seen["MOSAIC_SECRET_HTTPS_PROXY_FILE"]).read_text()[-12:]
pathlib.Path("seen.json").write_text(json.dumps(seen))
"""


def tracking_worker(stack: Stack, program: str = "") -> dict[str, Any]:
    """A worker whose runs can be tracked; the spec of one."""
    algorithm = {"parameters": {"properties": PROPERTIES}}
    script_worker(stack, "tracked", {"ok": True, "findings": []}, program, algorithm)
    return {**SPEC, "worker": "tracked"}


async def preflight(stack: Stack, spec: dict[str, Any], **parameters: Any) -> PreflightReport:
    """What is said of it with these parameters."""
    request = SubmitRequest(spec={**spec, "parameters": parameters})
    return await stack.bus.request("scheduler", "preflight", request, PreflightReport, 20)


def levels(report: PreflightReport, line: str = "tracking") -> list[tuple[str, bool]]:
    """Level of a line, and whether it says what to do."""
    return [(entry.level, bool(entry.todo)) for entry in report.lines if entry.id == line]


@pytest.mark.broker
async def test_the_key_of_a_tracked_run_has_a_line_in_every_colour(stack: Stack) -> None:
    """None for what is not tracked; amber without a key, red with one that nobody keeps, green with it or offline."""
    spec = tracking_worker(stack)
    named = {**spec, "secrets": ["WANDB_API_KEY"]}
    assert levels(await preflight(stack, spec)) == []
    assert levels(await preflight(stack, spec, track=True)) == [("warning", True)]
    assert levels(await preflight(stack, spec, track=True, offline=True)) == [("ok", False)]
    missing = await preflight(stack, named, track=True)
    assert (levels(missing), missing.ok) == ([("blocking", True)], False)
    request = SetSecretRequest(name="WANDB_API_KEY", value=SecretStr("k"))
    await stack.bus.request("scheduler", "set_secret", request, SecretEntry)
    assert levels(await preflight(stack, named, track=True)) == [("ok", False)]


@pytest.mark.broker
async def test_an_online_run_starts_without_its_server_only_by_consent(stack: Stack) -> None:
    """The reason is a line and a need of the plan; nothing is probed for a run that stays offline or may not go out."""
    spec = {**tracking_worker(stack), "secrets": ["WANDB_API_KEY"]}
    request = SetSecretRequest(name="WANDB_API_KEY", value=SecretStr("k"))
    await stack.bus.request("scheduler", "set_secret", request, SecretEntry)
    asked = {"track": True, "server": "http://127.0.0.1:9"}
    closed = await preflight(stack, spec, **asked)
    assert [line.where for line in closed.lines if line.level == "blocking"] == ["internet"]
    online = {**spec, "internet": True}
    assert levels(await preflight(stack, online, **asked, offline=True), "reach") == []
    report = await preflight(stack, online, **asked)
    assert (levels(report, "reach"), len(report.needs)) == ([("warning", True)], 2)
    assert "127.0.0.1:9 cannot be connected to" in report.needs[1]
    with pytest.raises(ProblemError) as refused:
        await stack.submit(**online, parameters=asked)
    assert refused.value.problem.code is ProblemCode.CONSENT_REQUIRED
    run = await stack.submit(**online, parameters=asked, consent=report.digest)
    await stack.wait_end(run.run_id)


@pytest.mark.broker
async def test_a_proxy_with_a_password_is_not_taken_into_a_run(stack: Stack) -> None:
    """It would be kept in the record: refused with what to do, and not quoted; nor is one that is no address."""
    spec = tracking_worker(stack)
    for given, words in (
        (f"http://me:{PASSWORD}@vpn:3128", "MOSAIC_HTTPS_PROXY"),
        ("vpn:3128", "must be http://HOST:PORT"),
    ):
        report = await preflight(stack, spec, https_proxy=given)
        (line,) = [entry for entry in report.lines if entry.level == "blocking"]
        assert (line.where, words in line.message) == ("parameters.https_proxy", True)
        with pytest.raises(ProblemError) as refused:
            await stack.submit(**spec, parameters={"https_proxy": given})
        assert PASSWORD not in refused.value.problem.model_dump_json()
    assert (await preflight(stack, spec, https_proxy="http://vpn:3128")).ok


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.own_stack
async def test_runs_with_internet_go_out_by_the_stacks_proxies(stack: Stack) -> None:
    """The proxies are shown without the password and given only to a run with internet.

    The password is a file that is removed at the end of the run.
    """
    await stack.kill_scheduler()
    stack.environment |= {
        "MOSAIC_HTTP_PROXY": "http://vpn:3128",
        "MOSAIC_HTTPS_PROXY": f"http://me:{PASSWORD}@vpn:3129",
    }
    await stack.start_scheduler()
    proxies = (await stack.status()).proxies
    assert (proxies.http, proxies.https) == ("http://vpn:3128", "http://vpn:3129")
    spec = {**tracking_worker(stack, _SHOW), "internet": True}
    report = await preflight(stack, spec)
    assert report.launch is not None
    assert report.launch.environment["HTTP_PROXY"] == "http://vpn:3128"
    assert PASSWORD not in report.model_dump_json()
    run = await stack.submit(**spec, consent=report.digest)
    ended = await stack.wait_end(run.run_id)
    assert ended.state in (RunState.SUCCEEDED, RunState.FAILED)  # it sends no event
    seen = json.loads(stack.worker_file(run.run_id, "seen.json").read_text())
    assert (seen["HTTP_PROXY"], seen["http_proxy"]) == ("http://vpn:3128", "http://vpn:3128")
    assert "127.0.0.1" in seen["NO_PROXY"]
    assert seen["https"] == "ary@vpn:3129"
    assert await asyncio.to_thread(_mentions, stack.home) == []
    without = await preflight(stack, {**spec, "internet": False})
    assert without.launch is not None
    assert "HTTP_PROXY" not in without.launch.environment


def _mentions(home: Path) -> list[str]:
    """Files below `home` in which the password stands."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(p.relative_to(home)) for p in files if PASSWORD.encode() in p.read_bytes()]


def test_a_proxy_that_is_none_is_refused_without_being_quoted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is said of a wrong setting goes to a log; what other programs take for a proxy is not ours to judge."""
    monkeypatch.setenv("MOSAIC_HTTPS_PROXY", f"socks5://me:{PASSWORD}@vpn:1080")
    with pytest.raises(SettingsInvalid, match=r"MOSAIC_HTTPS_PROXY: .*HOST:PORT") as refused:
        SchedulerSettings.load()
    assert PASSWORD not in str(refused.value)
    monkeypatch.setenv("MOSAIC_HTTPS_PROXY", "")
    monkeypatch.setenv("HTTPS_PROXY", "socks5://vpn:1080")
    monkeypatch.setenv("http_proxy", "http://vpn:3128")
    told = SchedulerSettings.load().proxies.shown()
    assert (told.http, told.https) == ("http://vpn:3128", None)
