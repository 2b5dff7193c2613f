"""The commands that README.md shows: each is one that the program takes, and works after those before it."""

import re
import shlex
from pathlib import Path

import pytest

from mosaic_cli.verb_table import BY_NAME
from mosaic_cli.verb_words import GLOBAL, WORDS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
OF_BASH = {"test", "gui", "sync", "help"}
"""Verbs of `./mosaic` itself."""


def in_code_blocks() -> list[str]:
    """Command lines without the words next to them, in order."""
    blocks = re.findall(r"^```\n(.*?)^```", README, re.S | re.M)
    return re.findall(r"\./mosaic ([a-z].*?)(?=  |;|\)|$)", "\n".join(blocks), re.M)


@pytest.mark.parametrize("line", in_code_blocks())
def test_a_command_that_is_shown_is_one_that_there_is(line: str) -> None:
    """The verb and its options are known to the program."""
    verb, *words = shlex.split(line)
    if "--" in words:  # what follows are the arguments of a script
        words = words[: words.index("--")]
    if verb in OF_BASH:
        return
    known = WORDS[verb]
    default = BY_NAME[verb].default
    if default or (words and words[0] in known.verbs):
        known = known.verbs[words[0] if words[0] in known.verbs else default]
    options = {*known.options, *known.repeated, *GLOBAL.options}
    assert not {word for word in words if word.startswith("-")} - options


def test_play_is_shown_after_a_run_that_can_be_played() -> None:
    """`play last` plays the run that was started last, and only spade's algorithms can be played today."""
    started = ""
    played = False
    for line in in_code_blocks():
        verb, *words = shlex.split(line)
        if verb == "run":
            started = words[0]
        if verb == "play":
            played = True
            assert started == "spade"
    assert played
