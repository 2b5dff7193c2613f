"""`./mosaic lock`: pins what the components depend on. Names, versions and hashes, never the address of a file."""

import difflib
import glob
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.installer import Installer
from mosaic_environments.tree import Component, Tree
from mosaic_environments.worker_folder import WorkerFolder, find_component

_WITH_CUDA = re.compile(r"(torch|triton|nvidia-[a-z0-9-]+|cuda-[a-z-]+)==")


def lock_verb(tree: Tree, words: list[str]) -> None:
    """Run `lock [--check] [COMPONENT|FOLDER...]`.

    Raises:
        EnvironmentProblem: there is no such component, uv refuses, or `--check` found a difference.
    """
    names = [word for word in words if word != "--check"] or [*tree.names(), *_examples(tree)]
    installer = Installer(tree, dict(os.environ))
    differ = False
    for component in [find_component(tree, name) for name in names]:
        if "--check" in words:
            differ |= not _is_locked(tree, installer, component)
        else:
            _lock_component(tree, installer, component, component.folder)
            print(f"locked {component.name}", flush=True)
    if differ:
        raise EnvironmentProblem(
            "locks differ from the project files; run ./mosaic lock COMPONENT and commit"
        )


def _examples(tree: Tree) -> list[str]:
    """Paths of the samples of workers that have environments of their own."""
    return sorted(str(path.parent) for path in Path(tree.root, "examples").glob("*/pyproject.toml"))


def _lock_component(tree: Tree, installer: Installer, component: Component, out: str) -> None:
    if isinstance(component, WorkerFolder):
        component.lock(installer, out)
    else:
        lock(tree, installer, component.folder, out)


def lock(tree: Tree, installer: Installer, folder: str, out: str) -> None:
    """Write all locks of the project in `folder` into the folder `out`.

    A lock that is in `out` is kept to as far as the project permits, so that it changes only where it must.
    """
    project, target = Path(folder), Path(out)
    compile_ = _Compiler(installer, folder)
    own = [f"--no-emit-package={name}" for name in own_distributions(tree)]
    # torch is a second step (torch.txt), so that one lock serves CPU and CUDA
    if (project / "torch.exclude").is_file():
        own.append("--excludes=torch.exclude")
    base = target / "requirements.lock"
    compile_("pyproject.toml", base, *own)
    text = (project / "pyproject.toml").read_text(encoding="utf-8")
    if "\ndev = [" in text:
        dev = target / "requirements.dev.lock"
        compile_("pyproject.toml", dev, "--group=dev", f"--constraints={base}", *own)
    # The CUDA build of torch with all that it brings, for images. What it shares with the component has one version.
    if (project / "torch.txt").is_file():
        cuda = target / "requirements.cuda.lock"
        compile_("torch.txt", cuda, f"--constraints={base}")
        cpu = _without_cuda(cuda.read_text(encoding="utf-8"))
        cpu += _without_comments((project / "torch.cpu.txt").read_text(encoding="utf-8"))
        (target / "requirements.cpu.lock").write_text(cpu, encoding="utf-8")
    # A bundle keeps to the versions of the component that it is put on top of.
    for name in Component(folder, "").bundles():
        compile_(f"--group=bundle-{name}", target / f"bundle-{name}.lock", f"--constraints={base}")
    # NAME.nodeps names a package whose own idea of its dependencies is not ours (cleanrl, bootstrap: uv itself).
    for source in sorted(project.glob("*.nodeps")):
        # uv takes a file of requirements by its ending
        copy = target / f"{source.stem}.lock.in"
        shutil.copyfile(source, copy)
        compile_(str(copy), target / f"{source.stem}.lock", "--no-deps", "--no-annotate")
        copy.unlink()


def own_distributions(tree: Tree) -> list[str]:
    """Names of our own distributions, which no lock holds."""
    names = []
    for component in tree.components():
        text = Path(component.folder, "pyproject.toml").read_text(encoding="utf-8")
        found = re.search(r'^name = "([^"]+)"$', text, re.MULTILINE)
        if found is not None:
            names.append(found[1])
    return names


class _Compiler:
    """`uv pip compile` in a project's folder, because uv reads a project's settings from there."""

    def __init__(self, installer: Installer, folder: str) -> None:
        self._installer = installer
        self._folder = folder
        # a wheel folder of this machine must not decide what is locked
        dropped = ("UV_FIND_LINKS", "UV_TORCH_BACKEND")
        self._environ = {k: v for k, v in installer.environ.items() if k not in dropped}

    def __call__(self, source: str, out: Path, *arguments: str) -> None:
        options = [
            "--quiet",
            "--universal",
            "--python-version=3.11",
            "--generate-hashes",
            "--no-header",
        ]
        options.append(f"--python={self._installer.python}")
        done = subprocess.run(
            [self._installer.uv, "pip", "compile", source, "-o", str(out), *arguments, *options],
            cwd=self._folder,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode != 0:
            raise EnvironmentProblem(f"uv could not lock {self._folder}; the reason stands above")


def _is_locked(tree: Tree, installer: Installer, component: Component) -> bool:
    """Whether locking again gives the committed locks; differences are printed."""
    same = True
    with tempfile.TemporaryDirectory() as again:
        for path in glob.glob(f"{glob.escape(component.folder)}/*.lock"):
            shutil.copy(path, again)
        _lock_component(tree, installer, component, again)
        for made in sorted(Path(again).glob("*.lock")):
            committed = Path(component.folder, made.name)
            name = os.path.relpath(committed, tree.root)
            difference = list(
                difflib.unified_diff(
                    _pins(committed),
                    _pins(made),
                    f"committed {name}",
                    "compiled again",
                    lineterm="",
                )
            )
            same = same and not difference
            if difference:
                print("\n".join(difference), flush=True)
    return same


def _pins(lock_file: Path) -> list[str]:
    if not lock_file.is_file():
        return []
    lines = lock_file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if re.match("[a-z0-9]", line)]


def _without_cuda(lock_text: str) -> str:
    """What torch needs without CUDA, as the lock with CUDA pins it."""
    keep, lines = False, []
    for line in lock_text.splitlines(keepends=True):
        if re.match("[a-z0-9]", line):
            keep = _WITH_CUDA.match(line) is None
        if keep:
            lines.append(line)
    return "".join(lines)


def _without_comments(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
