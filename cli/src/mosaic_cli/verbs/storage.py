"""`disk`, `gc`, `pin`, `unpin`: what fills the disk, and what is kept of ended runs."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from mosaic_cli import option
from mosaic_cli.checkpoint_names import checkpoint_path
from mosaic_cli.errors import NothingFound, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.grouping import find_run_or_group
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.stack.layout import Layout
from mosaic_cli.storage.folders import folder_sizes
from mosaic_cli.storage.outside import OutsideEntry, outside_entries
from mosaic_cli.storage.showing import (
    by_kind_words,
    folder_table,
    kept_lines,
    kind_table,
    outside_table,
    plan_table,
    profile_lines,
    removal_words,
    run_table,
    total_table,
    trash_table,
    volume_table,
)
from mosaic_cli.target import is_elsewhere, open_client, open_stack
from mosaic_cli.wording import ahead, one_line, path_line, plural, size
from mosaic_client import light, reading
from mosaic_client.errors import StackUnreachable
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.storage_words import STEPS

if TYPE_CHECKING:
    from datetime import datetime

    from mosaic_client import Client
    from mosaic_contracts.storage_reports import (
        PrunePlan,
        PruneResult,
        RunStorage,
        StorageReport,
        UndoResult,
    )

ResultT = TypeVar("ResultT", "PruneResult", "UndoResult")
MOST_LISTED = 5_000
"""Rows of one answer at most."""
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        "-k",
        metavar="KIND",
        help="Only files of this kind, e.g. video or checkpoint; may be repeated.",
    ),
]
OnlyRuns = Annotated[
    list[str] | None,
    typer.Option("--run", "-r", metavar="RUN", help="Only files of this run; may be repeated."),
]


OfCheckpoints = Annotated[
    list[str] | None,
    typer.Option(
        "--checkpoint",
        "-c",
        metavar="NAME",
        help="Only this checkpoint of the run: its path, name or step, `best` or `last`; may be repeated.",
    ),
]


def disk(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN]",
            help="One run: its id, the beginning of one, its name, or `last`.",
            show_default=False,
        ),
    ] = None,
    limit: option.Limit = 20,
    trash: Annotated[
        bool, typer.Option("--trash", help="List the removed files that can be brought back.")
    ] = False,
    profiles: Annotated[
        bool,
        typer.Option(
            "--profiles", help="List the storage profiles, and what is wrong with their file."
        ),
    ] = False,
    stack_only: Annotated[
        bool,
        typer.Option("--stack-only", help="Do not count environments, images and uv's cache."),
    ] = False,
    json: option.Json = False,
) -> None:
    """Show what fills the disk: by kind, by run, and outside of the stack; of one run, what it keeps and what goes.

    Environments, images and uv's cache are counted for the stack of this machine. MOSAIC never removes them; the
    command that does is shown.
    """
    if run is not None:
        _show_run(run, json)
    elif trash:
        _show_trash(limit, json)
    elif profiles:
        _show_profiles(json)
    else:
        _show_all(limit, json, counts_outside=not stack_only and not is_elsewhere())


def gc(
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", "-n", help="Show what would go and why; nothing is changed."),
    ] = False,
    runs: OnlyRuns = None,
    kinds: Kinds = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Bring removed files back from the trash.")
    ] = False,
    item: Annotated[
        list[int] | None,
        typer.Option(
            "--item",
            metavar="N",
            help="With --undo: this file alone, by its number in `disk --trash`; may be repeated.",
        ),
    ] = None,
    empty_trash: Annotated[
        bool,
        typer.Option("--empty-trash", help="Delete what is in the trash too. It cannot be undone."),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not ask for confirmation of --empty-trash.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=MOST_LISTED, help="Files that --dry-run lists.")
    ] = 100,
    json: option.Json = False,
) -> None:
    """Remove what the storage profiles do not keep of ended runs. Files rest in the trash first.

    The stack does this by itself, too, unless its storage_profiles.yaml says otherwise. Pinned runs, runs that have
    not ended, and checkpoints that other runs began with are never touched.
    """
    _check_choices(undo, item, dry_run=dry_run, empty_trash=empty_trash, kinds=kinds)
    with open_client() as client:
        run_ids = [find_run(client, one).run_id for one in runs] if runs else None
        if undo:
            _undo(client, run_ids, item, json)
        elif dry_run:
            _show_plan(client.plan_prune(run_ids, kinds, limit), json)
        else:
            if empty_trash and not yes:
                _ask_to_empty(client)
            _prune(client, run_ids, kinds, empty_trash, json)


def pin(runs: option.Runs, checkpoint: OfCheckpoints = None, json: option.Json = False) -> None:
    """Pin runs or groups: nothing of them is removed, whatever their storage profile says.

    With --checkpoint only that checkpoint of the run stays.
    """
    _set_pinned(runs, checkpoint, True, json)


def unpin(runs: option.Runs, checkpoint: OfCheckpoints = None, json: option.Json = False) -> None:
    """Unpin runs or groups, with their checkpoints: their storage profile applies again."""
    _set_pinned(runs, checkpoint, False, json)


def profile(
    run: option.Run,
    name: Annotated[
        str | None,
        typer.Argument(help="New storage profile; without it the profile is shown."),
    ] = None,
    default: Annotated[
        bool, typer.Option("--default", help="Give the run no profile: the default one applies.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Show or change the storage profile of a run or a group. `./mosaic disk --profiles` lists profiles."""
    if default and name is not None:
        raise ValueRefused("Give a profile or --default, not both.")
    with open_stack() as stack:
        views = _runs_of(stack, [run])
        if default or name is not None:
            views = [reading.patch(stack, view.run_id, storage_profile=name) for view in views]
    if json:
        emit(views)
        return
    for view in views:
        words = view.storage_profile or "the default profile"
        if default or name is not None:
            say(
                f"{view.run_id} has {_profile_words(view)}. `./mosaic disk {view.run_id}` says what goes next."
            )
        else:
            out.print(words if len(views) == 1 else f"{view.run_id}  {words}", soft_wrap=True)


def _check_choices(
    undo: bool, item: list[int] | None, *, dry_run: bool, empty_trash: bool, kinds: object
) -> None:
    """Refuse options that contradict each other. Raises ValueRefused."""
    if undo and (dry_run or empty_trash):
        raise ValueRefused("Give --undo without --dry-run and --empty-trash.")
    if undo and kinds:
        raise ValueRefused("--undo takes --run and --item, no --kind. `disk --trash` lists files.")
    if item and not undo:
        raise ValueRefused("--item belongs to --undo.")
    if dry_run and empty_trash:
        raise ValueRefused("Give --dry-run or --empty-trash. `disk --trash` lists the trash.")


def _show_all(limit: int, json: bool, *, counts_outside: bool) -> None:
    try:
        with open_client() as client:
            report, now = client.storage(limit=min(limit, MOST_LISTED)), client.now()
    except StackUnreachable as error:
        if is_elsewhere():
            raise
        _show_without_stack(str(error), json, counts_outside=counts_outside)
        return
    outside = _count_outside() if counts_outside else []
    if json:
        emit({"storage": report, "outside": [entry.plain() for entry in outside]})
        return
    _say_problems(report)
    out.print(volume_table(report.volumes))
    out.print()
    out.print(total_table(report, now))
    if report.runs:
        out.print()
        out.print(run_table(report.runs, now))
        if report.run_count > len(report.runs):
            more = report.run_count - len(report.runs)
            out.print(f"and {plural(more, 'smaller run')}", style="dim")
    if outside:
        out.print()
        out.print(outside_table(outside))
    if report.planned_files or report.planned_steps:
        what = _planned_words(report.planned_files, report.planned_steps)
        say(
            f"{what} ({size(report.planned_bytes)}) would go now: "
            "`./mosaic gc --dry-run` lists them, `./mosaic gc` removes them."
        )


def _show_without_stack(why: str, json: bool, *, counts_outside: bool) -> None:
    """Sizes of folders where no stack can say more: a full disk may be why it is down."""
    layout = Layout.of_environment()
    folders = {one.name: one for one in sorted(layout.home.iterdir())} if layout.home.is_dir() else {}  # fmt: skip
    with _counting() as on_folder:
        sizes = folder_sizes(folders, on_folder)
    outside = _count_outside() if counts_outside else []
    if json:
        plain = {name: found.bytes for name, found in sizes.items()}
        emit({"storage": None, "folders": plain, "outside": [entry.plain() for entry in outside]})
    else:
        out.print(folder_table(sizes))
        if outside:
            out.print()
            out.print(outside_table(outside))
    say(f"{why}\nThese are sizes of folders in {layout.home}; a stack that is up says more.")


def _show_run(text: str, json: bool) -> None:
    with open_client() as client:
        run_id = find_run(client, text).run_id
        report, now = client.storage(run_id), client.now()
    if not report.runs:
        raise NothingFound(f"{run_id} has nothing on the disk.")
    run = report.runs[0]
    if json:
        emit(run)
        return
    _say_problems(report)
    out.print(f"{run.run_id}  {one_line(run.name)}: {size(run.bytes)}", soft_wrap=True)
    out.print(kind_table(run))
    for line in _retention_lines(run, now):
        out.print(line, soft_wrap=True)


def _retention_lines(run: "RunStorage", now: "datetime") -> list[str]:
    lines = [f"profile: {run.profile}"] if run.profile else []
    if run.pinned:
        lines.append(f"pinned: nothing is removed; `./mosaic unpin {run.run_id}` changes that")
    elif run.pinned_files:
        lines.append(f"pinned: {', '.join(map(path_line, run.pinned_files))}")
    if run.kept_because and not run.pinned:
        lines.append(f"kept: {run.kept_because}")
    if run.next_removal is not None:
        lines.append(f"next: {removal_words(run.next_removal, now)}")
    elif not run.pinned and not run.kept_because:
        lines.append("next: nothing is removed by its profile as it is now")
    return lines


def _show_trash(limit: int, json: bool) -> None:
    with open_client() as client:
        report, now = client.storage(limit=min(limit, MOST_LISTED)), client.now()
    trash = report.trash
    if json:
        emit(trash)
        return
    if not trash.files:
        say("The trash is empty.")
        return
    out.print(trash_table(trash.items[:limit], now))
    words = f"{plural(trash.files, 'file')}, {size(trash.bytes)}"
    say(f"{words}. `./mosaic gc --undo` brings them back, with --item N one of them.")


def _show_profiles(json: bool) -> None:
    with open_client() as client:
        found = client.storage_profiles()
    if json:
        emit(found)
        return
    if found.problem:
        say(found.problem)
    elif not found.exists:
        say(f"{found.path} does not exist: these are the profiles that come with MOSAIC.")
    for line in profile_lines(found.content):
        out.print(line, soft_wrap=True)
    if not found.content.automatic:
        say("Rules are applied by `./mosaic gc` alone (automatic: false).")


def _show_plan(plan: "PrunePlan", json: bool) -> None:
    if json:
        emit(plan)
        return
    for note in plan.notes:
        say(note)
    if plan.items:
        out.print(plan_table(plan.items))
        if plan.unlisted:
            out.print(f"and {plan.unlisted:,} more (--limit)", style="dim")
        what = _planned_words(plan.files, plan.steps)
        total = f"{what}, {size(plan.bytes)}: {by_kind_words(plan.bytes_by_kind)}"
        say(f"{total}. Nothing was changed; `./mosaic gc` removes them.")
    else:
        say("Nothing would go: the storage profiles keep all that there is.")
    for line in kept_lines(plan.kept):
        say(line)


def _planned_words(files: int, steps: int) -> str:
    """`7 files and about 54,074 steps`."""
    words = [plural(files, "file")] if files or not steps else []
    return " and ".join([*words, f"about {plural(steps, 'step')}"] if steps else words)


def _prune(
    client: "Client",
    run_ids: list[str] | None,
    kinds: list[str] | None,
    empty_trash: bool,
    json: bool,
) -> None:
    from mosaic_contracts.storage_reports import PruneResult

    found = PruneResult()
    for step in _steps(
        lambda: client.prune(run_ids, kinds, empty_trash=empty_trash), "Removing files"
    ):
        by_kind = dict(found.bytes_by_kind)
        for kind, length in step.bytes_by_kind.items():
            by_kind[kind] = by_kind.get(kind, 0) + length
        found = step.model_copy(
            update={
                "files": found.files + step.files,
                "steps": found.steps + step.steps,
                "bytes": found.bytes + step.bytes,
                "freed_bytes": found.freed_bytes + step.freed_bytes,
                "bytes_by_kind": by_kind,
                "undo_until": step.undo_until or found.undo_until,
            }
        )
    if not found.files and not found.steps and not found.kept:
        found.kept = client.plan_prune(run_ids, kinds, limit=1).kept
    if json:
        emit(found)
    else:
        _say_pruned(found, client.now())
    if found.left:
        raise typer.Exit(ExitCode.NOT_NOW)


def _say_pruned(found: "PruneResult", now: "datetime") -> None:
    of_files = {kind: count for kind, count in found.bytes_by_kind.items() if kind != STEPS}
    if found.files:
        kinds = f" ({by_kind_words(of_files)})" if of_files else ""
        say(f"{plural(found.files, 'file')} removed, {size(found.bytes)}{kinds}.")
    if found.undo_until is not None:
        until = ahead(found.undo_until, now).removeprefix("in ")
        say(f"They rest in the trash for {until}: `./mosaic gc --undo` brings them back.")
    if found.steps:
        removed = size(found.bytes_by_kind.get(STEPS, 0))
        say(f"{plural(found.steps, 'step')} removed from the store for good, {removed}.")
    if found.freed_bytes:
        say(f"{size(found.freed_bytes)} given back to the disk.")
    if not found.files and not found.steps and not found.freed_bytes:
        say("Nothing to remove.")
    for line in kept_lines(found.kept):
        say(line)
    if found.left:
        say(f"{plural(found.left, 'file')} could not be removed now. Try again later.")


def _undo(client: "Client", run_ids: list[str] | None, items: list[int] | None, json: bool) -> None:
    from mosaic_contracts.storage_reports import UndoResult

    found = UndoResult()
    for step in _steps(lambda: client.undo_prune(run_ids, items), "Bringing files back"):
        found = UndoResult(
            files=found.files + step.files,
            bytes=found.bytes + step.bytes,
            left=step.left,
            refused=[*found.refused, *step.refused],
        )
    if json:
        emit(found)
    else:
        if found.files:
            say(f"{plural(found.files, 'file')} brought back, {size(found.bytes)}.")
        elif not found.refused:
            say("Nothing to bring back: the trash has no such file.")
        for why in found.refused:
            say(why)
    if found.left or found.refused:
        raise typer.Exit(ExitCode.NOT_NOW)


def _steps(ask: "Callable[[], ResultT]", words: str) -> "Iterator[ResultT]":
    """Repeat a request until nothing is left, or a step does nothing."""
    done = 0
    with err.status(f"{words} ...") as shown:
        while True:
            step = ask()
            done += step.files
            shown.update(f"{words}: {done:,} of {done + step.left:,} ...")
            yield step
            if not step.left or not _has_moved(step):
                return


def _has_moved(step: "PruneResult | UndoResult") -> bool:
    return step.files > 0 or any(getattr(step, name, 0) for name in ("steps", "freed_bytes"))


def _ask_to_empty(client: "Client") -> None:
    """What cannot be undone is asked for on a terminal; a script has said what it wants."""
    if not sys.stdin.isatty():
        return
    trash = client.storage(limit=1).trash
    say(
        f"{plural(trash.files, 'file')} in the trash ({size(trash.bytes)}) will be deleted for good."
    )
    typer.confirm("Go on?", abort=True, err=True)


def _runs_of(stack: StackConnection, texts: list[str]) -> list[light.RunFields]:
    """The runs that these texts mean, and those of groups."""
    views: list[light.RunFields] = []
    for text in texts:
        found = find_run_or_group(stack, text)
        if isinstance(found, light.GroupFields):
            views += [reading.run(stack, run_id) for run_id in found.run_ids]
        else:
            views.append(found)
    return views


def _profile_words(view: light.RunFields) -> str:
    name = view.storage_profile
    return "the default storage profile" if name is None else f"the storage profile {name}"


def _set_checkpoints_pinned(
    stack: StackConnection, runs: list[str], names: list[str], pinned: bool
) -> tuple[light.RunFields, list[str]]:
    if len(runs) != 1:
        raise ValueRefused("--checkpoint is for one run.")
    view = find_run(stack, runs[0])
    known = view.pinned_files
    if pinned:
        paths = [checkpoint_path(stack, view, name) for name in names]
        wanted = [*known, *paths]
    else:  # the file of a pin may be gone
        paths = [name if name in known else checkpoint_path(stack, view, name) for name in names]
        wanted = [path for path in known if path not in paths]
    return reading.patch(stack, view.run_id, pinned_files=wanted), paths


def _set_pinned(runs: list[str], checkpoints: list[str] | None, pinned: bool, json: bool) -> None:
    with open_stack() as stack:
        if checkpoints:
            view, paths = _set_checkpoints_pinned(stack, runs, checkpoints, pinned)
            if json:
                emit([view])
                return
            for path in paths:
                words = "stays" if pinned else "is not pinned: the storage profile applies"
                say(f"{view.run_id}: {path} {words}.")
            return
        changes: dict[str, object] = (
            {"pinned": True} if pinned else {"pinned": False, "pinned_files": []}
        )
        views = [reading.patch(stack, view.run_id, **changes) for view in _runs_of(stack, runs)]
    if json:
        emit(views)
        return
    words = (
        "is pinned: nothing of it is removed"
        if pinned
        else "is not pinned: its storage profile applies"
    )
    for view in views:
        say(f"{view.run_id} {words}.")


def _say_problems(report: "StorageReport") -> None:
    for words in (*(volume.message for volume in report.volumes), *report.notes):
        if words:
            say(words)


def _count_outside() -> list[OutsideEntry]:
    with _counting() as on_folder:
        return outside_entries(Layout.of_environment(), on_folder=on_folder)


@contextmanager
def _counting() -> Iterator["Callable[[str], None]"]:
    """Show which folder is counted."""
    with err.status("Counting ...") as shown:

        def on_folder(name: str) -> None:
            shown.update(f"Counting {name} ...")

        yield on_folder
