"""The compose stack under a project name, a port and a volume of its own, as a user starts it."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from stack_under_test import ROOT, until

from mosaic_base.locks import held_lock
from mosaic_client import Client, Location, StackUnavailable, StackUnreachable
from mosaic_contracts.machine import RunUse
from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunSpec

WORKER_IMAGE = "mosaic-test/synthetic"
WORKER_TOML = """
id = "{name}"
title = "Synthetic"
image = "{image}"
command = {command}
"""
SYNTHETIC = ("{python}", "-m", "mosaic_workerkit.testing.synthetic")
T = TypeVar("T")
BUILD_S, UP_S = 900, 400
BUILD_LOCK = ROOT / "var" / "cache" / "images.lock"
"""Two sessions of tests that run at once make the same images."""


def engine_answers() -> bool:
    """Whether there is a container engine with Compose."""
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "compose", "ls"], capture_output=True, check=False)
    return asked.returncode == 0


class ComposeStack:
    """One project."""

    def __init__(self, project: str) -> None:
        self.project = project
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.environ: dict[str, str] = {
            **os.environ,
            "COMPOSE_PROJECT_NAME": project,
            "MOSAIC_PORT": str(self.port),
        }
        self._token = ""
        self._built = set[str]()

    def compose(self, *args: str, within_s: float = UP_S, given: str | None = None) -> str:
        """`docker compose ...`; its output. Raises AssertionError with what it said."""
        done = subprocess.run(
            ["docker", "compose", *args],
            cwd=ROOT,
            env=self.environ,
            input=given,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        assert done.returncode == 0, f"compose {args}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def build(self) -> None:
        """All images of the services, and the synthetic worker's. A second build at the same time finds them made."""
        BUILD_LOCK.parent.mkdir(parents=True, exist_ok=True)
        with held_lock(BUILD_LOCK):
            self.compose("build", "-q", within_s=BUILD_S)
            dockerfile = ROOT / "services" / "scheduler" / "tests" / "image" / "Dockerfile"
            subprocess.run(
                ["docker", "build", "-q", "-t", WORKER_IMAGE, "-f", str(dockerfile), str(ROOT)],
                check=True,
                capture_output=True,
                timeout=BUILD_S,
            )

    def build_worker(self, name: str) -> None:
        """The image of a worker of ours, as its files are at the first call."""
        if name not in self._built:
            with held_lock(BUILD_LOCK):
                self.compose("--profile", "build", "build", "-q", name, within_s=BUILD_S)
            self._built.add(name)

    def up(self) -> None:
        """`up -d --wait`: green when it returns."""
        self.compose("up", "-d", "--wait")
        self.read_token()

    def read_token(self) -> None:
        """Read the gateway's token, as its user does."""
        self._token = self.compose("exec", "-T", "gateway", "cat", "secrets/gateway.token").strip()

    def add_worker(
        self, name: str, image: str = WORKER_IMAGE, command: Sequence[str] = SYNTHETIC
    ) -> None:
        """Register the synthetic worker under a name as a user does, on the volume."""
        write = f"mkdir -p workers.d && cat > workers.d/{name}.toml"
        manifest = WORKER_TOML.format(name=name, image=image, command=json.dumps(command))
        self.compose("exec", "-T", "scheduler", "sh", "-c", write, given=manifest)

    def destroy(self) -> None:
        """Everything of the project, its volume and its run containers."""
        # The services first: a scheduler would make containers that ship what a removed run left.
        self.compose("down", "--timeout", "5")
        for container in docker("ps", "-aq", "--filter", self._filter).split():
            docker("rm", "-f", container)
        self.compose("down", "-v", "--timeout", "5")

    def run_containers(self) -> list[str]:
        """Ids of containers of runs that live."""
        return docker("ps", "-q", "--filter", self._filter).split()

    @property
    def _filter(self) -> str:
        return f"label=mosaic.stack={self.project}_home"

    def container(self, service: str) -> str:
        """Id of a service's container."""
        return self.compose("ps", "-q", service).strip()

    def client(self) -> Client:
        """A client through the published port."""
        return Client(Location(url=f"http://127.0.0.1:{self.port}", token=self._token))

    def submit(self, **fields: object) -> RunView:
        """A run of the synthetic worker."""
        names = {
            "worker": "synthetic",
            "algorithm": "synthetic",
            "environment": "Synthetic-v0",
        }
        with self.client() as client:
            return client.submit(RunSpec.model_validate({**names, **fields}))

    def run(self, run_id: str) -> RunView | None:
        """The run, or None while the door is shut or nobody is behind it."""
        return self.ask(lambda client: client.run(run_id))

    def ask(self, question: Callable[[Client], T]) -> T | None:
        """The answer, or None while the door is shut or nobody is behind it."""
        try:
            with self.client() as client:
                return question(client)
        except (StackUnreachable, StackUnavailable):
            return None

    def wait_events(self, run_id: str, events: int) -> RunView:
        """Wait until so many are stored."""

        def has() -> RunView | None:
            view = self.run(run_id)
            stored = view.summary.events if view and view.summary else 0
            return view if stored >= events else None

        return until(has, f"{events} events of {run_id} are stored", 60)

    def wait_final(self, run_id: str) -> RunView:
        """Wait for the end with everything stored."""

        def final() -> RunView | None:
            view = self.run(run_id)
            return view if view and view.state.is_final and not view.telemetry_pending else None

        return until(final, f"{run_id} has ended", 90)

    def wait_use(self, run_id: str) -> RunUse:
        """Wait until the machine's newest look shows what a run uses."""

        def seen() -> RunUse | None:
            history = self.ask(lambda client: client.machine(last=1))
            uses = [use for sample in history.samples for use in sample.runs] if history else []
            return next((use for use in uses if use.run_id == run_id), None)

        return until(seen, f"the machine shows what {run_id} uses", 60)


def docker(*args: str) -> str:
    """`docker ...`; its output."""
    done = subprocess.run(["docker", *args], capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def image_of(container: str) -> str:
    """Digest of the image that a container runs."""
    return docker("inspect", "-f", "{{.Image}}", container).strip()


def project_name(folder: Path) -> str:
    """A name that no other test's stack has, of this session or of another one on this machine."""
    return f"mosaictest{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
