import pytest

from mosaic_gui.state.command_keys import COMMANDS, refusal, resolved


@pytest.mark.parametrize(
    ("name", "keys", "why"),
    [
        ("theme", "Ctrl+Alt+L", ""),
        ("runs.stop", "F8", ""),
        ("runs.note", "Ctrl+J", ""),
        ("watch.follow", "F", ""),
        ("theme", "Ctrl+U", "Ctrl+U is taken by Use trained (every page)"),
        ("theme", "Ctrl+T", "Ctrl+T is taken by Tags (Runs)"),
        ("runs.tag", "Ctrl+B", "Ctrl+B is taken by Show or hide the agents panel"),
        ("runs.tag", "Ctrl+Z", "a meaning that stays (Runs)"),
        ("theme", "Ctrl+Return", "a meaning that stays (another page)"),
        ("theme", "L", "Choose keys with Ctrl or Alt"),
        ("theme", "", "Choose keys with Ctrl or Alt"),
    ],
)
def test_keys_that_clash_are_refused_by_name(name: str, keys: str, why: str) -> None:
    """On every page or on the command's own; keys that are typed are none."""
    refused = refusal(name, keys, {})
    assert why in refused if why else refused == ""


def test_keys_become_free_when_their_command_has_others() -> None:
    """And they cannot be taken back while another command has them."""
    chosen = {"trained": "Ctrl+Alt+U"}
    assert refusal("theme", "Ctrl+U", chosen) == ""
    assert "taken by Light or dark" in refusal("trained", "Ctrl+U", {"theme": "Ctrl+U"})


def test_a_file_cannot_leave_a_command_without_its_key() -> None:
    """Only one of two commands with the same keys has them, and unknown names are no commands."""
    read = {"theme": "Ctrl+Alt+L", "files": "Ctrl+Alt+L", "quit": "nonsense", "gone": "Ctrl+J"}
    assert resolved(read) == {"theme": "Ctrl+Alt+L"}


@pytest.mark.parametrize(
    "chosen",
    [
        {"watch": "Ctrl+M", "runs": "Ctrl+2"},
        {"runs": "Ctrl+2", "watch": "Ctrl+1"},
        {"runs": "Ctrl+2", "watch": "Ctrl+3", "replay": "Ctrl+1"},
    ],
)
def test_keys_that_another_choice_left_hold(chosen: dict[str, str]) -> None:
    """Whatever the order of the commands, and also when two commands exchange theirs."""
    assert resolved(chosen) == chosen


def test_a_refused_choice_takes_its_own_keys_back() -> None:
    """Another command cannot have them then."""
    assert resolved({"watch": "nonsense", "runs": "Ctrl+2", "theme": "Ctrl+1"}) == {}


def test_at_first_no_keys_clash() -> None:
    """What the client comes with passes its own check."""
    assert {one.name: refusal(one.name, one.keys, {}) for one in COMMANDS} == {
        one.name: "" for one in COMMANDS
    }
