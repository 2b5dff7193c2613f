"""`rm`, `restore`, `tag`, `note`: what is done with a run that was there before."""

import sys
from typing import Annotated

import typer

from mosaic_cli import option
from mosaic_cli.deleting import bytes_text, deleted_text, hidden_text
from mosaic_cli.errors import ValueRefused
from mosaic_cli.grouping import find_deleted, find_run_or_group
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_stack
from mosaic_cli.wording import one_line, plural
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection


def rm(
    runs: option.Runs,
    now: Annotated[
        bool, typer.Option("--now", help="Delete files and events at once, for good.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation of --now.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also delete pinned runs, and runs that others need.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Delete ended runs or groups. For a day they are only hidden, and `restore` brings one back."""
    with open_stack() as stack:
        views = [find_run_or_group(stack, run) for run in runs]
        reports = [_deletion(stack, view) for view in views]
        if now and not yes:
            _ask(views, reports)
        gone: list[light.Light] = []
        for view, report in zip(views, reports, strict=True):
            # one by one: should a later one be refused, it is known what is gone
            if isinstance(view, light.GroupFields):
                gone.append(reading.delete_group(stack, view.group_id, now=now, force=force))
                if not json:
                    say(_gone_text(view.group_id, now))
                continue
            gone.append(reading.delete(stack, view.run_id, now=now, force=force))
            if not json and report is not None:
                say(deleted_text(stack, report) if now else hidden_text(report))
    if json:
        emit(gone)


def restore(runs: option.Runs, json: option.Json = False) -> None:
    """Restore deleted runs, or a deleted group by its id, the beginning of it, or its name.

    `./mosaic ps --deleted` lists runs that can be restored.

    A backup is restored by `./mosaic backup restore`.
    """
    from zipfile import is_zipfile

    for run in runs:
        if is_zipfile(run):
            raise ValueRefused(
                f"{run} is a file, not a run. `./mosaic backup restore {run}` restores a backup into an empty data "
                "root."
            )
    with open_stack() as stack:
        found = [find_deleted(stack, run) for run in runs]
        views = [_restored(stack, one) for one in found]
    if json:
        emit(views)
        return
    for one in found:
        say(f"{_id_of(one)} is back.")


def tag(
    run: option.Run,
    tags: Annotated[
        list[str] | None, typer.Argument(help="Tags to add; without any the run's tags are shown.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", "-r", help="A tag to remove; may be repeated.")
    ] = None,
    json: option.Json = False,
) -> None:
    """Add, remove or show the tags of a run. `./mosaic ps --tag TAG` finds runs by them."""
    with open_stack() as stack:
        view = find_run(stack, run)
        kept = [one for one in view.tags if one not in (remove or [])]
        wanted = list(dict.fromkeys([*kept, *(tags or [])]))
        if missing := [one for one in remove or [] if one not in view.tags]:
            has = f"It has: {', '.join(view.tags)}." if view.tags else "It has none."
            raise ValueRefused(f"{view.run_id} has no tag {', '.join(missing)}. {has}")
        if wanted != view.tags:
            view = reading.patch(stack, view.run_id, tags=wanted)
    if json:
        emit(view)
    elif view.tags:
        for one in view.tags:
            out.print(one, soft_wrap=True)
    else:
        say(f"{view.run_id} has no tags.")


def note(
    run: option.Run,
    text: Annotated[
        str | None,
        typer.Argument(help="Text of the note, - for stdin; without it the note is shown."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Remove the note.")] = False,
    json: option.Json = False,
) -> None:
    """Write or show your note on a run."""
    if clear and text is not None:
        raise ValueRefused("Give a text or --clear, not both.")
    if text == "-":
        text = sys.stdin.read().removesuffix("\n")
    with open_stack() as stack:
        view = find_run(stack, run)
        if clear or text is not None:
            view = reading.patch(stack, view.run_id, note=text or "")
    if json:
        emit(view)
    elif view.note:
        out.print(view.note, soft_wrap=True)
    else:
        say(f"{view.run_id} has no note.")


def _deletion(
    stack: StackConnection, view: light.RunFields | light.GroupFields
) -> light.DeletionFields | None:
    """What the deletion of a run frees; None for a group, of which that takes long to say."""
    if isinstance(view, light.GroupFields):
        return None
    return reading.deletion(stack, view.run_id)


def _restored(
    stack: StackConnection, view: light.RunFields | light.GroupFields
) -> light.RunFields | light.GroupFields:
    if isinstance(view, light.GroupFields):
        return reading.restore_group(stack, view.group_id)
    return reading.restore(stack, view.run_id)


def _gone_text(group_id: str, now: bool) -> str:
    if now:
        return f"The runs of {group_id} are being deleted, with files and events."
    return f"{group_id} is deleted. `./mosaic restore {group_id}` brings it back within a day."


def _ask(
    views: list[light.RunFields | light.GroupFields],
    reports: list[light.DeletionFields | None],
) -> None:
    """Deleting for good is asked for on a terminal; a script has said what it wants."""
    if not sys.stdin.isatty():
        return
    lines = "".join(
        f"\n  {_id_and_name(view)}" + _about(report)
        for view, report in zip(views, reports, strict=True)
    )
    count = sum(len(one.run_ids) if isinstance(one, light.GroupFields) else 1 for one in views)
    say(f"{plural(count, 'run')} will be deleted for good, with files and events:{lines}")
    typer.confirm("Go on?", abort=True, err=True)


def _id_of(view: light.RunFields | light.GroupFields) -> str:
    return view.group_id if isinstance(view, light.GroupFields) else view.run_id


def _id_and_name(view: light.RunFields | light.GroupFields) -> str:
    return f"{_id_of(view)}  {one_line(view.name)}"


def _about(report: light.DeletionFields | None) -> str:
    if report is None:
        return ""
    return f"  {bytes_text(report)}" + "".join(f"\n    ! {reason}" for reason in report.against)
