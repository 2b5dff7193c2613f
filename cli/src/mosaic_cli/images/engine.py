"""The container engine, through its own command line: what it has, and builds that show how they go."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from mosaic_cli.errors import EngineMissing, ImageBuildFailed
from mosaic_contracts import VERSION

ASK_TIMEOUT_S = 60.0
_STDERR = 2


def compose_config(root: Path) -> dict[str, Any]:
    """`compose.yaml` of the checkout as Compose reads it, worker images included. Needs no running engine.

    Raises:
        EngineMissing: there is no Docker with Compose.
    """
    said = _ask(root, "compose", "--profile", "build", "config", "--format", "json")
    found: dict[str, Any] = json.loads(said)
    return found


def inspect_images(root: Path, names: list[str]) -> dict[str, dict[str, Any]]:
    """What the engine knows of those images that it has, by the name that was asked for.

    Raises:
        EngineMissing: the engine does not answer.
    """
    _ask(root, "version", "--format", "{{.Server.Version}}")
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        done = docker(root, "image", "inspect", name)
        if done.returncode == 0:
            found[name] = json.loads(done.stdout)[0]
    return found


def run_docker(root: Path, *words: str) -> int:
    """The exit code of `docker ...`, whose progress goes to stderr.

    Raises:
        EngineMissing: there is no Docker.
    """
    try:
        done = subprocess.run(["docker", *words], cwd=root, stdout=_STDERR, check=False)
    except OSError as error:
        raise EngineMissing(_no_docker(str(error))) from error
    return done.returncode


def pull_image(root: Path, name: str) -> str | None:
    """Pull an image; its progress goes to stderr. Return why it could not be pulled.

    Raises:
        EngineMissing: there is no Docker.
    """
    try:
        done = subprocess.run(
            ["docker", "pull", name],
            cwd=root,
            stdout=_STDERR,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    except OSError as error:
        raise EngineMissing(_no_docker(str(error))) from error
    if done.returncode == 0:
        return None
    said = done.stderr.strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


def build_image(
    root: Path, config: dict[str, Any], service: str, lock_digest: str, labels: dict[str, str]
) -> None:
    """Build one image of `config` (`compose_config`) with more labels; its progress goes to stderr.

    Raises:
        EngineMissing: there is no Docker.
        ImageBuildFailed: the build says why, above.
    """
    build = config["services"][service]["build"]
    labelled = {**build, "labels": {**(build.get("labels") or {}), **labels}}
    # The whole project: a service refers to networks and volumes.
    services = {**config["services"], service: {**config["services"][service], "build": labelled}}
    argv = ["docker", "compose", "--project-directory", str(root), "-f", "-"]
    argv += ["--profile", "build", "build", "--build-arg", f"LOCK_DIGEST={lock_digest}", service]
    try:
        done = subprocess.run(
            argv,
            cwd=root,
            env=_environ(),
            input=json.dumps({**config, "services": services}).encode(),
            stdout=_STDERR,
            check=False,
        )
    except OSError as error:
        raise EngineMissing(_no_docker(str(error))) from error
    if done.returncode != 0:
        raise ImageBuildFailed(
            f"The image of {service} could not be built (exit code {done.returncode}); the "
            "output of the build is above."
        )


def _ask(root: Path, *words: str) -> str:
    done = docker(root, *words)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        raise EngineMissing(_no_docker(said[-1] if said else f"exit code {done.returncode}"))
    return done.stdout


def docker(root: Path, *words: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
    """What `docker ...` answers, in the checkout's folder.

    Raises:
        EngineMissing: there is no Docker, or it does not answer.
    """
    try:
        return subprocess.run(
            ["docker", *words],
            cwd=root,
            env=_environ(),
            input=given,
            capture_output=True,
            text=True,
            timeout=ASK_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EngineMissing(_no_docker(str(error))) from error


def _environ() -> dict[str, str]:
    return {"MOSAIC_VERSION": VERSION, **os.environ}


def _no_docker(why: str) -> str:
    return (
        f"The container engine does not answer: {why}. The stack in containers needs Docker 26 with Compose "
        "(docs/containers.md); if it is installed, start it (`sudo systemctl start docker`). The embedded stack, "
        "`./mosaic up`, needs neither."
    )
