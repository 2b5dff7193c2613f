"""What code a run had: the script, the commit and the changes since, and the packages of its environment."""

import hashlib
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

import msgspec

from mosaic_worker_script.command import ScriptCommand
from mosaic_worker_script.credentials import CredentialMask
from mosaic_workerkit.git_state import git_changes, git_state, untracked_files
from mosaic_workerkit.telemetry import Telemetry

FOLDER = "source"
"""Folder in the run's folder."""
CHANGES, PACKAGES = f"{FOLDER}/changes.diff", f"{FOLDER}/requirements.txt"
KIND = "source"
"""Kind of these files as artifacts."""
MAX_BYTES = 2**20
"""Limit for each of the files."""
MAX_PACKAGES = 2000
CUT = "\n# MOSAIC: cut here; the rest is not recorded.\n"


class RecordedCode:
    """Writes what code a run has into its folder, and names it in the config.

    Args:
        config: of the run. It gets `git` (commit, whether there are changes, their digest), `script_file`, and, when it
            is known which environment the script has, `interpreter` and `installed`.

    Raises:
        OSError: a file cannot be written.
    """

    def __init__(self, run_dir: Path, command: ScriptCommand, config: dict[str, Any]) -> None:
        self._run_dir = run_dir
        self._config = config
        self._mask = CredentialMask()
        self._files: list[str] = []
        self._search_path: list[str] = []
        script = command.directory / command.script
        has_file = script.is_file() and script.suffix in (".py", ".ipynb")
        if has_file:
            text = script.read_bytes()
            digest = hashlib.sha256(text).hexdigest()
            config["script_file"] = {"path": f"{FOLDER}/{script.name}", "sha256": digest}
            self._write(f"{FOLDER}/{script.name}", text)
        self._record_git(script.resolve().parent if has_file else command.directory)

    def take_environment(self, interpreter: str, search_path: list[str]) -> None:
        """Write the packages of the script's environment, as pip reads them.

        Args:
            interpreter: path of the Python of a process of the script.
            search_path: where it looks for modules.

        Raises:
            OSError: the file cannot be written.
        """
        if search_path == self._search_path:
            return
        self._search_path = search_path
        found: dict[str, tuple[str, Distribution]] = {}
        for distribution in distributions(path=search_path):
            head = _head(distribution)
            name, version = head["Name"], head["Version"]
            if name and version and len(found) < MAX_PACKAGES:
                found.setdefault(name.lower().replace("_", "-"), (version, distribution))
        known = dict(sorted(found.items()))
        self._config["interpreter"] = interpreter
        self._config["installed"] = {name: version for name, (version, _) in known.items()}
        lines = [f"{_requirement(name, *of_it)}\n" for name, of_it in known.items()]
        self._write(PACKAGES, "".join(lines).encode())

    def announce(self, telemetry: Telemetry) -> None:
        """Announce the files, once. The config must be recorded."""
        for path in self._files:
            if (self._run_dir / path).is_file():
                telemetry.artifact(path, KIND)
        self._files = []

    def _record_git(self, folder: Path) -> None:
        state = git_state(folder)
        git = state.get("git")
        if git is None:
            return
        untracked = untracked_files(folder, "*.py")
        if untracked:
            git["untracked"] = untracked
        changes = git_changes(folder) if git["dirty"] else b""
        if changes:
            git["changes"] = hashlib.sha256(changes).hexdigest()
            self._write(CHANGES, changes)
        self._config.update(state)

    def _write(self, path: str, data: bytes) -> None:
        target = self._run_dir / path
        target.parent.mkdir(exist_ok=True)
        text = self._mask.in_text(data[:MAX_BYTES].decode(errors="replace"))
        target.write_text(text + (CUT if len(data) > MAX_BYTES else ""), "utf-8")
        if path not in self._files:
            self._files.append(path)


def _head(distribution: Distribution) -> Message:
    """The metadata without the description, whose parsing would take most of the time."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    return HeaderParser().parsestr(text.partition("\n\n")[0])


def _requirement(name: str, version: str, distribution: Distribution) -> str:
    """`name==version`, or where it was installed from."""
    text = distribution.read_text("direct_url.json")
    try:
        origin = msgspec.json.decode(text or "{}")
        url, vcs = origin.get("url"), origin.get("vcs_info", {})
        commit = f"@{vcs['commit_id']}" if vcs else ""
        kind = f"{vcs['vcs']}+" if vcs else ""
        is_editable = bool(origin.get("dir_info", {}).get("editable"))
    except (msgspec.DecodeError, AttributeError, KeyError):
        url = None
    if not isinstance(url, str):
        return f"{name}=={version}"
    return f"-e {url}" if is_editable else f"{name} @ {kind}{url}{commit}"
