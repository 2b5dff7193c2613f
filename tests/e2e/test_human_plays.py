"""A person plays through the real system: keys over gateway and broker, frames back, and a run that replays."""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from stack_under_test import ROOT, StackUnderTest, until

from mosaic_client import AsyncClient, ClientError, RunEnded, SpecRefused
from mosaic_client.play_session import PlaySession
from mosaic_contracts.comparisons import ActorsResult
from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.runs import RunView
from mosaic_contracts.stack import TOKEN_FILE
from mosaic_contracts.states import RunState

OWN_ENVIRONMENTS = """\
import sys
sys.path.insert(0, "{folder}")
from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.entry import main
sys.exit(main(HumanWorker()))
"""
"""The worker `play` with a folder of a user's own environments."""


def play(stack: StackUnderTest, environment: str, **parameters: object) -> RunView:
    """A play that was started."""
    return stack.submit("play", "human", environment, kind="play", parameters=parameters)


def await_no_process(stack: StackUnderTest, run_id: str) -> None:
    """Wait until nothing of a run is left."""
    until(lambda: not stack.processes_of(run_id), "no process of it is left", 60)


def played_on(session: PlaySession) -> int:
    """The last step that was seen before the session failed."""
    step = 0
    with suppress(ClientError):
        while True:
            step = session.frame(timeout_s=40).step
    return step


def test_frozen_lake_is_played_to_the_goal(stack: StackUnderTest) -> None:
    """Each press is a step with its frame, also by keys that are changed on the way; the run is stored, says who
    acted, and verifies."""
    lake = play(stack, "FrozenLake-v1", options='{"is_slippery": false}')
    with stack.client() as client:
        with client.act(lake.run_id) as session:
            assert session.frame().step == 0
            for key in ("right", "d", "down"):
                frame = session.frame(after=session.tap(key))
            session.set_keys({"j": 1, "l": 2})
            for key in ("j", "J"):
                frame = session.frame(after=session.tap(key))
            number = session.tap("l")
            session.wait_acted(number)
            frame = session.frame(after=number)
            assert (frame.step, frame.state, frame.reward, frame.actor) == (6, 15, 1.0, 1)
        client.stop(lake.run_id)
        assert stack.wait_final(lake.run_id).state is RunState.CANCELLED
        events = list(client.each_event(lake.run_id, types=["step"]))
        assert [(event["action"], event["actor"]) for event in events] == [
            (action, 1) for action in (2, 2, 1, 1, 1, 2)
        ]
        replay = client.replay(lake.run_id, 0)
        assert client.replay_result(replay.run_id, timeout_s=60).is_verified
        drawn = list(client.frames(replay.run_id))
        assert [one.actor for one in drawn] == [0, *[1] * 6]
        client.stop(replay.run_id)
        stack.wait_final(replay.run_id)
    until(lambda: not stack.processes_of(replay.run_id), "no process of it is left", 60)
    done = stack.cli("compare", lake.run_id, "random", "-n", "6", "--json", timeout_s=120)
    assert done.returncode == 0, done.stderr
    result = ActorsResult.model_validate_json(done.stdout)
    person, chance = result.document.actors
    assert (person.returns, person.seeds, person.places) == ([1.0], [1], [(1, 0, 0)])
    assert len(chance.returns) == 6
    assert (result.pairs[0].seeds, result.pairs[0].verdict) == (1, "too few samples")
    assert any("missing: 2-6" in note for note in result.notes)


@pytest.mark.nightly
def test_the_command_line_starts_a_play_of_an_environment(stack: StackUnderTest) -> None:
    """An environment that is unknown, and a key map that does not fit, are refused with what is close or wrong."""
    done = stack.cli("play", "CartPole-v1", "--seed", "0", "-d")
    assert done.returncode == 0, done.stderr
    run_id = done.stdout.strip()
    with stack.client() as client, client.act(run_id) as session:
        assert session.frame().step == 0
        assert session.frame(after=session.step()).step == 1
        assert session.frame(after=session.step()).step == 2
        client.stop(run_id)
    assert stack.wait_final(run_id).spec.seed == 0
    refused = stack.cli("play", "CartPool-v1", "-d")
    assert refused.returncode != 0
    assert "CartPole-v1" in refused.stderr


@pytest.mark.nightly
def test_an_episode_is_taken_over_at_a_step(stack: StackUnderTest) -> None:
    """At the reset, in the middle and at the last step: the new run's episode is whole, and verifies; not after the
    end. The run that it goes on from is named."""
    lake = play(stack, "FrozenLake-v1", options='{"is_slippery": false}')
    with stack.client() as client:
        with client.act(lake.run_id) as session:
            session.frame()
            for key in ("right", "right", "down", "down", "down", "right"):
                frame = session.frame(after=session.tap(key))
            assert frame.flags == 1
        client.stop(lake.run_id)
        stack.wait_final(lake.run_id)
        for step in (0, 3, 5):
            made = client.fork(lake.run_id, 0, step)
            assert made.spec.start_from is not None
            assert (made.spec.parent, made.spec.start_from.attempt) == (lake.run_id, 1)
            with client.act(made.run_id) as session:
                assert session.frame().step == step
                session.wait_acted(session.tap("left"))
                session.frame(after=1)
            client.stop(made.run_id)
            stack.wait_final(made.run_id)
            actions = [e["action"] for e in client.each_event(made.run_id, types=["step"])]
            assert actions == [*[2, 2, 1, 1, 1, 2][:step], 0]
            (record,) = client.each_event(made.run_id, types=["play.branch"])
            assert record["data"]["steps"] == step
            replay = client.replay(made.run_id, 0, draws=False)
            assert client.replay_result(replay.run_id, timeout_s=60).is_verified
        with pytest.raises(SpecRefused, match="has ended at step 6"):
            client.fork(lake.run_id, 0, 6)
    shown = stack.cli("show", lake.run_id)
    assert f"{made.run_id}  step 5, episode 0" in shown.stdout, shown.stdout
    done = stack.cli("fork", lake.run_id, "--episode", "0", "--step", "6", "-d")
    assert done.returncode == 2
    assert "The last step to begin at is 5" in done.stderr


@pytest.mark.nightly
async def test_cart_pole_goes_on_by_itself(stack: StackUnderTest) -> None:
    """From the first key on, at the rate, until the pole falls; then the next episode waits for a key."""
    pole = play(stack, "CartPole-v1", rate=60.0)
    with stack.client() as client:
        location = client.location
    async with AsyncClient(location) as client:
        async with client.act(pole.run_id) as session:
            await session.frame()
            await session.hold("left")
            frames: list[EnvironmentFrame] = []
            while not frames or not frames[-1].flags:
                frames.append(await session.frame())
            assert {one.action for one in frames if one.step} == {0}
            number = await session.release()
            await session.wait_acted(number)
            number = await session.reset(seed=0)
            frame = await session.frame(after=number)
            assert (frame.episode, frame.step) == (1, 0)
            await session.hold("right")
            assert (await session.frame()).action == 1
        await client.stop(pole.run_id)
        stack.wait_final(pole.run_id)
        replay = await client.replay(pole.run_id, 1, draws=False)
        assert (await client.replay_result(replay.run_id, timeout_s=60)).is_verified


@pytest.mark.kill
def test_a_killed_worker_leaves_its_steps_and_nothing_else(stack: StackUnderTest) -> None:
    """The session gets an error that says that the run has ended; the episode is there up to its last step."""
    car = play(stack, "MountainCar-v0", rate=60.0)
    with stack.client() as client, client.act(car.run_id) as session:
        session.frame()
        session.hold("right")
        while (frame := session.frame()).step < 30:
            pass
        stack.kill_run_part(car.run_id, "worker")
        last = played_on(session)
        assert stack.wait_final(car.run_id).state is RunState.CRASHED
        steps = list(client.each_event(car.run_id, types=["step"]))
        assert [one["step"] for one in steps] == list(range(1, len(steps) + 1))
        assert len(steps) >= max(last, frame.step)
        with pytest.raises(RunEnded), client.act(car.run_id) as late:
            late.frame()
    until(lambda: not stack.processes_of(car.run_id), "no process of it is left", 60)


@pytest.mark.nightly
def test_an_environment_that_fails_leaves_its_episode(stack: StackUnderTest) -> None:
    """At step 7: the run has failed and says where and why; steps 1 to 6 are stored and verify; nothing runs on."""
    command = ["{python}", "-c", OWN_ENVIRONMENTS.format(folder=ROOT / "services" / "worker_play")]
    (stack.home / "workers.d" / "odd_play.toml").write_text(
        f'id = "odd_play"\ntitle = "Odd"\nroom = "worker_play"\ncommand = {json.dumps(command)}\n'
    )
    environment = "tests.odd_worlds:OddFailing-v0"
    fields = {"kind": "play", "parameters": {"rate": 100}}
    made = stack.submit("odd_play", "human", environment, **fields)
    with stack.client() as client:
        with client.act(made.run_id) as session:
            session.frame()
            session.hold("left")
            assert played_on(session) <= 6
        ended = stack.wait_final(made.run_id)
        assert (ended.state, ended.end and ended.end.exit_code) == (RunState.FAILED, 1)
        said = [e["message"] for e in client.each_event(made.run_id, types=["log"])]
        words = "OddFailing-v0 failed at step 7 of its episode: ZeroDivisionError"
        assert words in " ".join([*said, *(ended.end.last_lines if ended.end else [])])
        numbers = [e["step"] for e in client.each_event(made.run_id, types=["step"])]
        assert numbers == list(range(1, 7))
        replay = client.replay(made.run_id, 0, draws=False)
        result = client.replay_result(replay.run_id, timeout_s=60)
        assert (result.is_verified, result.is_cut) == (True, True)
    await_no_process(stack, made.run_id)


@pytest.mark.kill
def test_a_killed_client_holds_no_key(stack: StackUnderTest) -> None:
    """`kill -9` of the person's program: the play stands still, ends by itself, and has every step."""
    car = play(stack, "MountainCar-v0", rate=30.0, leave_s=2.0)
    program = [sys.executable, str(Path(__file__).with_name("person.py"))]
    given = [stack.stack_file().gateway_url, str(stack.home / TOKEN_FILE), car.run_id]
    person = subprocess.Popen([*program, *given], stdout=subprocess.PIPE, text=True)
    assert person.stdout is not None
    with person, person.stdout as said:
        assert said.readline() == "holds\n"
        person.kill()
    view = stack.wait_final(car.run_id, within_s=60)
    assert view.state is RunState.SUCCEEDED, view.end
    with stack.client() as client:
        steps = list(client.each_event(car.run_id, types=["step"]))
    assert [one["step"] for one in steps] == list(range(1, len(steps) + 1))
    actions = [one["action"] for one in steps]
    assert actions[0] == 2
    assert actions == sorted(actions, reverse=True)  # once released, the action without keys
    await_no_process(stack, car.run_id)


@pytest.mark.kill
def test_a_play_ends_when_its_gateway_dies_and_nobody_comes_back(stack: StackUnderTest) -> None:
    """Keys are let go after the lease, nothing steps, and the run ends by itself."""
    car = play(stack, "MountainCar-v0", rate=30.0, leave_s=2.0)
    with stack.client() as client, client.act(car.run_id) as session:
        session.frame()
        session.hold("right")
        session.frame()
        stack.kill_service("gateway")
        played_on(session)
    view = stack.wait_final(car.run_id, within_s=60)
    assert view.state is RunState.SUCCEEDED, view.end
    until(lambda: not stack.processes_of(car.run_id), "no process of it is left", 60)


@pytest.mark.nightly
@pytest.mark.kill
def test_a_branch_goes_on_after_a_crash_and_may_crash_itself(stack: StackUnderTest) -> None:
    """An episode that a killed worker left goes on after its last step; a branch that is killed leaves its own."""
    car = play(stack, "MountainCar-v0", rate=60.0)
    with stack.client() as client:
        for run_id, least in ((car.run_id, 5), ("", 10)):
            if not run_id:
                steps = len(list(client.each_event(car.run_id, types=["step"])))
                run_id = client.fork(car.run_id, 0, steps).run_id
                least = steps + 5
            with client.act(run_id) as session:
                session.frame()
                session.hold("right")
                while session.frame().step < least:
                    pass
                stack.kill_run_part(run_id, "worker")
            assert stack.wait_final(run_id).state is RunState.CRASHED
            numbers = [e["step"] for e in client.each_event(run_id, types=["step"])]
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) >= least
            await_no_process(stack, run_id)
        replay = client.replay(run_id, 0, draws=False)
        result = client.replay_result(replay.run_id, timeout_s=60)
        assert (result.is_verified, result.is_cut) == (True, True)
