"""Programs that people put before a stack (haproxy, sshd), real ones: of this machine, else out of a small image."""

import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from containers.compose_stack import engine_answers
from stack_under_test import until

HERE = Path(__file__).resolve().parent
IMAGE = "mosaic-test/remote"
BUILD_S = 600


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


class Programs:
    """Starts the programs, with `folder` for their files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._has_image = False

    def argv(self, program: str, *args: str, **environ: str) -> list[str]:
        """The command line that starts a program; skips the test where it can be had in no way."""
        here = _found(program)
        if here is not None:
            return ["env", *(f"{k}={v}" for k, v in environ.items()), here, *args]
        if not engine_answers():
            pytest.skip(f"NOT TESTED: no {program} on this machine, and no engine to bring it")
        if not self._has_image:
            build = ["docker", "build", "-q", "-t", IMAGE, str(HERE)]
            subprocess.run(build, check=True, capture_output=True, timeout=BUILD_S)
            self._has_image = True
        # Host network: these are programs next to the gateway, on its loopback.
        argv = ["docker", "run", "--rm", "--init", "--network", "host"]
        argv += ["-v", f"{self.folder}:{self.folder}"]
        argv += [word for k, v in environ.items() for word in ("-e", f"{k}={v}")]
        # sshd starts itself again by its whole path.
        return [*argv, IMAGE, "/usr/sbin/sshd" if program == "sshd" else program, *args]

    @property
    def login(self) -> str:
        """The user who may log in at an `sshd` that this starts."""
        return getpass.getuser() if _found("sshd") else "root"

    @contextmanager
    def running(
        self, program: str, *args: str, port: int, host: str = "127.0.0.1", **environ: str
    ) -> Iterator[None]:
        """A program from the moment that it accepts connections on `port` to the end of the block."""
        log = self.folder / f"{program}.log"
        with log.open("ab") as out:
            process = subprocess.Popen(
                self.argv(program, *args, **environ),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
            )

        def accepts() -> bool:
            assert process.poll() is None, f"{program} ended: {log.read_text()}"
            with socket.socket() as probe:
                return probe.connect_ex((host, port)) == 0

        try:
            until(accepts, f"{program} accepts connections", 60)
            yield
        finally:
            process.terminate()
            process.wait(60)


def _found(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
