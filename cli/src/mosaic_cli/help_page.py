"""The page that `--help` shows. Drawn here, because typer's own imports a Markdown and a syntax library for it."""

from collections.abc import Iterable, Iterator
from typing import Any

from rich.box import ROUNDED
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from mosaic_cli.command_name import with_command_name
from mosaic_cli.output import out

_ARGUMENTS, _OPTIONS, _VERBS = "Arguments", "Options", "Verbs"
Rows = dict[str, list[tuple[str, str]]]
"""Names and what they mean, by heading."""


class VerbCommand(TyperCommand):
    """A verb."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(_page(self, ctx, {}))


class VerbGroup(TyperGroup):
    """A verb that has verbs of its own, and the whole program."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        verbs: Rows = {}
        for name, command in self.commands.items():
            if not command.hidden:
                panel = getattr(command, "rich_help_panel", None) or _VERBS
                verbs.setdefault(panel, []).append((name, _summary(command.help or "")))
        formatter.write(_page(self, ctx, verbs))


def _page(command: TyperCommand | TyperGroup, ctx: Any, verbs: Rows) -> str:
    with out.capture() as page:
        usage = command.get_usage(ctx).partition(" ")[2]
        out.print(Text.assemble("\n Usage: ", (usage, "bold")), soft_wrap=True)
        for paragraph in _paragraphs(command.help or ""):
            out.print(Text(f"\n {paragraph}"))
        out.print()
        for heading, rows in (*_parameters(command, ctx).items(), *verbs.items()):
            out.print(_panel(heading, rows))
        if command.epilog:
            out.print(Text(f"\n{command.epilog}"))
    return page.get()


def _parameters(command: Any, ctx: Any) -> Rows:
    rows: Rows = {_ARGUMENTS: [], _OPTIONS: []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            default = _ARGUMENTS if parameter.param_type_name == "argument" else _OPTIONS
            heading = getattr(parameter, "rich_help_panel", None) or default
            rows.setdefault(heading, []).append(record)
    return {heading: found for heading, found in rows.items() if found}


def _panel(heading: str, rows: Iterable[tuple[str, str]]) -> Panel:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(style="bold cyan", overflow="fold", max_width=36)
    table.add_column(ratio=1)
    for name, meaning in rows:
        table.add_row(Text(name), Text(with_command_name(meaning)))
    return Panel(table, title=heading, title_align="left", box=ROUNDED, border_style="dim")


def _paragraphs(help_text: str) -> Iterator[str]:
    for paragraph in with_command_name(help_text).split("\n\n"):
        yield " ".join(paragraph.split())


def _summary(help_text: str) -> str:
    return next(_paragraphs(help_text), "")
