"""The key map as it is shown and edited."""

import json

from mosaic_gui.state.key_map import EditedKeyMap, KeyRow, keys_of
from mosaic_gui.state.play_keys import PlayerCommand, cap_text, command_keys, entry_text

LANDER = {"left": 1, "a": 1, "up": 2, "w": 2, "left+up": 3, "": 0}


def test_rows_are_actions_with_their_keys() -> None:
    """Combinations come last; the action without keys has no row; a word is the worker's, else the number."""
    edited = EditedKeyMap(LANDER, {"left": "left engine"}, LANDER)
    assert edited.rows == [
        KeyRow(1, "left engine", ("left", "a")),
        KeyRow(2, "action 2", ("up", "w")),
        KeyRow(3, "action 3", ("left+up",)),
    ]
    assert keys_of(LANDER) == {"left", "a", "up", "w"}


def test_a_key_moves_to_another_action_and_back() -> None:
    """The action that loses the key is named and keeps its row; the default is sent as nothing."""
    edited = EditedKeyMap({"left": 0, "right": 1}, {"left": "left", "right": "right"}, {})
    assert (edited.text, edited.is_changed) == ("", False)
    assert edited.put("right", 0, "left") == "right"
    assert json.loads(edited.text) == {"right": 0}
    assert edited.rows[1] == KeyRow(1, "right", ())
    assert edited.put("j", 1) == ""
    edited.remove("right")
    assert edited.keys == {"j": 1}
    edited.reset()
    assert (edited.is_default, edited.is_changed) == (True, False)


def test_a_map_of_the_user_is_no_default() -> None:
    """A play that was started with other keys knows the default, and can go back to it."""
    edited = EditedKeyMap({"j": 0}, {}, {"left": 0})
    assert json.loads(edited.text) == {"j": 0}
    edited.reset()
    assert (edited.text, edited.is_changed) == ("", True)
    edited.take("no JSON")
    assert edited.is_default
    edited.take('{"k": 0}')
    assert edited.keys == {"k": 0}


def test_continuous_actions_are_shown_by_their_values() -> None:
    """One number with its sign; of several those that are set."""
    edited = EditedKeyMap({"j": [2.0], "k": [-2.0], "x": [0.0, 0.0, 0.8]}, {}, {})
    assert [row.word for row in edited.rows] == ["+2", "-2", "part 3: +0.8"]


def test_commands_take_keys_that_the_map_leaves() -> None:
    """P pauses unless the map uses it; with neither key left there is a function key."""
    assert command_keys({"a", "d"})["p"] is PlayerCommand.PAUSE
    assert command_keys({"p", "r"}) == {
        "space": PlayerCommand.PAUSE,
        "n": PlayerCommand.STEP,
        "backspace": PlayerCommand.RESET,
        "t": PlayerCommand.ACTOR,
    }
    assert command_keys({"p", "space"})["f5"] is PlayerCommand.PAUSE


def test_caps_show_what_is_on_the_keyboard() -> None:
    """Arrows as signs, letters as capitals, others by their names."""
    assert [cap_text(name) for name in ("left", "a", "space", "f5")] == ["←", "A", "Space", "F5"]
    assert entry_text("left+up") == "← + ↑"
