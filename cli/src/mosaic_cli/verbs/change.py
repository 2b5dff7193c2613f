"""`retry`, `clone`, `rm`, `restore`, `tag`, `note`: what is done with a run that was there before."""

import sys
from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import Among, did_you_mean, find_run
from mosaic_cli.spec_source import SpecOptions
from mosaic_cli.verbs.run import accompany
from mosaic_cli.wording import plural
from mosaic_client import connect
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec


def retry(run: option.Run, detach: option.Detach = False, json: option.Json = False) -> None:
    """Start a new run with the spec of an earlier one, which becomes its parent, and follow it."""
    with connect() as client:
        view = find_run(client, run)
        accompany(client, client.retry(view.run_id), detach, json)


def clone(
    run: option.Run,
    options: SpecOptions,
    environment: Annotated[
        str | None, typer.Option("--environment", "-e", help="Another environment.")
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option("--algorithm", "-a", help="Another algorithm.")
    ] = None,
    detach: option.Detach = False,
    json: option.Json = False,
) -> None:
    """Start a new run like an earlier one but for what is given, and follow it.

    Parameters are merged name by name; `-p name=null` takes one away.
    """
    named = {"environment": environment, "algorithm": algorithm}
    overrides = {key: value for key, value in named.items() if value} | options.fields()
    for name in overrides:
        if name not in RunSpec.model_fields:
            hint = did_you_mean(name, RunSpec.model_fields)
            raise ValueRefused(f"{name}: there is no such field. {hint}")
    with connect() as client:
        view = find_run(client, run)
        accompany(client, client.clone(view.run_id, **overrides), detach, json)


def rm(
    runs: option.Runs,
    now: Annotated[
        bool, typer.Option("--now", help="Delete files and events at once, for good.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before --now.")] = False,
    json: option.Json = False,
) -> None:
    """Put ended runs away: hidden from lists, and gone for good after a day. `restore` brings one back until then."""
    with connect() as client:
        views = [find_run(client, run) for run in runs]
        if now and not yes:
            _ask(views)
        gone = []
        for view in views:
            gone.append(client.delete(view.run_id, now=now))
            if not json:  # one by one: should a later one be refused, it is known what is gone
                say(_gone_text(view.run_id, now))
    if json:
        emit(gone)


def restore(runs: option.Runs, json: option.Json = False) -> None:
    """Bring back runs that were put away. `./mosaic ps --deleted` lists them."""
    with connect() as client:
        ids = [find_run(client, run, Among.PUT_AWAY).run_id for run in runs]
        views = [client.restore(run_id) for run_id in ids]
    if json:
        emit(views)
        return
    for view in views:
        say(f"{view.run_id} is back.")


def tag(
    run: option.Run,
    tags: Annotated[
        list[str] | None, typer.Argument(help="Tags to add; none: show those it has.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", help="A tag to take away; repeatable.")
    ] = None,
    json: option.Json = False,
) -> None:
    """Add tags to a run, take some away, or show them. `./mosaic ps --tag TAG` finds runs by them."""
    with connect() as client:
        view = find_run(client, run)
        kept = [one for one in view.tags if one not in (remove or [])]
        wanted = list(dict.fromkeys([*kept, *(tags or [])]))
        if missing := [one for one in remove or [] if one not in view.tags]:
            has = f"It has: {', '.join(view.tags)}." if view.tags else "It has none."
            raise ValueRefused(f"{view.run_id} has no tag {', '.join(missing)}. {has}")
        if wanted != view.tags:
            view = client.patch(view.run_id, tags=wanted)
    if json:
        emit(view)
    elif view.tags:
        for one in view.tags:
            out.print(one, markup=False, soft_wrap=True)
    else:
        say(f"{view.run_id} has no tags.")


def note(
    run: option.Run,
    text: Annotated[
        str | None,
        typer.Argument(help="The new words, - for stdin; none: show those it has."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take the note away.")] = False,
    json: option.Json = False,
) -> None:
    """Write your own words on a run, or show them."""
    if clear and text is not None:
        raise ValueRefused("Give a text or --clear, not both.")
    if text == "-":
        text = sys.stdin.read().removesuffix("\n")
    with connect() as client:
        view = find_run(client, run)
        if clear or text is not None:
            view = client.patch(view.run_id, note=text or "")
    if json:
        emit(view)
    elif view.note:
        out.print(view.note, markup=False, soft_wrap=True)
    else:
        say(f"{view.run_id} has no note.")


def _gone_text(run_id: str, now: bool) -> str:
    if now:
        return f"{run_id} is deleted, with its files and events."
    return f"{run_id} is put away. `./mosaic restore {run_id}` brings it back within a day."


def _ask(views: list[RunView]) -> None:
    """Deleting for good is asked for on a terminal; a script has said what it wants."""
    if not sys.stdin.isatty():
        return
    names = "".join(f"\n  {view.run_id}  {view.name}" for view in views)
    say(f"{plural(len(views), 'run')} will be deleted for good, with files and events:{names}")
    typer.confirm("Go on?", abort=True, err=True)
