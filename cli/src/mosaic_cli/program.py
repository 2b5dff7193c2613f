"""The verbs as typer has them. Only the verb that the command line names is imported."""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import typer

from mosaic_cli.command_name import with_command_name
from mosaic_cli.exit_code import EPILOG
from mosaic_cli.help_page import VerbCommand, VerbGroup
from mosaic_cli.option_group import Verb as Function
from mosaic_cli.option_group import spread
from mosaic_cli.place import Place
from mosaic_cli.verb_table import ALSO, BY_NAME, ENTRIES, Entry, Verb
from mosaic_cli.verb_words import WORDS

_WITH_VALUE = ("--url", "--token-file", "--ca-file")
"""Options that may stand before the verb and take a word."""


def program(arguments: Sequence[str]) -> typer.Typer:
    """What answers this command line: the verb that it names, else the help of all of them."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        rich_markup_mode=None,
        cls=VerbGroup,
    )
    app.callback(epilog=EPILOG)(global_options())
    entry = BY_NAME.get(named_verb(arguments) or "")
    if entry is not None:
        add_entry(app, entry)
    else:
        for one in ENTRIES:
            _add_summary(app, one)
    return app


def global_options() -> Function:
    """What stands before a verb: the options that name a stack."""
    return spread(_mosaic, Place)


def named_verb(arguments: Sequence[str]) -> str | None:
    """The first word that is no option and no option's value."""
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            return word
        if word in _WITH_VALUE:
            next(words, None)
    return None


def add_entry(app: typer.Typer, entry: Entry) -> None:
    """Add one verb with its options, and those of its own verbs."""
    place = (Place,) if entry.elsewhere else ()
    if not entry.members:
        call = _loaded(entry.verb, place)
        app.command(entry.verb.name, cls=VerbCommand, rich_help_panel=entry.panel, epilog=EPILOG)(
            call
        )
        return
    group = typer.Typer(
        cls=_group_with(entry.default),
        no_args_is_help=not entry.acts_alone,
        invoke_without_command=entry.acts_alone,
        rich_markup_mode=None,
    )
    group.callback(epilog=EPILOG)(_loaded(entry.verb, place))
    for verb in entry.members:
        # a number below zero is a value and no option
        settings = {"ignore_unknown_options": verb.function == "priority"}
        call = _loaded(verb, place)
        group.command(verb.name, cls=VerbCommand, epilog=EPILOG, context_settings=settings)(call)
        if verb.name in ALSO:
            group.command(ALSO[verb.name], cls=VerbCommand, epilog=EPILOG, hidden=True)(call)
    app.add_typer(group, name=entry.verb.name, rich_help_panel=entry.panel)


def _group_with(default: str) -> type[VerbGroup]:
    """The class of a group in which `default` is meant where no verb of it is named; "": none."""
    if not default:
        return VerbGroup

    class WithDefault(VerbGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            word = named_verb(args)
            has_file = word is not None and word not in self.commands
            return super().parse_args(ctx, [default, *args] if has_file else args)

    return WithDefault


def function_of(verb: Verb) -> Function:
    """The function of a verb; imports its module."""
    found: Function = getattr(import_module(f"mosaic_cli.verbs.{verb.module}"), verb.function)
    return found


def _loaded(verb: Verb, place: tuple[Callable[..., Callable[[], None]], ...]) -> Function:
    call = spread(function_of(verb), *place)
    call.__doc__ = with_command_name(call.__doc__ or "")
    return call


def _add_summary(app: typer.Typer, entry: Entry) -> None:
    """Only its line in the help of all verbs."""

    def nothing() -> None: ...

    summary = with_command_name(WORDS[entry.verb.name].summary)
    app.command(entry.verb.name, cls=VerbCommand, help=summary, rich_help_panel=entry.panel)(
        nothing
    )


def _mosaic() -> None:
    """Train reinforcement-learning agents on this machine, and keep every step they take."""
