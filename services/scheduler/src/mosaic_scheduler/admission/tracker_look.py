"""Which server a tracked run would send to, and whether it answers."""

import asyncio
from dataclasses import dataclass

from pydantic import SecretStr

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.tracking import (
    WANDB_SECRET,
    TrackingRole,
    is_offline,
    parameters_by_role,
)
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.admission.reach import ReachProbe, TrackerServer, proxy_of
from mosaic_scheduler.errors import SecretMissing
from mosaic_scheduler.proxy import Proxies
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings


@dataclass(frozen=True)
class ReachLook:
    """The server of a tracker, as the run would reach it."""

    address: str
    fault: str
    """Why it cannot be used now; empty: it can."""


class TrackerLooks:
    """Looks at the servers of trackers."""

    def __init__(self, settings: SchedulerSettings, vault: SecretVault, probe: ReachProbe) -> None:
        self._settings = settings
        self._vault = vault
        self._probe = probe

    async def look(self, spec: RunSpec, description: WorkerDescription) -> ReachLook | None:
        """Probe the server of a run that is to send while it runs. None: it is not, or may not."""
        algorithm = description.find_algorithm(spec.algorithm)
        names = parameters_by_role(algorithm.parameters) if algorithm is not None else {}
        is_tracked = bool(spec.parameters.get(names.get(TrackingRole.TRACK, "")))
        if not is_tracked or is_offline(spec.parameters, names) or not spec.internet:
            return None
        address = self.address(spec, description)
        has_key = WANDB_SECRET in spec.secrets
        return await self.look_at(
            address, self._settings.proxies.of_run(spec, description), has_key
        )

    async def look_at(self, address: str, proxies: Proxies, has_key: bool) -> ReachLook:
        """Probe one server, with the stack's key if it is to be shown."""
        key = await asyncio.to_thread(self._key) if has_key else None
        proxy = proxy_of(address, proxies.http, proxies.https)
        return ReachLook(address, await self._probe.fault(TrackerServer(address, proxy, key)))

    @property
    def proxies(self) -> Proxies:
        """The stack's proxies."""
        return self._settings.proxies

    @property
    def default_address(self) -> str:
        """Address of the stack's server."""
        return self._settings.wandb_base_url

    def address(self, spec: RunSpec, description: WorkerDescription) -> str:
        """Address of the server that a run names, else the stack's."""
        algorithm = description.find_algorithm(spec.algorithm)
        names = parameters_by_role(algorithm.parameters) if algorithm is not None else {}
        given = spec.parameters.get(names.get(TrackingRole.BASE_URL, ""))
        return given if isinstance(given, str) and given else self._settings.wandb_base_url

    def _key(self) -> SecretStr | None:
        try:
            return self._vault.reveal(WANDB_SECRET)
        except SecretMissing:
            return None  # another check says so
