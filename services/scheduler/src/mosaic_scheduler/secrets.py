"""A user's secrets: one file each, readable for nobody else. Values go to runs that name them, and nowhere else."""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from mosaic_base.atomic import replace_file
from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.services import SecretRequest, SetSecretRequest
from mosaic_contracts.spec import SECRET_NAME_PATTERN
from mosaic_scheduler.errors import SecretMissing, SecretNameInvalid
from mosaic_servicekit.bus import Verb

FOLDER = "secrets/user"
"""Below MOSAIC_HOME."""
_NAME = re.compile(SECRET_NAME_PATTERN)


class SecretVault:
    """The files of `MOSAIC_HOME/secrets/user`."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def names(self) -> list[str]:
        """Which secrets there are."""
        if not self._folder.is_dir():
            return []
        return sorted(entry.name for entry in self._folder.iterdir() if _NAME.match(entry.name))

    def entries(self) -> list[SecretEntry]:
        """The same, with the time of their last change."""
        return [self._entry(name) for name in self.names()]

    def keep(self, name: str, value: SecretStr) -> SecretEntry:
        """Keep a secret, in place of an earlier one of that name.

        Raises:
            SecretNameInvalid: no name, or one that differs from another in its capitals only.
        """
        if not _NAME.fullmatch(name):
            raise SecretNameInvalid(
                name, "A name has letters, digits and _, and begins with a letter."
            )
        # A run finds its file by a variable, and those are written in capitals.
        twins = [known for known in self.names() if known.upper() == name.upper() and known != name]
        if twins:
            raise SecretNameInvalid(name, f"A run could not distinguish it from {twins[0]!r}.")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._folder / name, value)
        return self._entry(name)

    def forget(self, name: str) -> None:
        """Delete a secret. Raises SecretMissing."""
        if name not in self.names():
            raise SecretMissing(name)
        (self._folder / name).unlink(missing_ok=True)

    def reveal(self, name: str) -> SecretStr:
        """The value, for a run that is about to start. Raises SecretMissing."""
        if name not in self.names():
            raise SecretMissing(name)
        return SecretStr((self._folder / name).read_text(encoding="utf-8"))

    def _entry(self, name: str) -> SecretEntry:
        changed = (self._folder / name).stat().st_mtime
        return SecretEntry(name=name, updated_at=datetime.fromtimestamp(changed, UTC))


def write_private(path: Path, value: SecretStr) -> None:
    """Write a file that is never readable for others, not even while it is made."""
    replace_file(path, value.get_secret_value(), mode=0o600)


class SecretService:
    """`set_secret`, `delete_secret` and `secrets`."""

    def __init__(self, vault: SecretVault) -> None:
        self._vault = vault

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "set_secret": (SetSecretRequest, self.keep),
            "delete_secret": (SecretRequest, self.forget),
            "secrets": (None, self.entries),
        }

    async def keep(self, request: SetSecretRequest) -> SecretEntry:
        """Keep a secret."""
        return await asyncio.to_thread(self._vault.keep, request.name, request.value)

    async def forget(self, request: SecretRequest) -> None:
        """Delete a secret. Runs that were given it have it until their end."""
        await asyncio.to_thread(self._vault.forget, request.name)

    async def entries(self) -> SecretEntries:
        """Which secrets there are."""
        return SecretEntries(secrets=await asyncio.to_thread(self._vault.entries))
