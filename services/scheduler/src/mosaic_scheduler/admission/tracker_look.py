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
    value_of_role,
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
        if not _is_online(spec, _names(spec, description)) or not spec.internet:
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
        given = value_of_role(spec.parameters, _names(spec, description), TrackingRole.BASE_URL)
        return given if isinstance(given, str) and given else self._settings.wandb_base_url

    def with_address(self, spec: RunSpec, description: WorkerDescription) -> RunSpec:
        """The spec with the server in it that the run sends to, so that its worker and its record have the same."""
        names = _names(spec, description)
        name = names.get(TrackingRole.BASE_URL)
        is_given = value_of_role(spec.parameters, names, TrackingRole.BASE_URL)
        if name is None or is_given or not _is_online(spec, names):
            return spec
        address = self.address(spec, description)
        return spec.model_copy(update={"parameters": {**spec.parameters, name: address}})

    def _key(self) -> SecretStr | None:
        try:
            return self._vault.reveal(WANDB_SECRET)
        except SecretMissing:
            return None  # another check says so


def _names(spec: RunSpec, description: WorkerDescription) -> dict[str, str]:
    """The parameter of each role."""
    algorithm = description.find_algorithm(spec.algorithm)
    return parameters_by_role(algorithm.parameters) if algorithm is not None else {}


def _is_online(spec: RunSpec, names: dict[str, str]) -> bool:
    is_tracked = bool(spec.parameters.get(names.get(TrackingRole.TRACK, "")))
    return is_tracked and not is_offline(spec.parameters, names)
