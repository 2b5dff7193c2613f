"""Bringing environments up to date, a few at once, with a line of progress each."""

import contextlib
import copy
import fcntl
import os
import pwd
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed

from mosaic_environments import stamp
from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.installer import Installer, say, wheel_folders
from mosaic_environments.making import Maker
from mosaic_environments.tree import Component, Tree
from mosaic_environments.worker_folder import WorkerFolder

_DOT_S = 2.0
_AT_ONCE = 2
"""Environments made at once: uv waits for the disk and for Python half of the time."""


def sync_missing(
    tree: Tree, components: list[Component], *, dev: bool, bundles: Iterable[str] = ()
) -> None:
    """Make the environments of `components`, which are missing or out of date.

    Raises:
        EnvironmentProblem: one cannot be made; what its programs said was printed.
    """
    _require_writable(tree, components)
    installer = Installer(tree, dict(os.environ))
    if len(components) == 1:
        say(f"[1/1] {components[0].name} ...{_size_note(components[0], installer.environ)}")
        with _dots():
            spent_s = _sync_one(tree, installer, components[0], dev=dev, bundles=bundles)
        say(f" {spent_s:.1f} s\n")
        return
    say(f"{len(components)} environments, {_AT_ONCE} at once\n")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        running: dict[Future[float], Component] = {}
        for component in sorted(components, key=_is_small):
            if note := _size_note(component, installer.environ):
                say(f"{component.name} ...{note}\n")
            own = copy.copy(installer)  # each holds its component's lock
            made = pool.submit(_sync_one, tree, own, component, dev=dev, bundles=bundles)
            running[made] = component
        try:
            for number, ended in enumerate(as_completed(running), 1):
                spent_s, name = ended.result(), running[ended].name
                say(f"[{number}/{len(components)}] {name} ... {spent_s:.1f} s\n")
        finally:
            pool.shutdown(cancel_futures=True)


def _sync_one(
    tree: Tree, installer: Installer, component: Component, *, dev: bool, bundles: Iterable[str]
) -> float:
    """Make one environment; returns the seconds that it took."""
    began = time.monotonic()
    with _locked(tree, component) as lock:
        installer.locks = (lock,)
        if isinstance(component, WorkerFolder) and not component.lock_is_current:
            component.lock(installer, component.folder)
        # another process may have made it in the meantime
        if not stamp.is_current(tree, component, dev=dev, bundles=bundles):
            _make(tree, installer, component, dev=dev, bundles=bundles)
    return time.monotonic() - began


def _is_small(component: Component) -> bool:
    """The order in which environments are begun: those with torch take longest."""
    return not component.has("torch.txt")


def remember_bundles(component: Component, bundles: Iterable[str]) -> None:
    """Keep `bundles` for the next time that the environment is made."""
    path = stamp.bundles_path(component)
    names = sorted(set(stamp.remembered_bundles(component, bundles)))
    with open(f"{path}.new", "w", encoding="ascii") as file:
        file.writelines(f"{name}\n" for name in names)
    os.replace(f"{path}.new", path)


def _make(
    tree: Tree, installer: Installer, component: Component, *, dev: bool, bundles: Iterable[str]
) -> None:
    path = os.path.join(tree.venvs, f".{component.name}.log")
    wanted = stamp.remembered_bundles(component, bundles)
    # emptied first: what an earlier attempt said is not the cause of this failure
    with open(path, "w+b") as log:
        try:
            Maker(tree, installer, component, log).make(dev=dev, bundles=wanted)
        except (subprocess.CalledProcessError, OSError, EnvironmentProblem) as error:
            log.seek(0)
            text = log.read().decode(errors="replace")
            cause = "" if isinstance(error, subprocess.CalledProcessError) else f"{error}\n"
            say(f" {component.name} failed\n{text}{cause}")
            raise EnvironmentProblem(
                f"could not make the environment of {component.name}; the reason stands above"
            ) from error


@contextlib.contextmanager
def _locked(tree: Tree, component: Component) -> Iterator[int]:
    """Keep other processes from making the same environment; gives the lock's descriptor."""
    path = os.path.join(tree.venvs, f".{component.name}.lock")
    with open(path, "w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f" another {tree.command} is making {component.name}, waiting ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock.fileno()


@contextlib.contextmanager
def _dots() -> Iterator[None]:
    """Print a dot every two seconds on a terminal: a slow line must not look like a hang."""
    ended = threading.Event()

    def print_dots() -> None:
        while not ended.wait(_DOT_S):
            say(".")

    thread = threading.Thread(target=print_dots, daemon=True)
    if sys.stderr is not None and sys.stderr.isatty():
        thread.start()
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def _size_note(component: Component, environ: dict[str, str]) -> str:
    is_large = component.has("torch.txt") and sys.platform == "linux"
    if is_large and not wheel_folders(environ) and "UV_TORCH_BACKEND" not in environ:
        return (
            " (with PyTorch for CUDA, about 3 GB; "
            "UV_TORCH_BACKEND=cpu before the command takes the small one) ..."
        )
    return ""


def _require_writable(tree: Tree, components: list[Component]) -> None:
    """Name the true cause where the environments cannot be made here, before anything is tried."""
    with contextlib.suppress(OSError):
        os.makedirs(tree.venvs, exist_ok=True)
    top = tree.venvs
    while not os.path.lexists(top):
        top = os.path.dirname(top)
    for component in components:
        files = (f".{component.name}.lock", f".{component.name}.log", component.name)
        for path in (top, *(os.path.join(tree.venvs, name) for name in files)):
            if os.path.exists(path) and not os.access(path, os.W_OK):
                raise _unwritable(tree, path, components)
    _require_writable_cache(tree)


def _require_writable_cache(tree: Tree) -> None:
    home = os.environ.get("HOME") or "/"
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
    cache = os.environ.get("UV_CACHE_DIR") or os.path.join(base, "uv")
    with contextlib.suppress(OSError):
        os.makedirs(cache, exist_ok=True)
    if not os.access(cache, os.W_OK):
        raise EnvironmentProblem(
            f"{cache} cannot be written, and uv keeps its downloads there.\n"
            f"  Name another folder: UV_CACHE_DIR=FOLDER {tree.command} ..."
        )


def _unwritable(tree: Tree, path: str, components: list[Component]) -> EnvironmentProblem:
    names = " ".join(component.name for component in components)
    me, owner = _user(os.geteuid()), _user(os.stat(path).st_uid)
    python = components[0].python
    remedy = ""
    if os.path.islink(python) and not os.access(python, os.X_OK):
        cause = f"{me} cannot run the Python of these environments, {os.readlink(python)}"
    else:
        cause = f"these environments are missing or out of date: {names}"
        remedy = f"let {owner} run `{tree.command} sync {names}`, or "
    return EnvironmentProblem(
        f"{cause}\n"
        f"mosaic: {me} cannot make them here: {path} belongs to {owner} and cannot be written.\n"
        f"  To go on, {remedy}have environments and data of your own:\n"
        "  export MOSAIC_VENVS=~/mosaic/venvs MOSAIC_HOME=~/mosaic/home"
    )


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
