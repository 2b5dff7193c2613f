"""A worker of a user's own in the stack of containers: its image, and its manifest on the stack's volume."""

import json
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from mosaic_cli.errors import ImageBuildFailed, ValueRefused
from mosaic_cli.images.engine import docker, run_docker
from mosaic_contracts import VERSION

HERE = "{here}"
PLACE = "/opt/worker"
"""What `{here}` means in its image."""
MANIFEST = "worker.toml"
_DOCKERFILE = f"""\
FROM localhost/mosaic/workerkit:{VERSION}
COPY . {PLACE}/
RUN if [ -f {PLACE}/requirements.txt ]; then pip install --no-cache-dir --root-user-action=ignore \\
      -r {PLACE}/requirements.txt; fi
"""
"""For a folder that has none of its own."""
_IGNORED = ".git\n.venv\n**/__pycache__\n"
_KEPT = ("id", "title", "aliases", "command", "lane", "device", "bundles", "hint")
"""Entries kept from a manifest. `room` is left out: it names an environment of the machine. `image` is set anyway."""
_WRITE = 'umask 077; mkdir -p workers.d; cat > "workers.d/.$1.new" && mv "workers.d/.$1.new" "workers.d/$1.toml"'
_REMOVE = 'rm "workers.d/$1.toml"'


def read_manifest(folder: Path) -> dict[str, Any]:
    """A worker's manifest. Raises ValueRefused: there is none, or it cannot be one."""
    from pydantic import ValidationError

    from mosaic_contracts.fault import fault_place, fault_text
    from mosaic_contracts.worker import WorkerManifest

    path = folder / MANIFEST
    try:
        given = tomllib.loads(path.read_text("utf-8"))
        WorkerManifest.model_validate(given)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueRefused(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        said = " ".join(f"{fault_place(e)}: {fault_text(e)}." for e in error.errors())
        raise ValueRefused(f"{path} is no manifest of a worker. {said}") from error
    if given["command"][0].startswith(HERE):
        raise ValueRefused(
            f"{path}: its command begins with {given['command'][0]!r}, a program of this machine's folder. Name the "
            "image's own interpreter, {python}."
        )
    return given


def manifest_in_image(given: dict[str, Any], image: str) -> str:
    """The manifest as the stack in containers reads it."""
    entries = {name: given[name] for name in _KEPT if name in given}
    entries["command"] = [part.replace(HERE, PLACE) for part in given["command"]]
    entries["image"] = image
    # JSON's texts and lists of texts are TOML's.
    return "".join(f"{name} = {json.dumps(value)}\n" for name, value in entries.items())


def build_own(root: Path, folder: Path, image: str) -> None:
    """Build its image, from its own Dockerfile or from one that copies the folder. Raises ImageBuildFailed."""
    with tempfile.TemporaryDirectory() as made:
        dockerfile = folder / "Dockerfile"
        if not dockerfile.exists():
            dockerfile = Path(made) / "Dockerfile"
            dockerfile.write_text(_DOCKERFILE)
            dockerfile.with_name("Dockerfile.dockerignore").write_text(_IGNORED)
        code = run_docker(root, "build", "-t", image, "-f", str(dockerfile), str(folder))
    if code != 0:
        raise ImageBuildFailed(f"{image} could not be built; the output of the build is above.")
    probe = ("python", "-I", "-c", "import mosaic_workerkit.runner")
    argv = (
        "run",
        "--rm",
        "--pull",
        "never",
        "--network",
        "none",
        "--entrypoint",
        "",
        image,
        *probe,
    )
    done = docker(root, *argv)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise ImageBuildFailed(
            f"{image} lacks mosaic_workerkit, which starts and records its runs: begin its Dockerfile with "
            f"FROM localhost/mosaic/workerkit:{VERSION}. It said: {said[-1] if said else 'nothing'}"
        )


def register(root: Path, name: str, manifest: str) -> None:
    """Put a manifest onto the volume of the stack that is up. Raises ValueRefused: none is."""
    _in_scheduler(root, _WRITE, name, manifest)


def forget(root: Path, name: str) -> None:
    """Take a manifest away. Raises ValueRefused: there is none, or no stack is up."""
    _in_scheduler(root, _REMOVE, name, "")


def _in_scheduler(root: Path, script: str, name: str, given: str) -> None:
    argv = ("compose", "exec", "-T", "scheduler", "sh", "-c", script, "sh", name)
    done: subprocess.CompletedProcess[str] = docker(root, *argv, given=given)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise ValueRefused(
            "The stack in containers did not accept the worker: "
            f"{said[-1] if said else 'no reason given'}. The stack must be up: `docker "
            "compose up -d --wait`."
        )
