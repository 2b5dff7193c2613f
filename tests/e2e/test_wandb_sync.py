"""A real CleanRL run that never used W&B, sent by the real wandb to a local stand-in of W&B's server."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_client import ConsentRequired, SyncImpossible
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncRequest
from mosaic_contracts.tracking import WANDB_SECRET, UploadState
from mosaic_workerkit.testing.wandb_server import ReceivedRun, WandbServer

KEY = "0canary0" * 5
METRIC = "charts/episodic_return"
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def server(stack: StackUnderTest) -> Iterator[WandbServer]:
    """The stand-in, whose key the stack keeps."""
    with WandbServer(key=KEY) as made:
        with stack.client() as client:
            client.set_secret(WANDB_SECRET, KEY)
        yield made


def stored(stack: StackUnderTest, run_id: str) -> list[float]:
    """The metric as MOSAIC has it."""
    with stack.client() as client:
        events = client.live_events(run_id, types=["metric"])
        return [float(e["value"]) for e in events if e["name"] == METRIC]


def test_nothing_is_sent_before_the_user_agrees(
    stack: StackUnderTest, trained: RunView, server: WandbServer
) -> None:
    """The plan says what and where, and why a server does not answer; a consent is about one plan."""
    with stack.client() as client:
        plan = client.plan_sync(trained.run_id, address=server.url, project="p")
        assert (plan.way, plan.project, [line.level for line in plan.lines]) == (
            "store",
            "p",
            ["ok", "ok"],
        )
        assert f"to {server.url}, project p" in plan.needs[0]
        away = client.plan_sync(trained.run_id, address=NOBODY, project="p")
        assert away.lines[-1].level == "warning"
        assert "127.0.0.1:9 cannot be connected to" in away.needs[1]
        with pytest.raises(ConsentRequired, match="given for something else"):
            client.sync(trained.run_id, plan.digest, address=server.url, project="other")
        client.set_secret(WANDB_SECRET, "another" * 6)
        refused = client.plan_sync(trained.run_id, address=server.url)
        assert "does not accept the key" in refused.needs[1]
        client.set_secret(WANDB_SECRET, KEY)
    done = stack.cli("wandb", "sync", trained.run_id, "--address", server.url)
    assert done.returncode != 0
    assert "sending config, metrics" in done.stderr
    assert server.runs == {}


@pytest.mark.kill
def test_a_run_is_sent_once_whatever_is_killed(
    stack: StackUnderTest, trained: RunView, server: WandbServer
) -> None:
    """kill -9 of the sync in the middle: it says so, and the same command goes on. The run then has its page."""
    request = SyncRequest(address=server.url, project="p").model_dump(exclude={"consent"})
    with stack.client() as client:
        digest = client.plan_sync(trained.run_id, **request).digest
        server.held = "CommitArtifact"
        first = client.sync(trained.run_id, digest, **request)
        again = client.sync(trained.run_id, digest, **request)
        assert again.run_id == first.run_id
        assert server.wait_for(lambda: bool(server.runs) and bool(server.run.history))
        stack.kill_run_part(first.run_id, "worker")
        server.release()
        assert stack.wait_final(first.run_id).state is RunState.CRASHED
        assert first.run_id not in {view.run_id for view in client.runs().runs}
        assert client.syncs(trained.run_id).tracked is None
    words = ("wandb", "sync", trained.run_id, "--address", server.url, "--project", "p")
    done = stack.cli(*words, "--yes", "--wait")
    assert done.returncode == 0, done.stderr
    run: ReceivedRun = server.run
    assert (run.id, run.exit_code) == (trained.run_id.lower(), 0)
    assert run.curve(METRIC) == pytest.approx(stored(stack, trained.run_id))
    assert run.config["seed"] == 3
    states = [each["state"] for each in server.artifacts.values()]
    assert states
    assert set(states) == {"COMMITTED"}
    with stack.client() as client:
        until(lambda: client.syncs(trained.run_id).tracked is not None, "the page is known", 60)
        status = client.syncs(trained.run_id)
        assert status.tracked is not None
        assert status.tracked.url == f"{server.url}/{run.entity}/p/runs/{run.id}"
        assert status.upload is not None
        assert status.upload.state is UploadState.UPLOADED
        assert [view.state for view in status.syncs] == [RunState.SUCCEEDED, RunState.CRASHED]
        with pytest.raises(SyncImpossible, match="at W&B already"):
            client.plan_sync(trained.run_id)
    shown = stack.cli("wandb", "status", trained.run_id, "--json")
    assert json.loads(shown.stdout)[0]["tracked"]["url"] == status.tracked.url
    assert _mentions(stack.home) == []


def _mentions(home: Path) -> list[str]:
    """Files of the stack in which the key is found, but the one that keeps it."""
    files = [path for path in home.rglob("*") if path.is_file() and "secrets" not in path.parts]
    return [str(path) for path in files if KEY.encode() in path.read_bytes()]
