"""The page of the command line, from the verbs' own descriptions."""

from typing import Any

import typer
from code_paths import import_in_place
from schema_text import cell
from typer.main import get_command

_HEAD = """# Command line

Every verb prints this with `--help`. RUN is an id, the beginning of an id, a display name, or `last`. Results go to
stdout and messages to stderr; `--json` prints strict JSON. [Exit codes](exit_codes.md) are the same for all verbs.

Verbs that concern runs take `--url`, `--token-file` and `--ca-file` for [a stack on another machine](../remote.md);
these options are not repeated below. `./mosaic gui` opens the [window](../project/gui.md), and the verbs for
developers are in the [tools](../project/tools.md).
"""
_KINDS = {"str": "TEXT", "text": "TEXT", "int": "NUMBER", "integer": "NUMBER", "float": "NUMBER"}
"""Words for the type of an option that names none."""
_ELSEWHERE = {"--url", "--token-file", "--ca-file"}


def cli_page() -> str:
    """Return the page as Markdown."""
    program = import_in_place("mosaic_cli.program")
    entries = import_in_place("mosaic_cli.verb_table").ENTRIES
    app = typer.Typer(add_completion=False)
    app.callback()(program.global_options())
    for entry in entries:
        program.add_entry(app, entry)
    commands: Any = get_command(app)
    lines = [_HEAD]
    for panel in dict.fromkeys(entry.panel for entry in entries):
        lines += [f"## {panel}", ""]
        for entry in entries:
            if entry.panel == panel:
                name = entry.verb.name
                lines += _verb(name, commands.commands[name], 3)
    return "\n".join(lines) + "\n"


def _verb(name: str, command: Any, level: int) -> list[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [
        p
        for p in command.params
        if p.param_type_name == "option" and not p.hidden and not _ELSEWHERE & set(p.opts)
    ]
    members = {
        inner: one for inner, one in getattr(command, "commands", {}).items() if not one.hidden
    }
    lines = [f"{'#' * level} {name}", "", *_paragraphs(command.help or ""), ""]
    lines += ["```", _usage(name, arguments, options, bool(members)), "```", ""]
    rows = [_row(_argument_text(p), p.help) for p in arguments if p.help]
    rows += [_row(_option_text(p), p.help) for p in options]
    if rows:
        lines += ["| argument or option | meaning |", "| --- | --- |", *rows, ""]
    for inner, one in members.items():
        lines += _verb(f"{name} {inner}", one, level + 1)
    return lines


def _paragraphs(text: str) -> list[str]:
    """Return help text as paragraphs: a line break within one is no break."""
    found: list[str] = []
    for paragraph in text.replace("\b", "").strip().split("\n\n"):
        found += [cell(paragraph).replace("\\|", "|"), ""]
    return found[:-1]


def _usage(name: str, arguments: list[Any], options: list[Any], has_members: bool) -> str:
    words = ["./mosaic", name]
    words += ["[OPTIONS]"] if options else []
    words += [_argument_text(p) for p in arguments]
    words += ["[VERB]"] if has_members else []
    return " ".join(words)


def _argument_text(param: Any) -> str:
    text = str(param.metavar or param.name.upper())
    return text if param.nargs == 1 or text.endswith(("...", "]")) else f"{text}..."


def _option_text(param: Any) -> str:
    names = ", ".join([*param.opts, *param.secondary_opts])
    return f"{names} {_value_text(param)}".rstrip()


def _value_text(param: Any) -> str:
    if getattr(param, "is_flag", False):
        return ""
    choices = getattr(param.type, "choices", None)
    if choices is not None:
        return "|".join(str(getattr(one, "value", one)) for one in choices)
    kind = str(getattr(param.type, "name", "value")).removesuffix(" range")
    return str(param.metavar or _KINDS.get(kind, kind.upper()))


def _row(term: str, meaning: str | None) -> str:
    return f"| `{term}` | {cell(meaning or '')} |"
