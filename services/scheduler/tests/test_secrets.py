"""Secrets: kept for nobody's eyes, given to the run that names them, gone with its end."""

import asyncio
import json
from pathlib import Path

import pytest
from pydantic import SecretStr
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, file_exists

from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import SetSecretRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.errors import SecretMissing, SecretNameInvalid
from mosaic_scheduler.secrets import SecretVault

VALUE = "p4ss\nwörd of the test"
_SHOW = """\
path = pathlib.Path(os.environ["MOSAIC_SECRET_API_KEY_FILE"])
seen = {"bytes": len(path.read_bytes()), "mode": path.stat().st_mode & 0o777, "path": str(path)}
pathlib.Path("seen.new").write_text(json.dumps(seen))
pathlib.Path("seen.new").rename("seen.json")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
time.sleep(60)
"""


def test_a_secret_is_a_private_file(tmp_path: Path) -> None:
    """Written 0600 in a folder 0700, replaced whole, listed by name, forgotten once."""
    vault = SecretVault(tmp_path)
    assert vault.names() == []
    vault.keep("api_key", SecretStr("old"))
    vault.keep("api_key", SecretStr(VALUE))
    file = tmp_path / "secrets" / "user" / "api_key"
    assert file.read_bytes() == VALUE.encode()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [entry.name for entry in vault.entries()] == ["api_key"]
    vault.forget("api_key")
    with pytest.raises(SecretMissing, match="secret set"):
        vault.forget("api_key")


@pytest.mark.parametrize("name", ["", "../up", "a b", "9lives", "API_KEY", ".hidden", "a" * 65])
def test_a_name_that_will_not_do_is_refused(tmp_path: Path, name: str) -> None:
    """No way out of the folder, and no two names that a run could not tell apart."""
    vault = SecretVault(tmp_path)
    vault.keep("api_key", SecretStr("x"))
    with pytest.raises(SecretNameInvalid):
        vault.keep(name, SecretStr("y"))
    assert vault.names() == ["api_key"]


def _mentions(home: Path) -> list[str]:
    """Files below `home` in which the value stands."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(p.relative_to(home)) for p in files if b"rd of the test" in p.read_bytes()]


async def _refused(stack: Stack, code: ProblemCode, **spec: object) -> str:
    with pytest.raises(ProblemError) as caught:
        await stack.submit(**spec)
    assert caught.value.problem.code == code
    return caught.value.problem.detail


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_run_is_given_its_secret_for_its_lifetime(stack: Stack) -> None:
    """As a file 0600 that a variable names; nowhere else is the value, and after the end it is gone."""
    script_worker(stack, "shows", {"ok": True, "findings": []}, _SHOW)
    spec = {**SPEC, "worker": "shows", "secrets": ["api_key"]}
    detail = await _refused(stack, ProblemCode.SECRET_UNKNOWN, **spec)
    assert "secret set api_key" in detail
    request = SetSecretRequest(name="api_key", value=SecretStr(VALUE))
    entry = await stack.bus.request("scheduler", "set_secret", request, SecretEntry)
    assert VALUE not in entry.model_dump_json()
    run = await stack.submit(**spec)
    await file_exists(stack.worker_file(run.run_id, "seen.json"))
    seen = json.loads(stack.worker_file(run.run_id, "seen.json").read_text())
    assert (seen["bytes"], seen["mode"]) == (len(VALUE.encode()), 0o600)
    given = f"runs/{run.run_id}/control/secrets/api_key"
    assert seen["path"] == str(stack.home / given)
    found = await asyncio.to_thread(_mentions, stack.home)
    assert sorted(found) == sorted([given, "secrets/user/api_key"])
    await stack.stop(run.run_id)
    await stack.wait_end(run.run_id)
    assert await asyncio.to_thread(_mentions, stack.home) == ["secrets/user/api_key"]
    await stack.forget_secret("api_key")
    listed = await stack.bus.request("scheduler", "secrets", None, SecretEntries)
    assert listed.secrets == []


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_secret_deleted_while_its_run_waits_is_told(stack: Stack) -> None:
    """The run fails when it is to start, and the message names the secret."""
    request = SetSecretRequest(name="k", value=SecretStr(VALUE))
    await stack.bus.request("scheduler", "set_secret", request, SecretEntry)
    run = await stack.submit(secrets=["k"], hold=True)
    await stack.forget_secret("k")
    await stack.release(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.FAILED
    assert ended.end is not None
    assert "'k'" in ended.end.message


_PRINTS = """\
value = pathlib.Path(os.environ["MOSAIC_SECRET_API_KEY_FILE"]).read_text()
print("my key is", value, json.dumps(value), flush=True)
sys.exit(value)
"""


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_secret_that_the_worker_prints_is_masked(stack: Stack) -> None:
    """The value gets into no file and into nothing that the run shows; a note says once that it was masked."""
    script_worker(stack, "prints", {"ok": True, "findings": []}, _PRINTS)
    request = SetSecretRequest(name="api_key", value=SecretStr(VALUE))
    await stack.bus.request("scheduler", "set_secret", request, SecretEntry)
    run = await stack.submit(**{**SPEC, "worker": "prints", "secrets": ["api_key"]})
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.FAILED
    assert "rd of the test" not in ended.model_dump_json()
    assert len([note for note in ended.notes if "api_key was printed" in note]) == 1
    assert ended.end is not None
    assert "my key is [secret api_key]" in ended.end.last_lines[0]
    assert await asyncio.to_thread(_mentions, stack.home) == ["secrets/user/api_key"]
