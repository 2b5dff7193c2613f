"""Writes `verb_words.py` from the verbs themselves: `python -m mosaic_cli.describing`. A test holds the two equal."""

import textwrap
from pathlib import Path
from typing import Any

import typer
from typer.main import get_command

from mosaic_cli.episode_choice import WORDS
from mosaic_cli.program import add_entry, global_options
from mosaic_cli.verb_shape import ANY, BETWEEN, FLAG, RUN, SEARCH, WORKER, Words
from mosaic_cli.verb_table import ENTRIES

TARGET = Path(__file__).with_name("verb_words.py")
_KINDS = {
    "run": RUN,
    "runs": RUN,
    "sweep": RUN,
    "parent": RUN,
    "before": RUN,
    "after": RUN,
    "worker": WORKER,
    "search": SEARCH,
}
"""What is completed, by the name of a parameter."""
_HELP = ("--help", "-h")
_WIDTH = 85
"""Characters of options in a line."""
_HEAD = '''"""The words of every verb. Made by `python -m mosaic_cli.describing`; do not edit."""

from mosaic_cli.verb_shape import Words, kinds

'''


def main() -> None:
    """Write the file; `ruff format` makes it fit to read."""
    lines = [_HEAD + "WORDS: dict[str, Words] = {"]
    words, before = described()
    for name, found in words.items():
        lines += _lines(name, found, 1)
    lines += ["}", f"GLOBAL = {_call(before)}", ""]
    TARGET.write_text("\n".join(lines), "utf-8")


def described() -> tuple[dict[str, Words], Words]:
    """The words of every verb, and those that may stand before one."""
    app = typer.Typer(add_completion=False)
    app.callback()(global_options())
    for entry in ENTRIES:
        add_entry(app, entry)
    group: Any = get_command(app)
    words = {name: _words(command) for name, command in group.commands.items()}
    return words, _words(group)._replace(verbs={}, summary="")


def _words(command: Any) -> Words:
    options: dict[str, str] = {}
    repeated: dict[str, str] = {}
    arguments: list[str] = []
    endless = False
    for param in command.params:
        kind = _kind(param)
        if param.param_type_name == "argument":
            arguments.append(kind)
            endless = param.nargs != 1
        elif not param.hidden:
            target = repeated if param.multiple else options
            target.update(dict.fromkeys([*param.opts, *param.secondary_opts], kind))
    options |= dict.fromkeys(_HELP, FLAG)
    verbs = {
        name: _words(inner)
        for name, inner in getattr(command, "commands", {}).items()
        if not inner.hidden
    }
    summary = " ".join((command.help or "").partition("\n\n")[0].split())
    return Words(summary, options, repeated, tuple(arguments), endless, verbs)


def _kind(param: Any) -> str:
    if getattr(param, "is_flag", False):
        return FLAG
    choices = getattr(param.type, "choices", None)
    if choices is not None:
        return BETWEEN + BETWEEN.join(str(getattr(one, "value", one)) for one in choices)
    if param.name == "episode" and param.type.name == "str":
        return BETWEEN + BETWEEN.join(WORDS)  # or a number
    return _KINDS.get(param.name, ANY)


def _lines(name: str, words: Words, depth: int) -> list[str]:
    indent = "    " * depth
    if not words.verbs:
        return [f"{indent}{name!r}: {_call(words)},"]
    inner = [line for one, more in words.verbs.items() for line in _lines(one, more, depth + 1)]
    head = _call(words._replace(verbs={})).removesuffix(")")
    return [f"{indent}{name!r}: {head}, verbs={{", *inner, f"{indent}}}),"]


def _call(words: Words) -> str:
    given = [repr(words.summary)]
    for field in words._fields[1:]:
        value = getattr(words, field)
        if value != words._field_defaults[field]:
            given.append(f"{field}={_written(value) if isinstance(value, dict) else repr(value)}")
    return f"Words({', '.join(given)})"


def _written(options: dict[str, str]) -> str:
    """A call of `kinds` in lines that fit."""
    words = " ".join(f"{name}={kind}" if kind else name for name, kind in options.items())
    lines = textwrap.wrap(words, _WIDTH, break_long_words=False, break_on_hyphens=False)
    return f"kinds({' '.join(repr(line + ' ') for line in lines)})"


if __name__ == "__main__":
    main()
