"""Which action keys mean, in every kind of action space."""

import json
import warnings

import gymnasium
import numpy as np
import pytest
import tests.odd_worlds  # registers them

from mosaic_gymkit import EnvironmentSpec
from mosaic_gymkit.play.keymap import KeyMap, KeyMapInvalid
from mosaic_worker_play.catalog import list_environments
from mosaic_workerkit.errors import EnvironmentUnusable

assert tests.odd_worlds


def keymap(environment: str, keys: object = None, idle: str = "", ramp: float = 0) -> KeyMap:
    text = "" if keys is None else json.dumps(keys)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Box2D's module dies of a warning that is an error
        list_environments()  # registers those of bundles
        env = EnvironmentSpec(environment).make()
    try:
        return KeyMap(env, text, idle, ramp)
    finally:
        env.close()


@pytest.mark.parametrize(
    ("environment", "keys", "action"),
    [
        ("CartPole-v1", ["left"], 0),
        ("CartPole-v1", ["d"], 1),
        ("MountainCar-v0", [], 1),
        ("MountainCar-v0", ["right"], 2),
        ("MountainCar-v0", ["a"], 0),
        ("FrozenLake-v1", ["up"], 3),
        ("CliffWalking-v1", ["left"], 3),
        ("Taxi-v4", ["space"], 4),
        ("Blackjack-v1", ["space"], 1),
        ("LunarLander-v3", [], 0),
        ("ALE/Pong-v5", [], 0),
        ("ALE/Pong-v5", ["space", "right"], 4),
        ("ALE/Pong-v5", ["d"], 2),
        ("MiniGrid-Empty-5x5-v0", ["up"], 2),
    ],
)
def test_known_environments_have_keys(environment: str, keys: list[str], action: int) -> None:
    """Arrows and WASD, with or without a map of the environment's own."""
    assert keymap(environment).action(keys) == action


@pytest.mark.parametrize(
    "keys", [["a", "d"], ["d", "a"], ["left", "d"], ["up", "down", "left", "right"]]
)
def test_opposite_keys_cancel(keys: list[str]) -> None:
    """A and D held mean the action without keys, in a discrete and in a continuous space."""
    assert (
        keymap("MountainCar-v0", {"a": 0, "d": 2, "": 1, "left": 0, "right": 2}).action(keys) == 1
    )
    assert keymap("MountainCarContinuous-v0").action(keys) == [0.0]


def test_the_last_action_is_repeated_where_no_key_means_nothing() -> None:
    """CartPole has no idle action; a new episode begins with the first."""
    keys = keymap("CartPole-v1")
    assert [keys.action(held) for held in ([], ["right"], [], ["a", "d"], ["a"], [])] == [0, 1, 1, 1, 0, 0]  # fmt: skip
    keys.action(["right"])
    keys.reset()
    assert keys.action([]) == 0


def test_an_unmapped_combination_means_its_largest_known_part() -> None:
    """Equal parts: that with the key pressed last. No part: the action without keys."""
    named = {"left": 0, "up": 1, "left+space": 2, "": 3}
    keys = keymap("FrozenLake-v1", named)
    assert keys.action(["left", "up", "space"]) == 2
    assert keys.action(["left", "up"]) == 1
    assert keys.action(["up", "left"]) == 0
    assert keys.action(["space"]) == 3
    assert keys.action(["f12", "q"]) == 3


def test_a_map_may_hold_opposite_keys_together() -> None:
    """Then they do not cancel."""
    keys = keymap("FrozenLake-v1", {"a": 0, "d": 2, "A + D": 3, "": 1})
    assert keys.action(["a", "d"]) == 3


def test_a_continuous_action_goes_to_its_end_by_ramps() -> None:
    """Up while the key is held, back when it is released, never beyond the end."""
    keys = keymap("Pendulum-v1", ramp=4)
    up = [float(keys.action(["left"])[0]) for _ in range(6)]
    assert up == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]
    assert [float(keys.action([])[0]) for _ in range(5)] == [1.5, 1.0, 0.5, 0.0, 0.0]
    assert keys.action(["left"]).dtype == np.float32
    at_once = keymap("CarRacing-v3", {"up": [0, 1, 0], "left": [-1, 0, 0]})
    assert at_once.action(["up", "left"]).tolist() == [-1.0, 1.0, 0.0]


def test_axes_move_the_parts_of_a_continuous_action() -> None:
    """From the middle to either end, without a ramp, added to keys, never beyond the end; in the middle nothing."""
    car = keymap("CarRacing-v3", {"up": [0, 1, 0], "left": [-1, 0, 0]}, ramp=4)
    assert car.axes == 3
    assert car.action([], [-0.5, 0.25]).tolist() == [-0.5, 0.25, 0.0]
    assert car.action([], [1.0, -1.0, 1.0]).tolist() == [1.0, 0.0, 1.0]
    pendulum = keymap("Pendulum-v1")
    assert pendulum.action([], [0.5]).tolist() == [1.0]
    assert pendulum.action(["left"], [0.5]).tolist() == [2.0]
    assert pendulum.action([], [0.0]).tolist() == [0.0]
    assert keymap("CartPole-v1").axes == 0


def test_another_map_counts_once_it_is_used() -> None:
    """It is read first, so that one that does not fit changes nothing; empty is the environment's own again."""
    keys = keymap("FrozenLake-v1")
    table = keys.read({"J": 0, "L + K": 2})
    assert keys.action(["right"]) == 2
    keys.use(table)
    assert sorted(keys.keys) == ["j", "k", "l"]
    assert keys.named == {"j": 0, "k+l": 2}
    assert keys.action(["k", "l"]) == 2
    with pytest.raises(KeyMapInvalid, match="number from 0 to 3, not 9"):
        keys.read({"j": 9})
    keys.use(keys.read({}))
    assert keys.action(["right"]) == 2


def test_parts_of_a_choice_are_set_by_their_keys() -> None:
    """The last pressed key of a part wins; parts without a key are idle."""
    keys = keymap("OddParts-v0", {"q": [1, None], "e": [2, None], "f": [None, 1]})
    assert keys.action([]).tolist() == [0, 0]
    assert keys.action(["q", "f"]).tolist() == [1, 1]
    assert keys.action(["e", "q"]).tolist() == [1, 0]
    assert keymap("OddParts-v0").action(["right", "up"]).tolist() == [2, 1]


@pytest.mark.parametrize(
    ("environment", "text", "words"),
    [
        ("CartPole-v1", "{", "no JSON"),
        ("CartPole-v1", "[]", "must be an object"),
        ("CartPole-v1", '{"left": 2}', "from 0 to 1, not 2"),
        ("CartPole-v1", '{"left": true}', "from 0 to 1, not True"),
        ("CartPole-v1", '{"left++a": 1}', "names no keys"),
        ("Pendulum-v1", '{"left": 2}', "a list of 1 numbers"),
        ("Pendulum-v1", '{"left": ["x"]}', "a list of 1 numbers"),
        ("OddParts-v0", '{"left": [3, 0]}', "part 0 must be from 0 to 2"),
    ],
)
def test_a_map_that_does_not_fit_is_refused_in_words(
    environment: str, text: str, words: str
) -> None:
    """What is wrong, and with which entry."""
    with pytest.raises(KeyMapInvalid, match=words):
        KeyMap(gymnasium.make(environment), text)


def test_a_space_without_keys_is_refused() -> None:
    """Words are no keys."""
    with pytest.raises(EnvironmentUnusable, match="the space Text"):
        keymap("OddWords-v0")
