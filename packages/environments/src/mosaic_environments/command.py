"""The part of the command line that comes before any environment: which ones a verb needs, `sync` and `gui`."""

import os
import sys
from collections.abc import Iterable

from mosaic_environments import stamp
from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Component, Tree

STACK = ("broker", "scheduler", "recorder", "gateway", "worker_cleanrl")
"""What a stack on this machine consists of, next to the command line that starts it."""
_STARTS_A_STACK = ("demo", "up", "retry", "resume", "clone", "run")
_ASKS_A_WORKER = ("run", "describe", "check", "preflight")
_READS_A_SWEEP: tuple[list[str], ...] = ([], ["show"], ["best"], ["stop"], ["export"], ["list"])
_SCRIPTS = (".py", ".ipynb")
"""Endings of a script of the user's own, which is named in the place of a worker."""
_ENCODES = ("--mp4", "--gif", "--minari")
"""Options of `export` that need the exporter."""
_ANALYSES = ("compare", "reproduce")
_OPENS_A_WINDOW = ("watch", "replay")
_WITHOUT_A_WINDOW = ("--verify", "--json", "--detach", "-d")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
SYNC_USAGE = (
    "sync [--dev] [COMPONENT|FOLDER...] | sync [--dev] COMPONENT --bundle NAME   make environments"
)
GUI_OPTIONS = "--url --token-file --ca-file --run --watch --env --replay --play --screenshot --size --theme --help"


def check_path(what: str, path: str) -> None:
    """Refuse a path that programs of the stack cannot name: they keep paths in files that are lines of UTF-8.

    Raises:
        EnvironmentProblem: it has a line break, or is not UTF-8.
    """
    if "\n" in path or "\r" in path:
        raise EnvironmentProblem(
            f"{what} has a line break in its path, which MOSAIC cannot handle: {path!r}"
        )
    try:
        os.fsencode(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise EnvironmentProblem(
            f"{what} has a path that is not UTF-8, which MOSAIC cannot handle: {os.fsencode(path)!r}. "
            "Rename it, or name another folder."
        ) from error


def needed(tree: Tree, words: list[str], environ: dict[str, str]) -> list[str]:
    """Names of the components whose environments the command line `words` needs."""
    own = ["cli"] if tree.is_checkout else []
    if not words or any(word in ("--help", "-h") for word in words):
        return own  # help needs no stack
    own += _shown_with(words, environ)
    if environ.get("MOSAIC_URL") or any(
        word == "--url" or word.startswith("--url=") for word in words
    ):
        return own  # a stack elsewhere has environments of its own
    verb = words[0]
    if verb in _STARTS_A_STACK or words[:2] == ["xmpp", "up"]:
        own += STACK
    if verb == "play" and _played_environment(words):
        own += [*STACK, "worker_play"]
    if _acts_randomly(words):
        own += ["worker_play"]
    if verb == "sweep" and words[1:2] not in _READS_A_SWEEP:
        own += ["worker_sweep"]
    if verb in _ASKS_A_WORKER:
        own += _worker_named(tree, words[1:])
    return own


def sync(
    tree: Tree, names: Iterable[str], *, dev: bool = False, bundles: Iterable[str] = ()
) -> None:
    """Make the environments of these components where they are missing or out of date; else take some milliseconds.

    Raises:
        EnvironmentProblem: there is no such component, or an environment cannot be made.
    """
    components = [_find(tree, name) for name in dict.fromkeys(names)]
    missing = [
        c
        for c in components
        if not (c.lock_is_current and stamp.is_current(tree, c, dev=dev, bundles=bundles))
    ]
    if missing:
        from mosaic_environments.syncing import sync_missing

        sync_missing(tree, missing, dev=dev, bundles=bundles)


def _find(tree: Tree, name: str) -> Component:
    if "/" not in name and name not in (".", ".."):
        return tree.find(name)
    # Imported for a path only: every verb looks whether its environments are there.
    from mosaic_environments.worker_folder import find_component

    return find_component(tree, name)


def sync_verb(tree: Tree, words: list[str]) -> None:
    """Run `sync [--dev] [COMPONENT...] | sync [--dev] COMPONENT --bundle NAME`.

    Raises:
        EnvironmentProblem: as `sync`, or the words are not as said.
    """
    dev, names, bundles = False, list[str](), list[str]()
    rest = iter(words)
    for word in rest:
        if word == "--dev":
            dev = True
        elif word == "--bundle":
            name = next(rest, None)
            if name is None:
                raise EnvironmentProblem(
                    f"--bundle needs a name, e.g. {tree.command} sync worker_cleanrl --bundle mujoco"
                )
            bundles.append(name)
        else:
            names.append(word)
    if bundles:
        _sync_bundles(tree, names, bundles, dev=dev)
    else:
        sync(tree, names or tree.names(), dev=dev)


def run_gui(tree: Tree, words: list[str], environ: dict[str, str]) -> None:
    """Replace this program by the desktop client, in its environment.

    Args:
        words: the client's options.
        environ: as `stack_environment` gives it.

    Raises:
        EnvironmentProblem: the environment cannot be made.
    """
    sync(tree, ["gui"])
    python = tree.find("gui").python
    os.execve(python, [python, "-I", "-m", "mosaic_gui", *words], environ)


def stack_environment(
    tree: Tree, environ: dict[str, str], *, home: str, program: str
) -> dict[str, str]:
    """The environment of the command line and of the desktop client.

    Args:
        home: the data root where the user named none.
        program: path of the program that the user called.
    """
    return {
        **environ,
        "MOSAIC_ROOT": tree.root,
        "MOSAIC_VENVS": tree.venvs,
        "MOSAIC_HOME": environ.get("MOSAIC_HOME") or home,
        "MOSAIC_PROGRAM": program,
        # the window starts the command line's code by it
        "MOSAIC_COMMAND_LINE_PYTHON": tree.find("cli").python
        if tree.is_checkout
        else sys.executable,
    }


def _shown_with(words: list[str], environ: dict[str, str]) -> list[str]:
    """Components that show or encode episodes, of whichever stack: those that this verb with these options uses."""
    verb, options = words[0], {word.partition("=")[0] for word in words}
    if verb == "export" and not options.isdisjoint(_ENCODES):
        return ["exporter"]
    if verb in _ANALYSES:
        return ["analysis"]
    has_display = sys.platform != "linux" or any(environ.get(name) for name in _DISPLAYS)
    opens = verb in _OPENS_A_WINDOW or (verb == "play" and _played_environment(words) is not None)
    if opens and has_display and options.isdisjoint(_WITHOUT_A_WINDOW):
        return ["gui"]
    return []


def _acts_randomly(words: list[str]) -> bool:
    """Whether a verb lets random actions play; of a comparison file that is not known, so it may."""
    if words[0] == "compare":
        return any(word == "random" or word.endswith((".yaml", ".yml", ".json")) for word in words)
    return words[0] == "evaluate" and "--random" in words


def _played_environment(words: list[str]) -> str | None:
    """The environment that `play` names, which a person plays; empty: it names nothing; None: it names a run."""
    first = words[1] if len(words) > 1 else ""
    if not first:
        return ""
    version = first.rpartition("-v")[2]
    return first if version.isdigit() and not first.startswith("-") else None


def _worker_named(tree: Tree, words: list[str]) -> list[str]:
    """The component of the worker that the first word names by its id or alias.

    Not everybody uses every worker, so the environment of one is made when it is named.
    """
    first = next((word for word in words if not word.startswith("-")), "")
    if first.endswith(_SCRIPTS):
        return ["worker_script"]
    found = tree.worker_component(first) if first.replace("-", "_").isidentifier() else None
    return [found] if found is not None else []


def _sync_bundles(tree: Tree, names: list[str], bundles: list[str], *, dev: bool) -> None:
    if len(names) != 1:
        raise EnvironmentProblem(
            f"--bundle goes with one component, e.g. {tree.command} sync worker_cleanrl --bundle mujoco"
        )
    component = tree.find(names[0])
    known = component.bundles()
    for name in bundles:
        if name not in known:
            raise EnvironmentProblem(
                f"{component.name} has no bundle '{name}'. It has: {', '.join(known) or 'none'}"
            )
    sync(tree, names, dev=dev, bundles=bundles)
    from mosaic_environments.syncing import remember_bundles

    remember_bundles(component, bundles)
