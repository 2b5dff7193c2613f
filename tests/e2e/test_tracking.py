"""A run tracked by W&B on a whole stack, online against a local stand-in of the server: where its key can be found."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from secret_search import SecretSearch
from stack_under_test import StackUnderTest

from mosaic_base.procfs import command, environment
from mosaic_client import MosaicProblem
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.states import RunState
from mosaic_contracts.tracking import WANDB_SECRET, UploadState, tracked_id
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_workerkit.testing.wandb_server import WandbServer

pytestmark = pytest.mark.timeout(240)
KEY, ENVIRONMENT = "c4nary" + "5" * 40, "CartPole-v1"


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    """Stop processes where they stand, until the end of the block."""
    _send(pids, signal.SIGSTOP)
    try:
        yield
    finally:
        _send(pids, signal.SIGCONT)


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # a short one, such as git
            os.kill(pid, number)


@pytest.mark.nightly
def test_the_key_of_an_online_run_is_found_nowhere(stack: StackUnderTest, tmp_path: Path) -> None:
    """Without consent it does not start; then it is sent, and no process, answer, event, file or export has the key."""
    search = SecretSearch(stack, KEY, control=ENVIRONMENT)
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
            stack.submit("cleanrl", "ppo", ENVIRONMENT, **fields)
        assert refused.value.problem.code == ProblemCode.CONSENT_REQUIRED
        (digest,) = refused.value.problem.fields[0]["nearest"]
        run = stack.submit("cleanrl", "ppo", ENVIRONMENT, **fields, consent=digest)
        assert server.wait_for(lambda: bool(server.runs), 120)
        processes = stack.processes_of(run.run_id)
        words = [word for pid in processes for word in (*environment(pid), *command(pid))]
        assert any(word.endswith(b"wandb-core") for word in words)
        with stopped(processes):  # it must not end before all was looked at
            search.look_at_processes()
            search.look_at_files()
        given = f"runs/{run.run_id}/control/secrets/{WANDB_SECRET}"
        assert search.places == {given, f"secrets/user/{WANDB_SECRET}"}
        search.places.clear()
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
        search.look_at_answers(client, run.run_id)
    shown = stack.cli("show", run.run_id).stdout
    assert tracked["url"] in shown
    assert "uploaded" in shown
    search.look_at_files()
    search.look_at_archives(run.run_id, tmp_path)
    assert search.places == set()
    searched = {"events", "run", "manifest", "export run.jsonl", "export checkpoint.zip"}
    assert searched <= search.control_places
