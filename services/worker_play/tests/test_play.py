"""Plays: turns and real time, commands, what is recorded, and how they end."""

import time
from pathlib import Path
from typing import Any

import gymnasium
import pytest
import tests.odd_worlds
from tests.playing import Player, branch, rebuild, spec_of, steps_of

from mosaic_contracts.play import PlayControls, PlayInput
from mosaic_contracts.wire import Actor
from mosaic_gymkit.play.inputs import MAX_PRESSES, PersonInputs
from mosaic_gymkit.play.keymap import KeyMap
from mosaic_gymkit.testing import write_replay_record
from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.errors import RunRefused
from mosaic_workerkit.testing.recorded import RUN_ID, open_context, read_events, write_spec

assert tests.odd_worlds
STILL = {"options": '{"is_slippery": false}'}


def test_each_press_is_one_step_by_turns(tmp_path: Path) -> None:
    """Held keys step once; every step has its frame, and says that a person acted."""
    play = Player(tmp_path / "run", "FrozenLake-v1", seed=0, parameters=STILL)
    first = play.frame()
    assert (first.step, first.state, first.encoding) == (0, 0, "zstd")
    assert play.say("right") == []
    frame = play.frame(after=play.number)
    assert (frame.step, frame.action, frame.state, frame.actor) == (1, 2, 1, Actor.HUMAN)
    play.say("right")  # still held
    play.say()
    time.sleep(0.2)
    for key in ("d", "down", "down", "down", "right"):
        play.tap(key)
    while not frame.flags:
        frame = play.frame()
    assert (frame.step, frame.state, frame.reward) == (6, 15, 1.0)
    events = play.end()
    assert [e["action"] for e in steps_of(events)] == [2, 2, 1, 1, 1, 2]
    assert {e["actor"] for e in steps_of(events)} == {Actor.HUMAN}
    controls = PlayControls.model_validate(events[0]["data"]["play"])
    assert (controls.timing, controls.keys["w"]) == ("turns", 3)
    assert rebuild(tmp_path / "replay", events, 0).is_verified


def test_ten_keys_in_ten_milliseconds_are_ten_steps(tmp_path: Path) -> None:
    """By turns none is lost, and their order stays."""
    play = Player(tmp_path / "run", "CliffWalking-v1")
    play.frame()
    keys = ["up", "right", "up", "left", "up", "right", "right", "down", "down", "left"]
    inputs = []
    for place, key in enumerate(keys):
        inputs += [{"number": 2 * place + 1, "keys": [key]}, {"number": 2 * place + 2, "keys": []}]
    assert play.send(inputs) == []
    while play.frame().step < 10:
        pass
    codes = {"up": 0, "right": 1, "down": 2, "left": 3}
    assert [e["action"] for e in steps_of(play.end())] == [codes[key] for key in keys]


def test_more_presses_than_wait_are_refused_in_words() -> None:
    """The answer names each that was not taken; an input without a new key is taken all the same."""
    inputs = PersonInputs(KeyMap(gymnasium.make("FrozenLake-v1")))
    said = [
        inputs.take(PlayInput(number=n, keys=["up"] if n % 2 else []))
        for n in range(1, 2 * MAX_PRESSES + 4)
    ]
    assert said[: 2 * MAX_PRESSES] == [""] * 2 * MAX_PRESSES
    assert f"{MAX_PRESSES} presses wait" in said[2 * MAX_PRESSES]
    assert said[2 * MAX_PRESSES + 1] == ""
    turns = [inputs.next_press() for _ in range(MAX_PRESSES + 1)]
    assert turns == [("up",)] * MAX_PRESSES + [None]


def test_real_time_goes_on_by_itself_from_the_first_key_on(tmp_path: Path) -> None:
    """Before it nothing happens; then steps come at the rate, with the keys that are held."""
    parameters = {"rate": 50.0}
    play = Player(tmp_path / "run", "MountainCar-v0", parameters=parameters)
    assert play.frame().step == 0
    time.sleep(0.2)
    play.say("right")
    began = time.monotonic()
    frame = play.frame()
    while frame.step < 25:
        frame = play.step_after(frame.step)
    took_s = time.monotonic() - began
    assert frame.action == 2
    assert took_s > 0.4
    play.say()
    frame = play.frame(after=play.number)
    assert frame.action == 1
    events = play.end()
    assert [e["action"] for e in steps_of(events)][:20] == [2] * 20
    result = rebuild(tmp_path / "replay", events, 0)
    assert result.is_verified
    assert result.is_cut


def test_a_tap_between_two_steps_acts_once(tmp_path: Path) -> None:
    """Pressed and released within one packet: one step has it. Opposite taps have a step each."""
    keys = '{"left": 0, "right": 2, "": 1}'
    play = Player(tmp_path / "run", "MountainCar-v0", parameters={"rate": 10.0, "keys": keys})
    play.frame()
    play.do("resume")
    play.step_after(2)
    play.tap("right")
    play.tap("left")
    at = play.frame(after=play.number).step
    play.step_after(at + 2)
    actions = [e["action"] for e in steps_of(play.end())]
    assert actions.count(2) == actions.count(0) == 1
    assert actions.index(0) == actions.index(2) + 1


def test_keys_released_on_loss_of_focus_act_no_more(tmp_path: Path) -> None:
    """A message without keys: the next step is idle. A and D held are idle too."""
    play = Player(tmp_path / "run", "MountainCar-v0", parameters={"rate": 100.0})
    play.frame()
    play.say("right")
    play.step_after(3)
    play.say()
    released = play.frame(after=play.number)
    assert released.action == 1
    play.say("a", "d")
    assert play.frame(after=play.number).action == 1
    play.say("d")
    assert play.frame(after=play.number).action == 2
    play.end()


def test_a_repeated_or_older_input_is_ignored(tmp_path: Path) -> None:
    """It is answered as taken, and acts no second time."""
    play = Player(tmp_path / "run", "FrozenLake-v1", parameters=STILL)
    play.frame()
    for number in (5, 5, 4):
        assert play.say("right", number=number) == []
    assert play.frame(after=5).step == 1
    time.sleep(0.2)
    assert len(steps_of(play.end())) == 1


def test_pause_step_reset_and_rate(tmp_path: Path) -> None:
    """A paused play steps when asked; a reset begins another episode, seeded or not."""
    play = Player(tmp_path / "run", "CartPole-v1", parameters={"rate": 100.0})
    play.frame()
    play.do("pause")
    play.say("right")
    time.sleep(0.15)
    play.do("step")
    frame = play.frame(after=play.number)
    assert (frame.step, frame.action) == (1, 1)
    for seed in (0, None, 2**31 - 1):
        play.do("reset", seed=seed)
        frame = play.frame(after=play.number)
        assert frame.step == 0
    play.do("rate", rate=20.0)
    play.do("step")
    play.frame(after=play.number)
    events = play.end()
    resets = [e["reset"] for e in events if e["type"] == "episode_start"]
    assert [reset.get("seed") for reset in resets] == [1, 0, None, 2**31 - 1]
    states = [e["data"] for e in events if e["type"] == "play.state"]
    assert states[-1]["rate"] == 20.0
    assert any(state["paused"] for state in states)
    assert rebuild(tmp_path / "replay", events, 2).way == "generator"


def test_keys_are_changed_while_it_is_played(tmp_path: Path) -> None:
    """From the next step on: the old key is none, the new one acts, and the run records the map. One that does not
    fit is refused in words, and changes nothing. The episode goes on."""
    play = Player(tmp_path / "run", "FrozenLake-v1", parameters=STILL)
    play.frame()
    play.tap("right")
    (refusal,) = play.do("keys", key_map={"j": 9})
    assert "must be a number from 0 to 3, not 9" in refusal["why"]
    play.tap("right")
    assert play.do("keys", key_map={"j": 1}) == []
    play.tap("right")
    play.tap("right")
    play.tap("j")
    assert play.do("keys", key_map={}) == []
    play.tap("down")
    assert play.frame(after=play.number - 1).step == 4
    events = play.end()
    assert [e["action"] for e in steps_of(events)] == [2, 2, 1, 1]
    maps = [e["data"]["keys"] for e in events if e["type"] == "play.keys"]
    assert maps[0] == {"j": 1}
    assert maps[1] == events[0]["data"]["play"]["keys"]
    assert rebuild(tmp_path / "replay", events, 0).is_verified


def test_axes_steer_a_continuous_action(tmp_path: Path) -> None:
    """A moved axis begins the episode and acts until it is back; the config says what each moves; elsewhere axes are
    refused in words."""
    play = Player(tmp_path / "run", "Pendulum-v1", parameters={"rate": 100.0})
    play.frame()
    play.say(axes=[0.25])
    assert play.frame(after=play.number).action == [0.5]
    (refusal,) = play.say(axes=[1, 1])
    assert refusal["why"] == "There are 2 axes, and an action has 1 parts."
    play.say("right", axes=[-1])
    assert play.step_after(10).action == [-2.0]
    play.say(axes=[0])
    while play.frame(after=play.number).action != [0.0]:
        pass
    events = play.end()
    assert events[0]["data"]["play"]["axes"] == [{"low": -2.0, "high": 2.0}]
    assert rebuild(tmp_path / "replay", events, 0).is_verified
    other = Player(tmp_path / "other", "CartPole-v1")
    other.frame()
    (refusal,) = other.say(axes=[0.5])
    assert "its actions are not continuous" in refusal["why"]
    other.end()


@pytest.mark.parametrize("seed", [0, 2**31 - 1])
def test_the_run_s_seed_is_that_of_the_first_episode(tmp_path: Path, seed: int) -> None:
    """And the episode verifies."""
    play = Player(tmp_path / "run", "CartPole-v1", seed=seed)
    play.frame()
    play.do("step")
    play.frame(after=play.number)
    events = play.end()
    start = next(e for e in events if e["type"] == "episode_start")
    assert start["reset"] == {"way": "seed", "seed": seed}
    assert rebuild(tmp_path / "replay", events, 0).is_verified


def test_an_environment_that_fails_at_step_seven(tmp_path: Path) -> None:
    """The run ends with the error in words; the episode is stored up to there."""
    play = Player(tmp_path / "run", "tests.odd_worlds:OddFailing-v0", parameters={"rate": 200.0})
    play.frame()
    play.say("left")
    events = play.ended()
    assert len(steps_of(events)) == 6
    assert "OddFailing-v0 failed at step 7 of its episode: ZeroDivisionError: the seventh" in str(
        play.error
    )


def test_nobody_plays_to_an_empty_room(tmp_path: Path) -> None:
    """When all have left, keys are released and nothing steps; after a while the play ends by itself."""
    parameters: dict[str, Any] = {"rate": 100.0, "leave_s": 1.0}
    play = Player(tmp_path / "run", "MountainCar-v0", parameters=parameters)
    play.frame()
    play.say("right")
    play.step_after(3)
    play._socket.close()
    time.sleep(0.3)
    # an input of a moment ago counts as somebody for LEASE_S
    events = play.ended()
    assert play.error is None
    assert any("the play ends" in e["message"] for e in events if e["type"] == "log")


def test_episodes_end_the_play(tmp_path: Path) -> None:
    """As many as the spec says."""
    play = Player(tmp_path / "run", "CartPole-v1", episodes=1, parameters={"rate": 500.0})
    play.frame()
    play.say("left")
    events = play.ended()
    assert [e["episode"] for e in events if e["type"] == "episode"] == [0]


def test_what_a_person_cannot_do_is_refused_in_words(tmp_path: Path) -> None:
    """There is no policy to give to, and no second environment."""
    play = Player(tmp_path / "run", "CartPole-v1")
    play.frame()
    assert "no policy" in play.do("give")[0]["why"]
    assert "no environment 3" in play.say("left", env=3)[0]["why"]
    assert play.do("take") == []
    play.end()


def test_a_continuous_play_is_rebuilt(tmp_path: Path) -> None:
    """Actions of ramps are recorded as the environment took them."""
    play = Player(tmp_path / "run", "Pendulum-v1", parameters={"rate": 100.0})
    play.frame()
    play.say("left")
    play.step_after(20)
    play.say("right")
    play.step_after(60)
    events = play.end()
    assert rebuild(tmp_path / "replay", events, 0).is_verified
    assert read_events(tmp_path / "run") == events


def test_an_episode_goes_on_from_a_step(tmp_path: Path) -> None:
    """In the recorded world, whose arguments need not be said: the person sees that step, and plays on to the end."""
    first = Player(tmp_path / "first", "FrozenLake-v1", parameters=STILL)
    first.frame()
    for key in ("right", "right", "down", "left"):
        first.tap(key)
    while first.frame().step < 4:
        pass
    events = first.end()
    again = branch(tmp_path / "again", events, 0, 3)
    seen = again.frame()
    assert (seen.step, seen.state, seen.actor) == (3, 6, Actor.HUMAN)
    for key in ("down", "down", "right"):
        again.tap(key)
    made = again.ended()  # with the episode
    assert again.error is None
    assert [e["action"] for e in steps_of(made)] == [2, 2, 1, 1, 1, 2]
    assert made[0]["data"]["environment_arguments"] == {"is_slippery": False}
    assert rebuild(tmp_path / "replay", made, 0).is_verified
    other = {"run_id": RUN_ID, "attempt": 1, "episode": 0, "step": 3}
    fields = {"kind": "play", "start_from": other, "parameters": {"options": '{"map_name": "8x8"}'}}
    write_spec(tmp_path / "other", spec_of("FrozenLake-v1", outbox_bytes=2**24, **fields))
    write_replay_record(tmp_path / "other", events, 0, 0)
    context = open_context(tmp_path / "other")
    with context.telemetry, pytest.raises(RunRefused, match="Leave the parameter `options` out"):
        HumanWorker().play(context)


def test_a_connection_that_is_gone_lets_go_of_its_own_keys_only() -> None:
    """The gateway releases the keys of a broken connection, maybe after the person holds them over the next one."""
    inputs = PersonInputs(KeyMap(gymnasium.make("MountainCar-v0")))
    inputs.take(PlayInput(player="broken", number=1, keys=["right"]))
    inputs.take(PlayInput(player="next", number=1, keys=["right"]))
    inputs.take(PlayInput(player="broken", number=2))
    assert inputs.held_now() == ("right",)
    inputs.take(PlayInput(player="next", number=2))
    assert inputs.held_now() == ()
