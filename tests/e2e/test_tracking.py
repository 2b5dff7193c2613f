"""A run tracked by W&B on a whole stack, online against a local stand-in of the server: where its key can be found."""

from pathlib import Path

import pytest
from stack_under_test import StackUnderTest

from mosaic_base.procfs import command, environment
from mosaic_client import MosaicProblem
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.states import RunState
from mosaic_contracts.tracking import (
    TRACKING_RUN,
    TRACKING_UPLOAD,
    WANDB_SECRET,
    UploadState,
    tracked_id,
)
from mosaic_workerkit.testing.wandb_server import WandbServer

pytestmark = pytest.mark.timeout(240)
KEY = "c4nary" + "5" * 40


def _with_key(folder: Path) -> set[str]:
    """Files below a folder in which the key stands."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)) for path in files if KEY.encode() in path.read_bytes()}


def test_the_key_of_an_online_run_is_found_nowhere(stack: StackUnderTest) -> None:
    """Without consent it does not start; then it is sent, and no process, event, log or file of it has the key."""
    with WandbServer(key=KEY) as server, stack.client() as client:
        client.set_secret(WANDB_SECRET, KEY)
        fields = {
            "steps": 4_096,
            "record": "metrics",
            "secrets": [WANDB_SECRET],
            "internet": True,
            "parameters": {"track": True, "wandb_base_url": server.url, "wandb_group": "e2e"},
        }
        with pytest.raises(MosaicProblem) as refused:
            stack.submit("cleanrl", "ppo", "CartPole-v1", **fields)
        assert refused.value.problem.code == ProblemCode.CONSENT_REQUIRED
        (digest,) = refused.value.problem.fields[0]["nearest"]
        run = stack.submit("cleanrl", "ppo", "CartPole-v1", **fields, consent=digest)
        assert server.wait_for(lambda: bool(server.runs), 120)
        processes = stack.processes_of(run.run_id)
        words = [word for pid in processes for word in (*environment(pid), *command(pid))]
        assert any(word.endswith(b"wandb-core") for word in words)
        assert not any(KEY.encode() in word for word in words)
        ended = stack.wait_final(run.run_id, within_s=180)
        assert ended.state is RunState.SUCCEEDED, ended.end
        types = [TRACKING_RUN, TRACKING_UPLOAD]
        tracked, *uploads = [
            event["data"] for event in client.events(run.run_id, types=types).events
        ]
        wandb_id = tracked_id(run.run_id, 1)
        assert tracked["url"] == f"{server.url}/someone/cleanRL/runs/{wandb_id}"
        assert uploads[-1]["state"] == UploadState.UPLOADED
        assert server.runs[wandb_id].fields["groupName"] == "e2e"
        client.delete_secret(WANDB_SECRET)
    shown = stack.cli("show", run.run_id).stdout
    assert tracked["url"] in shown
    assert "uploaded" in shown
    assert _with_key(stack.home) == set()
