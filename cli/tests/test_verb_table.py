"""The table of verbs: what help and the Tab key say is what the verbs are."""

import pytest
from tests.gateway_double import Mosaic

from mosaic_cli.describing import described
from mosaic_cli.program import function_of, named_verb
from mosaic_cli.verb_table import BY_NAME, ENTRIES, Entry
from mosaic_cli.verb_words import GLOBAL, WORDS


def test_words_are_those_of_the_verbs() -> None:
    """After a change of a verb's options `python -m mosaic_cli.describing` and `./mosaic lint` write them again."""
    assert described() == (WORDS, GLOBAL)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.verb.name)
def test_every_verb_is_where_the_table_says(entry: Entry) -> None:
    """Each verb and each of its own verbs is a function of the module that the table names."""
    for verb in (entry.verb, *entry.members):
        assert callable(function_of(verb))


@pytest.mark.parametrize("name", BY_NAME)
def test_the_help_of_all_has_a_line_for_each(name: str, mosaic: Mosaic) -> None:
    """`--help` lists every verb with the first sentence of its own help, and under its heading."""
    code, out, _ = mosaic("--help")
    assert code == 0
    listed = [line.split()[1] for line in out.splitlines() if line.startswith("│ ")]
    assert name in listed
    assert f"─ {BY_NAME[name].panel} ─" in out


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        ("ps --tag x", "ps"),
        ("--url http://lab:1 ps", "ps"),
        ("--url=http://lab:1 show last", "show"),
        ("--token-file ps --ca-file show status", "status"),
        ("--help", None),
        ("", None),
        ("--url", None),
    ],
)
def test_the_verb_is_the_first_word_that_is_no_value(words: str, verb: str | None) -> None:
    """Options of a stack elsewhere may stand before the verb, and what they take is no verb."""
    assert named_verb(words.split()) == verb


def test_options_before_a_verb_are_known() -> None:
    """Every option that may stand before a verb and takes a value is skipped with it."""
    for option, kind in GLOBAL.options.items():
        assert (named_verb([option, "ps"]) is None) == bool(kind), option
