"""Agents that talk over a real ejabberd, through the real system: run, read, lose the server."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack_under_test import ROOT, StackUnderTest, last_json, until

from mosaic_contracts.comparisons import ActorsResult
from mosaic_contracts.states import RunState

NOT_INSTALLED = 77


class Xmpp:
    """The stack's XMPP server, as `./mosaic xmpp up` starts it."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, str(ROOT / "services/xmpp/serve.py"), "--home", str(home)]
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        if not self._said():
            code = self._server.wait()
            self.stop()
            if code == NOT_INSTALLED:
                pytest.skip("no ejabberd: apt-get install --no-install-recommends ejabberd openssl")
            raise AssertionError(f"the XMPP server ended with {code}")

    def _said(self) -> str:
        return self._server.stdout.readline() if self._server.stdout else ""

    def stop(self) -> None:
        """End it; a second time does nothing."""
        for pipe in (self._server.stdin, self._server.stdout):
            if pipe is not None:
                pipe.close()
        self._server.wait(60)


@pytest.fixture(scope="module")
def xmpp(stack: StackUnderTest) -> Iterator[Xmpp]:
    """A server that the stack knows, until a test stops it: the last two tests do."""
    server = Xmpp(stack.home / "xmpp")
    yield server
    server.stop()


def test_a_bdi_run_can_be_read_step_by_step(stack: StackUnderTest, xmpp: Xmpp) -> None:
    """`run spade bdi_q FrozenLake-v1` trains, and `beliefs` explains every step of an episode with plan and beliefs."""
    done = stack.cli(
        *("run", "spade", "bdi_q", "FrozenLake-v1", "--steps", "6000", "--json"),
        *("--set", "replay_every=10", "-p", "slippery=false"),
    )
    assert done.returncode == 0, done.stderr
    run_id = str(last_json(done.stdout)["run_id"])
    view = stack.wait_final(run_id)
    assert view.state is RunState.SUCCEEDED
    assert view.summary is not None
    assert view.summary.gaps == 0
    told = stack.cli("beliefs", run_id, "--episode", "100", "--json")
    assert told.returncode == 0, told.stderr
    steps = last_json(told.stdout)["steps"]
    assert isinstance(steps, list)
    with stack.client() as client:
        length = next(e.length for e in client.each_episode(run_id) if e.episode == 100)
    assert len(steps) == length
    assert steps[0]["kind"] == "start"
    for step in steps:
        assert step["plan"] in ("discover", "learn", "exploit", "replan")
        assert step["intentions"] == [f"+!train @{step['plan']}"]
        assert 0 < step["confidence"] <= 1
        assert any(belief.startswith("epsilon(") for belief in step["beliefs"])
    assert not (stack.run_dir(run_id) / "control/xmpp").exists()


@pytest.mark.nightly
def test_what_was_learned_is_played_and_explained(stack: StackUnderTest, xmpp: Xmpp) -> None:
    """`play last` shows the newest checkpoint in the run's own map, and `beliefs` has every step of it."""
    options = ("-p", "slippery=false", "-p", "map=SFF/FHF/FFG", "--steps", "3000", "-d")
    trained = stack.cli("run", "spade", "bdi_q", "FrozenLake-v1", *options).stdout.strip()
    assert stack.wait_final(trained).state is RunState.SUCCEEDED
    done = stack.cli("play", "last", "--episodes", "2", "--pace", "50", "--json")
    assert done.returncode == 0, done.stderr
    view = stack.wait_final(str(last_json(done.stdout)["run_id"]))
    assert (view.spec.parent, view.spec.kind) == (trained, "play")
    assert view.spec.parameters["checkpoint"] == f"{trained}/checkpoints/final.npz"
    assert view.spec.parameters["map"] == "SFF/FHF/FFG"
    assert view.summary is not None
    assert (view.summary.episodes, view.summary.best_return) == (2, 1.0)
    told = stack.cli("beliefs", view.run_id, "--episode", "1", "--json")
    assert {step["plan"] for step in last_json(told.stdout)["steps"]} <= {"sure", "unsure"}
    again = ("-p", "checkpoint=last/checkpoints/final.npz")  # of the play, which saves none
    refused = stack.cli("run", "spade", "q_learning", "FrozenLake-v1", *again)
    assert refused.returncode == 2
    assert f"Run {view.run_id}: checkpoints/final.npz is not there" in refused.stderr
    other_map = ("-p", f"checkpoint={trained}")
    refused = stack.cli("run", "spade", "q_learning", "FrozenLake-v1", *other_map)
    assert refused.returncode == 2
    assert "The checkpoint is of another world" in refused.stderr
    done = stack.cli("compare", trained, "random", "-n", "6", "--json", timeout_s=240)
    assert done.returncode == 0, done.stderr
    result = ActorsResult.model_validate(last_json(done.stdout))
    assert [actor.mean.value == 1.0 for actor in result.actors] == [True, False]
    assert result.pairs[0].seeds == 6  # random actions were in the same map


@pytest.mark.nightly
def test_a_lost_server_is_a_note_of_a_run_that_goes_on(stack: StackUnderTest, xmpp: Xmpp) -> None:
    """With the server away in the middle, the run view says degraded while steps go on; a stop ends it well."""
    view = stack.submit("spade", "bdi_q", "FrozenLake-v1", steps=10**9, record="metrics")
    stack.wait_stored(view.run_id, 50)
    xmpp.stop()

    def noted() -> str | None:
        notes = stack.run(view.run_id).notes
        return next((note for note in notes if note.startswith("degraded")), None)

    assert "lost the XMPP server" in until(noted, "the run is noted as degraded", 60)
    summary = stack.run(view.run_id).summary
    assert summary is not None
    stack.wait_stored(view.run_id, summary.events + 50)
    assert stack.cli("stop", view.run_id).returncode == 0
    view = stack.wait_final(view.run_id)
    assert view.state is RunState.CANCELLED
    assert view.notes == []


def test_without_a_server_a_bdi_run_is_refused(stack: StackUnderTest, xmpp: Xmpp) -> None:
    """No server, no fall-back: the refusal says so, and what to do; plain Q-learning does not need one."""
    xmpp.stop()
    refused = stack.cli("run", "spade", "bdi_q", "FrozenLake-v1", "--steps", "100")
    assert refused.returncode != 0
    assert "xmpp: port: No program answers" in refused.stderr
    assert "./mosaic xmpp up" in refused.stderr
    plain = stack.cli("check", "spade", "q_learning", "FrozenLake-v1", "--steps", "100")
    assert plain.returncode == 0, plain.stdout + plain.stderr
