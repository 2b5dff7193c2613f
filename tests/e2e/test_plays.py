"""A finished CleanRL run acts again through the real system: played, evaluated, replayed, trained on."""

import json

import pytest
from stack_under_test import StackUnderTest

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState


@pytest.fixture(scope="module")
def play(stack: StackUnderTest, trained: RunView) -> RunView:
    """A finished play of two episodes."""
    done = stack.cli("play", trained.run_id, "--episodes", "2", "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    with stack.client() as client:
        return client.run(json.loads(done.stdout)["run_id"])


def test_a_play_is_a_run_with_every_step(
    stack: StackUnderTest, trained: RunView, play: RunView
) -> None:
    """`play` without a checkpoint takes the newest; the play has its parent, its episodes, and each can be rebuilt."""
    with stack.client() as client:
        rows = list(client.each_episode(play.run_id))
    assert (play.spec.kind, play.spec.parent) == ("play", trained.run_id)
    assert [row.recorded_steps for row in rows] == [row.length for row in rows]
    assert len(rows) == 2
    verified = stack.cli("replay", play.run_id, "--episode", "1", "--verify", timeout_s=180)
    assert verified.returncode == 0, verified.stdout + verified.stderr


@pytest.mark.nightly
def test_an_evaluation_is_printed_and_listed(stack: StackUnderTest, trained: RunView) -> None:
    """Mean, standard error and every return, of a checkpoint named by its step; the same seeds, the same returns.

    The list of checkpoints has the evaluation with exactly this file, facts of the training, its best policy by name,
    and hashes as recorded.
    """
    with stack.client() as client:
        rows = [row for row in client.artifacts(trained.run_id) if row.reason == "periodic"]
    words = ("evaluate", trained.run_id, str(rows[-1].step), "-n", "3", "--seed", "5")
    done = stack.cli(*words, "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["trained_steps"] == rows[-1].step
    assert (result["greedy"], result["seeds"]) == (True, [5, 6, 7])
    assert result["mean"] == pytest.approx(sum(result["returns"]) / 3)
    again = stack.cli(*words, timeout_s=180)
    assert f"seed 5: {result['returns'][0]:,.0f}" in again.stdout
    assert "±" in again.stdout
    listed = stack.cli("checkpoints", "--run", trained.run_id, "--sort", "return", "--json")
    assert listed.returncode == 0, listed.stderr
    found = json.loads(listed.stdout)
    evaluated = next(row for row in found if row["path"] == rows[-1].path)
    assert evaluated["evaluation"]["mean"] == result["mean"]
    best, newest = (
        next(row for row in found if row["reason"] == reason) for reason in ("best", "final")
    )
    assert found[0] == best
    assert best["mean_return_20"] == max(row["mean_return_20"] for row in found)
    assert (best["state"], best["normalizer"]) == ("present", False)
    assert best["spaces"]["action"] == {"kind": "discrete", "n": 2}
    assert len(newest["worker_lock"]) == 64
    verified = stack.cli("checkpoints", "verify", trained.run_id)
    assert verified.returncode == 0, verified.stdout + verified.stderr


def test_what_does_not_fit_is_refused_at_submit(stack: StackUnderTest, trained: RunView) -> None:
    """`check` on the stack looks into the file: another environment is named before anything is queued."""
    done = stack.cli(
        *("check", "cleanrl", "ppo", "Acrobot-v1", "--set", "kind=play", "-p", f"checkpoint={trained.run_id}")
    )  # fmt: skip
    assert done.returncode == 1, done.stdout
    assert "trained in CartPole-v1" in done.stdout + done.stderr


@pytest.mark.nightly
def test_a_training_begins_with_it_and_is_no_resumption(
    stack: StackUnderTest, trained: RunView
) -> None:
    """A clone with `checkpoint` trains on; `resume` is refused, for counters and schedules would begin new."""
    view = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=512, parameters={"checkpoint": trained.run_id}
    )
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.state is RunState.SUCCEEDED, view.end
    assert view.spec.parent == trained.run_id
    refused = stack.cli("resume", trained.run_id)
    assert refused.returncode == 2
    assert "cannot go on from a checkpoint" in refused.stderr


@pytest.mark.nightly
def test_a_person_acts_in_the_play_of_a_policy(stack: StackUnderTest, trained: RunView) -> None:
    """By held keys and from `take` to `give`; steps and drawn frames of its replay say who acted."""
    with stack.client() as client:
        play = client.play(trained.run_id, pace=2, seed=5)
        with client.act(play.run_id) as session:
            session.frame()  # its worker listens
            session.pause()
            begun = session.frame(after=session.step()).step
            session.hold("right")
            acted = [session.frame(after=session.step())]
            session.release()
            acted.append(session.frame(after=session.step()))
            session.take()
            acted.append(session.frame(after=session.step()))
            session.give()
            acted.append(session.frame(after=session.step()))
        assert [frame.step for frame in acted] == list(range(begun + 1, begun + 5))
        assert [frame.actor for frame in acted] == [1, 0, 1, 0]
        client.stop(play.run_id)
        assert stack.wait_final(play.run_id).state is RunState.CANCELLED
        steps = list(client.each_event(play.run_id, types=["step"]))
        assert [step["actor"] for step in steps[begun:]] == [1, 0, 1, 0]
        states = list(client.each_event(play.run_id, types=["play.state"]))
        assert {state["data"]["actor"] for state in states} == {0, 1}
        replay = client.replay(play.run_id, 0)
        assert client.replay_result(replay.run_id, timeout_s=60).is_verified
        assert [frame.actor for frame in client.frames(replay.run_id)][1:] == [
            step["actor"] for step in steps
        ]
        client.stop(replay.run_id)


def test_the_policy_of_a_run_goes_on_from_a_step(stack: StackUnderTest, play: RunView) -> None:
    """`fork --with policy` plays the rest of a recorded episode as it was; the branch says where it began."""
    parent = play.run_id
    words = ("fork", parent, "--episode", "0", "--step", "4", "--with", "policy", "--json")
    done = stack.cli(*words, timeout_s=180)
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["run_id"]
    with stack.client() as client:
        first, second = (
            [
                (e["action"], e["hash"])
                for e in client.each_event(run, types=["step"])
                if e["episode"] == 0
            ]
            for run in (parent, made)
        )
        assert first == second
        assert client.run(made).spec.parent == parent
    assert f"step 4, episode 0 of {parent}" in stack.cli("show", made).stdout
