"""The verbs about secrets. No answer holds a value."""

import asyncio

from mosaic_contracts.access import SecretEntries, SecretEntry
from mosaic_contracts.services import SecretRequest, SetSecretRequest
from mosaic_scheduler.secrets.vault import SecretVault
from mosaic_servicekit.bus import Verb


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
