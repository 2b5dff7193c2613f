"""Commands whose keys can be changed, their keys at first, and which keys each may have."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from mosaic_gui.state.language import Mark, mark, tr, tr_mark

ANYWHERE: Final = ""
RUNS_PAGE, WATCH_PAGE, OTHER_PAGE = "runs", "watch", "other"
PAGE_WORDS: Mapping[str, Mark] = {
    ANYWHERE: mark("every page"),
    RUNS_PAGE: mark("Runs"),
    WATCH_PAGE: mark("Watch"),
    OTHER_PAGE: mark("another page"),
}
_CHANGEABLE = re.compile(r"(Ctrl\+|Alt\+|(Shift\+)?F\d+$)")
"""Other keys are typed in fields, or move in lists."""


@dataclass(frozen=True)
class KeyedCommand:
    """A command with keys."""

    name: str
    title: Mark
    page: str
    """Where it can be given."""
    keys: str
    """At first, as Qt writes them."""


def _anywhere(name: str, title: Mark, keys: str) -> KeyedCommand:
    return KeyedCommand(name, title, ANYWHERE, keys)


def _runs(name: str, title: Mark, keys: str) -> KeyedCommand:
    return KeyedCommand(f"runs.{name}", title, RUNS_PAGE, keys)


def _watch(name: str, title: Mark, keys: str) -> KeyedCommand:
    return KeyedCommand(f"watch.{name}", title, WATCH_PAGE, keys)


COMMANDS: Final = (
    _anywhere("runs", mark("Runs"), "Ctrl+1"),
    _anywhere("watch", mark("Watch"), "Ctrl+2"),
    _anywhere("replay", mark("Replay"), "Ctrl+3"),
    _anywhere("play", mark("Play"), "Ctrl+4"),
    _anywhere("checkpoints", mark("Checkpoints"), "Ctrl+5"),
    _anywhere("compare", mark("Compare"), "Ctrl+6"),
    _anywhere("sweeps", mark("Sweeps"), "Ctrl+7"),
    _anywhere("storage", mark("Storage"), "Ctrl+8"),
    _anywhere("alerts", mark("Alerts"), "Ctrl+9"),
    _anywhere("train", mark("Train new"), "Ctrl+N"),
    _anywhere("trained", mark("Use trained"), "Ctrl+U"),
    _anywhere("settings", mark("Settings"), "Ctrl+,"),
    _anywhere("palette", mark("Find anything; all commands and their keys"), "Ctrl+K"),
    _anywhere("search", mark("Search this page"), "Ctrl+F"),
    _anywhere("back", mark("Back to the runs"), "Alt+Left"),
    _anywhere("stop_watched", mark("Stop the watched run"), "Ctrl+Shift+."),
    _anywhere("fold", mark("Show or hide the agents panel"), "Ctrl+B"),
    _anywhere("theme", mark("Light or dark"), "Ctrl+Shift+L"),
    _anywhere("files", mark("Import, archive, back up"), "Ctrl+Shift+F"),
    _anywhere("import", mark("Import an archive or a file …"), "Ctrl+Shift+I"),
    _anywhere("connect", mark("Connect to another stack"), "Ctrl+Shift+O"),
    _anywhere("quit", mark("Quit"), "Ctrl+Q"),
    _runs("replay", mark("Replay"), "Ctrl+R"),
    _runs("copy", mark("Clone and edit"), "Ctrl+D"),
    _runs("retry", mark("Retry"), "Ctrl+Shift+Y"),
    _runs("compare_returns", mark("Compare returns"), "Ctrl+Shift+C"),
    _runs("differences", mark("Show differences"), "Ctrl+Shift+D"),
    _runs("trials", mark("Runs of its trials"), "Ctrl+Shift+T"),
    _runs("rename", mark("Rename"), "F2"),
    _runs("tag", mark("Tags"), "Ctrl+T"),
    _runs("note", mark("Note"), "Ctrl+E"),
    _runs("report", mark("Report …"), "Ctrl+Shift+R"),
    _runs("archive", mark("Archive …"), "Ctrl+Shift+A"),
    _runs("delete", mark("Delete"), "Del"),
    _runs("stop", mark("Stop"), "Ctrl+."),
    _runs("pin", mark("Keep its files"), "Ctrl+Shift+P"),
    _runs("columns", mark("Columns …"), "Ctrl+Shift+K"),
    _watch("follow", mark("Follow the newest points"), "F"),
    _watch("note", mark("Write the note of the run"), "Ctrl+E"),
    _watch("stop", mark("Stop the run"), "Ctrl+."),
)
_BY_NAME: Final = {command.name: command for command in COMMANDS}

FIXED: Final = (
    *((keys, ANYWHERE) for keys in ("F1", "Alt+1", "Alt+2", "Alt+3", "Alt+4")),
    *((keys, ANYWHERE) for keys in ("Ctrl+C", "Ctrl+V", "Ctrl+X", "Ctrl+A", "Alt+Down")),
    *((keys, ANYWHERE) for keys in ("Alt+F4", "Ctrl+Tab", "Ctrl+Shift+Tab")),
    *((keys, RUNS_PAGE) for keys in ("Ctrl+G", "Ctrl+Z", "Ctrl+Shift+Del")),
    *((keys, WATCH_PAGE) for keys in ("Ctrl+Z", "Ctrl+Shift+Left", "Ctrl+Shift+Right")),
    *((keys, WATCH_PAGE) for keys in ("Ctrl+Shift+Up", "Ctrl+Shift+Down")),
    *((keys, OTHER_PAGE) for keys in ("Ctrl+Return", "Ctrl+Enter", "Ctrl+Z", "Ctrl+Shift+Z")),
    *((keys, OTHER_PAGE) for keys in ("Ctrl+Y", "Ctrl+L", "Ctrl+E", "Ctrl+Shift+C")),
)
"""Keys of commands that stay, with the page."""


def default_of(name: str) -> str:
    """The keys of a command at first."""
    return _BY_NAME[name].keys


def title_of(name: str) -> str:
    """The words for a command."""
    return tr_mark(_BY_NAME[name].title)


def refusal(name: str, keys: str, chosen: Mapping[str, str]) -> str:
    """Why a command may not have these keys; empty: it may.

    Args:
        name: of the command.
        keys: as Qt writes them.
        chosen: keys of the other commands that do not have theirs of the beginning, by name.
    """
    command = _BY_NAME[name]
    if keys == command.keys and not _holder(command, keys, chosen):
        return ""
    if not _CHANGEABLE.match(keys):
        return tr("Choose keys with Ctrl or Alt, or F2 to F12: others are typed in fields.")
    if holder := _holder(command, keys, chosen):
        return tr(
            "{keys} is taken by {command} ({page}). Choose other keys, or change those first.",
            keys=keys,
            command=tr_mark(holder.title),
            page=tr_mark(PAGE_WORDS[holder.page]),
        )
    for taken, page in FIXED:
        if taken == keys and _meet(page, command.page):
            return tr(
                "{keys} has a meaning that stays ({page}). Choose other keys.",
                keys=keys,
                page=tr_mark(PAGE_WORDS[page]),
            )
    return ""


def resolved(chosen: Mapping[str, str]) -> dict[str, str]:
    """What can hold of keys that were read from a file: a wrong one, or one that is taken, is left out."""
    held = {
        command.name: chosen[command.name]
        for command in COMMANDS
        if chosen.get(command.name, command.keys) != command.keys
    }
    # A choice may take keys that another choice has left. One that is dropped takes back its own, so look again.
    while wrong := next((name for name in reversed(held) if refusal(name, held[name], held)), None):
        del held[wrong]
    return held


def _holder(command: KeyedCommand, keys: str, chosen: Mapping[str, str]) -> KeyedCommand | None:
    others = (one for one in COMMANDS if one is not command and _meet(one.page, command.page))
    return next((one for one in others if chosen.get(one.name, one.keys) == keys), None)


def _meet(one: str, other: str) -> bool:
    return one == other or ANYWHERE in (one, other)
