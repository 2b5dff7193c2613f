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


def test_at_first_no_keys_clash() -> None:
    """What the client comes with passes its own check."""
    assert {one.name: refusal(one.name, one.keys, {}) for one in COMMANDS} == {
        one.name: "" for one in COMMANDS
    }
