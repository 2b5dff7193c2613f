"""Builds what an executor needs to start an attempt: command, inputs, secrets, devices, logins."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

from mosaic_contracts.runs import Resumption, RunRecord
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.errors import (
    LaunchFailed,
    SecretMissing,
    WorkerUnknown,
    WorkerUnready,
    XmppUnavailable,
)
from mosaic_scheduler.executors.access import XmppLogin
from mosaic_scheduler.executors.inputs import study_of
from mosaic_scheduler.executors.protocol import AttemptRef, LaunchSpec
from mosaic_scheduler.gpus.lease import LeaseStore
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.resumption import inputs_of_attempt, resume_point
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.probe import WorkerProbe
from mosaic_scheduler.workers.registry import IMAGE_PYTHON, WorkerRegistry
from mosaic_scheduler.xmpp.accounts import RunAccounts, agents_of
from mosaic_servicekit.credentials import RUN_LIFETIME_S, RunSigner
from mosaic_servicekit.logging import get_log


class LaunchBuilder:
    """Gathers from workers, leases, secrets and XMPP server what an attempt is given."""

    def __init__(
        self,
        settings: SchedulerSettings,
        registry: WorkerRegistry,
        probe: WorkerProbe,
        leases: LeaseStore,
        vault: SecretVault,
        accounts: RunAccounts,
        signer: RunSigner | None,
        *,
        engine_gives_devices: bool = False,
        credentials_s: float = RUN_LIFETIME_S,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._probe = probe
        self._leases = leases
        self._vault = vault
        self._accounts = accounts
        self._signer = signer
        self._credentials_s = credentials_s
        self._engine_gives_devices = engine_gives_devices

    async def build(self, run: StoredRun) -> LaunchSpec:
        """What starts the run's current attempt.

        Raises:
            WorkerUnknown: no such worker is registered any more.
            WorkerUnready: its environment is missing, or it does not answer.
            LaunchFailed: something that the run was promised is gone.
        """
        record = run.record
        ref = AttemptRef(record.run_id, record.attempt)
        worker = self._registry.find(record.spec.worker)
        lease = await self._leases.of(ref)
        if record.spec.gpus and lease is None and not self._engine_gives_devices:
            raise LaunchFailed("Its GPU lease is gone; it is to be queued again.")
        description = await self._probe.describe(worker)
        is_derived = record.spec.kind.is_derived
        # A replay takes its actions from the record: it needs no policy and talks to nobody.
        spec, inputs = (record.spec, []) if is_derived else inputs_of_attempt(record, description)
        proxies = self._settings.proxies.of_run(record.spec, description)
        secrets = await asyncio.to_thread(self._reveal, record.spec.secrets)
        return LaunchSpec(
            ref=ref,
            spec=spec,
            nonce=run.nonce,
            python=worker.python,
            worker_command=worker.command,
            grant=lease.grant if lease is not None else None,
            engine_gives_devices=self._engine_gives_devices,
            image=worker.manifest.image,
            image_python=IMAGE_PYTHON,
            image_command=worker.image_command,
            secrets={**proxies.secrets(), **secrets},
            environment=proxies.variables(),
            xmpp=None if is_derived else await self._log_in(record, description),
            inputs=inputs,
            study=study_of(spec, self._settings.home / RUNS_DIR),
            broker_url=self._settings.runs_url,
            broker_ca=await asyncio.to_thread(self._trusted),
            write_creds=self._credentials_writer(record.run_id),
        )

    async def resume_at(self, record: RunRecord, run_dir: Path) -> Resumption:
        """Where the next attempt of an interrupted run begins."""
        description: WorkerDescription | None
        try:
            worker = self._registry.find(record.spec.worker)
            description = await self._probe.describe(worker)
        except (WorkerUnready, WorkerUnknown) as error:
            get_log().warning("worker.not_ready", worker=record.spec.worker, error=str(error))
            description = None
        return await asyncio.to_thread(resume_point, record, description, run_dir)

    def _credentials_writer(self, run_id: str) -> Callable[[Path], None] | None:
        signer, lifetime_s = self._signer, self._credentials_s
        if signer is None:
            return None
        return lambda path: signer.write_creds(run_id, path, lifetime_s)

    async def _log_in(self, record: RunRecord, description: WorkerDescription) -> XmppLogin | None:
        agents = agents_of(record.spec, description)
        if not agents:
            return None
        try:
            return await self._accounts.provision(record.run_id, agents)
        except XmppUnavailable as error:
            # It went away while the run waited.
            raise LaunchFailed(f"xmpp: {error.part}: {error.problem.detail}") from error

    def _trusted(self) -> str:
        try:
            return self._settings.broker_ca_pem
        except OSError as error:
            raise LaunchFailed(
                f"MOSAIC_BROKER_CA={self._settings.broker_ca} cannot be read: {error.strerror}"
            ) from error

    def _reveal(self, names: list[str]) -> dict[str, SecretStr]:
        try:
            return {name: self._vault.reveal(name) for name in names}
        except SecretMissing as error:
            # It was deleted while the run waited.
            raise LaunchFailed(str(error)) from error
