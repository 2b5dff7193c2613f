"""The file of storage profiles, read again when it changes. While it is not valid, the last valid content counts."""

import os
import stat
import threading
from pathlib import Path

import ruamel.yaml
from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.storage import StorageProfile, StorageProfiles
from mosaic_contracts.storage_reports import StorageProfileList
from mosaic_contracts.storage_words import PROFILES_FILE
from mosaic_servicekit.logging import get_log

_MAX_BYTES = 64 * 2**10
"""Read in about a second; 20 profiles with many rules have fewer."""
_MAX_BRACKETS = 20
"""The parser takes seconds for thousands within each other; profiles need four."""
_Version = tuple[int, int, int] | None
"""Inode, size and time of the last change; None: there is no file."""


class ProfileFile:
    """`MOSAIC_HOME/storage_profiles.yaml`."""

    def __init__(self, home: Path) -> None:
        self.path = home / PROFILES_FILE
        self.problem = ""
        """Why the newest content is not in force, with what to do; empty: it is."""
        self._version: _Version = None
        self._content = StorageProfiles()
        self._is_read = False
        self._turn = threading.Lock()
        """Threads ask, too: none may get the rules of an older file, or put them in force."""

    def content(self) -> StorageProfiles:
        """Profiles as they are in force. Reads the file if it has changed; blocks for the time of one small file."""
        with self._turn:
            return self._newest()

    def _newest(self) -> StorageProfiles:
        try:
            version = _version(self.path)
            if version == self._version and self._is_read:
                return self._content
            self._version, self._is_read = version, True
            self._take(StorageProfiles() if version is None else _read(self.path))
        except (OSError, ValueError) as error:
            self._refuse(str(error))
        return self._content

    def report(self) -> StorageProfileList:
        """Profiles, and what is wrong with the file."""
        content = self.content()
        return StorageProfileList(
            path=str(self.path),
            exists=self._version is not None,
            problem=self.problem,
            content=content,
        )

    def findings(self) -> list[str]:
        """What is wrong with the file, with what to do; empty: nothing."""
        self.content()
        return [self.problem] if self.problem else []

    def find(self, name: str | None) -> tuple[str, StorageProfile]:
        """The profile of a run that names it, with its name; that of one that was deleted is the default one."""
        content = self.content()
        name = name if name in content.profiles else content.default
        return name, content.profiles[name]

    def _take(self, content: StorageProfiles) -> None:
        if self.problem:
            get_log().info("storage_profiles.valid_again", path=str(self.path))
        self._content, self.problem = content, ""

    def _refuse(self, why: str) -> None:
        problem = f"{self.path.name} is not in force: {why}. Correct it; until then the last valid content counts."
        if problem != self.problem:
            get_log().warning("storage_profiles.invalid", path=str(self.path), why=why)
        self.problem = problem


def _version(path: Path) -> _Version:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read(path: Path) -> StorageProfiles:
    """Read and validate the file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no such file, with what is wrong in words.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would wait for a writer
    with open(fd, "rb") as file:  # noqa: PTH123 - of the open file
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise ValueError("it is no ordinary file")
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise ValueError("it is no UTF-8 text") from error
    if _open_brackets(text) > _MAX_BRACKETS:
        raise ValueError(f"it has more than {_MAX_BRACKETS} brackets within each other")
    try:
        fields = ruamel.yaml.YAML(typ="safe", pure=True).load(text)
        return StorageProfiles.model_validate({} if fields is None else fields)
    except ruamel.yaml.error.MarkedYAMLError as error:
        mark = error.problem_mark
        where = "" if mark is None else f"line {mark.line + 1}: "
        raise ValueError(f"{where}{error.problem or 'no valid YAML'}") from error
    except (ruamel.yaml.error.YAMLError, RecursionError) as error:
        raise ValueError(f"it is no valid YAML ({type(error).__name__})") from error
    except ValidationError as error:
        raise ValueError(_faults(error)) from error
    except ValueError as error:
        raise ValueError("it has a number or a date that cannot be read") from error


def _open_brackets(text: str) -> int:
    """Largest number of brackets that are open at once."""
    most = now = 0
    for letter in text:
        if letter in "[{":
            now += 1
            most = max(most, now)
        elif letter in "]}":
            now -= 1
    return most


def _faults(error: ValidationError) -> str:
    found = [(fault_place(each), fault_text(each)) for each in error.errors()]
    return "; ".join(f"{where}: {text}" if where else text for where, text in found[:5])
