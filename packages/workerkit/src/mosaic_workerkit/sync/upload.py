"""Sends W&B folders by `wandb sync`, in a process of its own."""

import os
import re
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from mosaic_contracts.sync_source import SyncSource
from mosaic_workerkit.errors import RunRefused

_PAGE = re.compile(r"View run .* at (https?://\S+)")
_PREFIX = re.compile(r"^wandb:\s*(?:\[[^\]]*\]\s*)?")
_ERROR = re.compile(r"\bERROR\b|\b[Ff]ailed\b|Not authenticated")
_LAST_ERRORS = 4
_STOP_S = 5.0
RETRIES = {
    "WANDB_X_GRAPHQL_RETRY_MAX": "6",
    "WANDB_X_GRAPHQL_RETRY_WAIT_MAX_SECONDS": "20",
    "WANDB_X_FILE_STREAM_RETRY_MAX": "8",
    "WANDB_X_FILE_STREAM_RETRY_WAIT_MAX_SECONDS": "20",
    "WANDB_X_FILE_TRANSFER_RETRY_MAX": "8",
    "WANDB_X_FILE_TRANSFER_RETRY_WAIT_MAX_SECONDS": "20",
}
"""wandb's own defaults try for hours. A sync can be started again, so that it reports an outage after some minutes."""


def private_variables(folder: Path) -> dict[str, str]:
    """Return variables that keep wandb's files in a folder, and send no error reports to its makers."""
    return {
        "WANDB_DIR": str(folder),
        "WANDB_DATA_DIR": str(folder / "data"),
        "WANDB_CACHE_DIR": str(folder / "cache"),
        "WANDB_CONFIG_DIR": str(folder / "config"),
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_CONSOLE": "off",
        "NETRC": os.devnull,
    }


def netrc_for(address: str, key: str) -> str:
    """Return the content of a netrc file with the key for a server."""
    return f"machine {urlsplit(address).netloc}\n  login user\n  password {key}\n"


def upload(
    source: SyncSource,
    folders: Sequence[Path],
    netrc: Path,
    is_stopped: Callable[[], bool],
    report: Callable[[str], None],
) -> str | None:
    """Send W&B folders and wait until they are sent.

    Args:
        source: where to.
        folders: each with one `.wandb` file.
        netrc: file that names the key, as `netrc_for` writes it: no variable of a process has it.
        is_stopped: whether the sync is to end.
        report: called with what wandb says of its progress.

    Returns:
        Address of the run's page; None: wandb named none.

    Raises:
        RunRefused: it was not sent completely; the message has wandb's last errors.
    """
    options = []
    if source.project is not None:
        options += ["--project", source.project]
    if source.entity is not None:
        options += ["--entity", source.entity]
    argv = [sys.executable, "-m", "wandb", "sync", "--include-online", "--include-synced"]
    process = subprocess.Popen(
        [*argv, *options, "--", *map(str, folders)],
        env={**os.environ, **RETRIES, "NETRC": str(netrc), "WANDB_BASE_URL": source.address},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    said = _Output(process, report)
    said.start()
    while process.poll() is None:
        said.join(0.5)
        if is_stopped():
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
            break
    process.wait()
    said.join()
    missing = [folder for folder in folders if not any(folder.glob("*.wandb.synced"))]
    if missing and not is_stopped():
        why = " ".join(said.errors) or f"`wandb sync` ended with exit code {process.returncode}."
        raise RunRefused(
            f"{len(missing)} of {len(folders)} W&B folders were not sent completely. {why} "
            "What was sent is kept at W&B; `./mosaic wandb sync` goes on without sending anything twice."
        )
    return said.page


class _Output(threading.Thread):
    """Reads what `wandb sync` prints."""

    def __init__(self, process: "subprocess.Popen[str]", report: Callable[[str], None]) -> None:
        super().__init__(name="wandb output", daemon=True)
        self._process = process
        self._report = report
        self.page: str | None = None
        self.errors: deque[str] = deque(maxlen=_LAST_ERRORS)

    def run(self) -> None:
        """Read until the end."""
        for line in self._process.stdout or ():
            print(line, end="", file=sys.stderr, flush=True)  # noqa: T201 - the worker's log
            words = _PREFIX.sub("", line.strip())
            if not words:
                continue
            if found := _PAGE.search(words):
                self.page = found[1]
            if _ERROR.search(words):
                self.errors.append(words)
            self._report(words)
