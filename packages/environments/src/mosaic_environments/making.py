"""Making one environment from a component's locks."""

import glob
import os
import shutil
import subprocess
from collections.abc import Iterable
from typing import IO

from mosaic_environments import stamp
from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.installer import Installer, wheel_folders
from mosaic_environments.tree import Component, Tree

_LINKS_IN_ASCII = """
import sys
from pathlib import Path

for link in Path(sys.executable).parent.parent.glob("lib/python*/site-packages/*.pth"):
    text = link.read_text("utf-8")
    if text.isascii():
        continue
    lines = [
        x if x.isascii() else f"import sys; sys.path.append({ascii(x)})" for x in text.splitlines()
    ]
    link.unlink()  # it may be a hard link to a file of uv's cache
    link.write_text("".join(f"{x}\\n" for x in lines), "ascii")
"""
"""Python 3.11 reads .pth files in the encoding of the locale, so under LC_ALL=C a link into a folder with any other
letter would keep it from starting. A line that begins with "import" is run as code, which may spell that letter."""
_BOOTSTRAP = "bootstrap"
"""NAME.nodeps of uv itself, which is no part of any environment."""


class Maker:
    """Makes the environment of one component."""

    def __init__(
        self, tree: Tree, installer: Installer, component: Component, log: IO[bytes]
    ) -> None:
        """`log` gets what uv and Python say."""
        self._tree = tree
        self._installer = installer
        self._component = component
        self._log = log
        # A verb starts often and ends soon, and a second user of the checkout could not keep what Python compiles.
        self._compiles = component.name == "cli" or "UV_COMPILE_BYTECODE" in installer.environ

    def make(self, *, dev: bool, bundles: Iterable[str]) -> None:
        """Make the environment, or what it lacks.

        Args:
            dev: with what its tests need.
            bundles: optional dependency sets, on top.

        Raises:
            subprocess.CalledProcessError: an installation failed.
            EnvironmentProblem: the wrong build of torch came.
        """
        component = self._component
        run = stamp.digest(self._tree, component, "run")
        # test packages that are out of date would hide what the project file no longer names
        has_dev = os.path.exists(stamp.stamp_path(component, "dev"))
        if has_dev or not stamp.has_stamp(component, "run", run):
            if os.path.lexists(component.environment):
                shutil.rmtree(component.environment)
            self._install_run()
            _write_stamp(component, "run", run)
        if dev and component.has("requirements.dev.lock"):
            self._install_locked("requirements.dev.lock")
            _write_stamp(component, "dev", stamp.digest(self._tree, component, "dev"))
        for name in bundles:
            kind = f"bundle-{name}"
            wanted = stamp.digest(self._tree, component, kind)
            if not stamp.has_stamp(component, kind, wanted):
                self._install_locked(f"{kind}.lock")
                _write_stamp(component, kind, wanted)

    def _install_run(self) -> None:
        component, python = self._component, self._installer.python
        self._uv("venv", "--no-project", "--python", python, component.environment)
        self._install_locked("requirements.lock")
        if component.has("torch.txt"):
            self._install("-c", self._file("requirements.lock"), "-r", self._file("torch.txt"))
            _refuse_cuda(component, wheel_folders(self._installer.environ))
        for lock in component.locks():
            source = lock.removesuffix(".lock")
            if component.has(f"{source}.nodeps") and source != _BOOTSTRAP:
                self._install("--require-hashes", "--no-deps", "-r", self._file(lock))
        self._install_own()

    def _install_own(self) -> None:
        packages = self._component.packages()
        if not packages:
            return
        # relative, for uv reads a whole path as an address, in which # and % mean something else
        paths = [f"./{os.path.relpath(folder, self._tree.root)}" for folder in packages]
        if not self._tree.is_checkout:
            self._install("--no-deps", *paths)
            return
        self._install("--no-deps", *(word for path in paths for word in ("-e", path)))
        if not self._tree.root.isascii():
            self._run_python("-S", "-c", _LINKS_IN_ASCII)
        if self._compiles:
            # uv compiles what it installs, and our own packages are links
            sources = [os.path.join(folder, "src") for folder in packages]
            self._run_python("-m", "compileall", "-q", *sources)

    def _install_locked(self, lock: str) -> None:
        arguments = ["--require-hashes", "-r", self._file(lock)]
        # torch has no hash in any lock; what depends on it must not ask for one
        if self._component.has("torch.exclude"):
            arguments += ["--excludes", self._file("torch.exclude")]
        self._install(*arguments)

    def _install(self, *arguments: str) -> None:
        self._uv("pip", "install", "--python", self._component.python, *arguments)

    def _uv(self, *arguments: str) -> None:
        more = {"UV_COMPILE_BYTECODE": "1"} if self._compiles else {}
        self._installer.run(*arguments, log=self._log, **more)

    def _run_python(self, *arguments: str) -> None:
        subprocess.run(
            [self._component.python, "-I", *arguments],
            env=self._installer.environ,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=self._installer.locks,
            check=True,
        )

    def _file(self, name: str) -> str:
        return os.path.join(self._component.folder, name)


def _write_stamp(component: Component, kind: str, digest: str) -> None:
    with open(stamp.stamp_path(component, kind), "w", encoding="ascii") as file:
        file.write(f"{digest}\n")


def _refuse_cuda(component: Component, folders: list[str]) -> None:
    """A folder that offers a CPU build was named: 3 GB of CUDA in the environment mean that the folder was not read."""
    nvidia = f"{glob.escape(component.environment)}/lib/python3.11/site-packages/nvidia*"
    for folder in folders:
        if glob.glob(f"{glob.escape(folder)}/torch-*+cpu-*.whl") and glob.glob(nvidia):
            raise EnvironmentProblem(
                f"the wheel folder {folder} holds a CPU build of torch, yet CUDA packages were installed"
            )
