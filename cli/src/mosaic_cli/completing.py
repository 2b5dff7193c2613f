"""Answers the Tab key: which words may stand where the cursor is.

It runs at every press of the key, so it looks words up in `verb_words.py` and imports no verb, no typer and no rich.
"""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from mosaic_cli.verb_shape import BETWEEN, FLAG, RUN, SEARCH, WORKER, Words
from mosaic_cli.verb_words import GLOBAL, WORDS

COMPLETE_VARIABLE = "_MOSAIC_COMPLETE"
"""Set by the shell's function, with COMP_WORDS and COMP_CWORD."""
ROOT = GLOBAL._replace(verbs=WORDS)
_QUOTES = "\"'\\"


class _Line(NamedTuple):
    """A command line as far as it was read."""

    words: Words
    """Words of the verb that the line names so far."""
    given: set[str]
    """Its options that were given."""
    arguments: int
    """How many arguments were given."""
    value_kind: str
    """Kind of the value that an option still waits for; FLAG: none does."""
    options_ended: bool
    """Behind `--`."""


def main() -> None:
    """Print the words, one a line."""
    words = _split(os.environ.get("COMP_WORDS", ""))
    place = int(os.environ.get("COMP_CWORD", "0"))
    before = words[1:place]
    word = words[place] if place < len(words) else ""
    sys.stdout.write("".join(f"{one}\n" for one in complete(before, word)))


def complete(before: list[str], word: str) -> list[str]:
    """Words that complete the beginning `word` behind the words `before` it."""
    if word == "=":  # some shells take --option=value apart
        word = ""
    elif word.startswith("-") and "=" in word:
        name, _, word = word.partition("=")
        before = [*before, name]
    line = _read(before)
    if line.value_kind != FLAG:
        return _values(line.value_kind, word)
    if word.startswith("-") and not line.options_ended:
        left = {name for name in line.words.options if name not in line.given}
        return [name for name in _options(line.words) if _fits(name, word, left, line.words)]
    if line.words.verbs and not line.arguments:
        return [verb for verb in line.words.verbs if verb.startswith(word)]
    kinds = line.words.arguments
    if kinds == (SEARCH,):
        from mosaic_cli.completion import complete_search

        return complete_search(before, word)
    if line.arguments < len(kinds):
        return _values(kinds[line.arguments], word)
    return _values(kinds[-1], word) if kinds and line.words.endless else []


def _read(words: list[str]) -> _Line:
    found, given, arguments, kind, ended = ROOT, set[str](), 0, FLAG, False
    for word in words:
        if kind != FLAG and word == "=":
            continue
        if kind != FLAG:
            kind = FLAG
        elif word == "--" and not ended:
            ended = True
        elif word.startswith("-") and len(word) > 1 and not ended:
            name, kind = _option(found, word)
            given.add(name)
        elif word in found.verbs and not arguments:
            found, given = found.verbs[word], set()
        else:
            arguments += 1
    return _Line(found, given, arguments, kind, ended)


def _option(words: Words, word: str) -> tuple[str, str]:
    """The option that a word gives, and the kind of value that it still waits for."""
    known = _options(words)
    if word in known:
        return word, known[word]
    if word.startswith("--"):
        return word.partition("=")[0], FLAG
    # several letters: the first that takes a value takes the rest as its value
    for place, letter in enumerate(word[1:], 1):
        kind = known.get(f"-{letter}", FLAG)
        if kind != FLAG:
            return f"-{letter}", FLAG if word[place + 1 :] else kind
    return word, FLAG


def _options(words: Words) -> dict[str, str]:
    return {**words.options, **words.repeated}


def _fits(name: str, word: str, left: set[str], words: Words) -> bool:
    return name.startswith(word) and (name in left or name in words.repeated)


def _values(kind: str, word: str) -> list[str]:
    if kind.startswith(BETWEEN):
        return [one for one in kind.split(BETWEEN)[1:] if one.startswith(word)]
    if kind == RUN:
        from mosaic_cli.completion import complete_run

        return complete_run(word)
    if kind == WORKER:
        from mosaic_cli.completion import complete_worker

        return complete_worker(word)
    return []


def _split(line: str) -> list[str]:
    if not any(quote in line for quote in _QUOTES):
        return line.split()
    import shlex  # seldom needed

    lexer = shlex.shlex(line, posix=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    found: list[str] = []
    try:
        found.extend(lexer)
    except ValueError:  # a quote that is still open
        found.append(lexer.token)
    return found


def is_asked(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether this process was started by a press of the Tab key."""
    return COMPLETE_VARIABLE in environ
