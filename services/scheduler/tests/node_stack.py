"""The parts of a scheduler that serve runs on other machines, and a run's folder that the scheduler cannot see."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from tests.records import make_record
from tests.stack import SmallRecorder

from mosaic_contracts import launch
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import ExitReport
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_scheduler.database import Database
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import AttemptRef, Executor, LaunchSpec
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE, RunFolder
from mosaic_scheduler.nodes.requests import NodeRequests
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import NODE_LIFETIME_S
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

NONCE = "n0nce"
SECRET = "s3cret-value-of-the-user"
WORKER = "mosaic_workerkit.testing.synthetic"


class NodeStack:
    """One run that was handed to an engine whose machines share nothing with this one."""

    def __init__(
        self,
        broker: TestBroker,
        folder: Path,
        store: RunStore,
        python: str,
        executor: Executor | None = None,
    ) -> None:
        self.broker = broker
        self.store = store
        self.reconcile = asyncio.Event()
        self.ref = AttemptRef(RunIdSource().next(), 1)
        self.nodes = folder / "nodes"
        self.executor = executor or ProcessExecutor(folder / "home", 1)
        self.recorder = SmallRecorder(broker)
        self.python = python
        self.launch_spec: LaunchSpec
        self._runners: list[tuple[asyncio.subprocess.Process, Path]] = []

    @property
    def here(self) -> RunFolder:
        """The run's folder of the stack."""
        return RunFolder(self.executor.folder(self.ref), self.ref)

    async def submit(self, lifetime_s: float = NODE_LIFETIME_S, **parameters: Any) -> None:
        """Prepare the run's folder here, as an executor does."""
        self.launch_spec = await self.insert(lifetime_s, **parameters)
        await asyncio.to_thread(self.here.prepare, self.launch_spec)

    async def submit_again(self) -> None:
        """Prepare the folder for the next attempt."""
        run = await self.store.get(self.ref.run_id)
        assert run is not None
        self.ref = AttemptRef(self.ref.run_id, self.ref.attempt + 1)
        assert await self.store.write(run.record, attempt=self.ref.attempt) is not None
        self.launch_spec = replace(self.launch_spec, ref=self.ref)
        await asyncio.to_thread(self.here.prepare, self.launch_spec)

    async def insert(self, lifetime_s: float = NODE_LIFETIME_S, **parameters: Any) -> LaunchSpec:
        """Add the run to the database; return what starts it."""
        spec = RunSpec(
            worker="synthetic",
            algorithm="synthetic",
            environment="Synthetic-v0",
            parameters=parameters,
            grace_s=5.0,
        )
        record = make_record(
            RunState.QUEUED,
            run_id=self.ref.run_id,
            spec=StoredSpec.model_validate(spec.model_dump()),
        )
        await self.store.insert(record, NONCE)
        assert await self.store.write(record, state=RunState.STARTING) is not None
        signer = self.broker.signer()
        return LaunchSpec(
            ref=self.ref,
            spec=spec,
            nonce=NONCE,
            python=self.python,
            worker_command=python_module(self.python, WORKER),
            broker_url=self.broker.url,
            broker_ca="" if self.broker.ca is None else self.broker.ca.read_text(),
            shares_folder=False,
            write_creds=lambda path: signer.write_creds(self.ref.run_id, path, lifetime_s),
            secrets={"key": SecretStr(SECRET)},
        )

    def carry(self, node: str, **changes: Any) -> Path:
        """Make the folder on a node: what a job script carries, and nothing else of the stack's folder."""
        there = self.nodes / node / self.ref.run_id
        (there / "control").mkdir(parents=True, exist_ok=True)
        text = (self.here.path / launch.LAUNCH_FILE).read_text()
        moved = json.loads(text.replace(str(self.here.path), str(there)))
        moved |= {"clears_folder": False} | changes
        (there / launch.LAUNCH_FILE).write_text(json.dumps(moved))
        shutil.copy(self.here.path / launch.CREDS_FILE, there / launch.CREDS_FILE)
        return there

    async def start(self, there: Path) -> asyncio.subprocess.Process:
        """Start the runner on the node."""
        (there / "logs").mkdir(exist_ok=True)
        with (there / launch.RUNNER_LOG).open("ab") as log:
            runner = await asyncio.create_subprocess_exec(
                *python_module(self.python, RUNNER_MODULE, "--run-dir", str(there)),
                stdin=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                env={k: v for k, v in os.environ.items() if not k.startswith("MOSAIC_")},
            )
        self._runners.append((runner, there))
        return runner

    async def end(self) -> None:
        """End the runners that a failed test left, with their shippers; workers die with them."""
        for runner, there in self._runners:
            if runner.returncode is not None:
                continue
            runner.kill()
            await runner.wait()
            info = RunFolder(there, self.ref).runner_info()
            if info is not None and info.shipper_pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(info.shipper_pid, signal.SIGKILL)

    def report(self) -> ExitReport | None:
        """The end of the run, as the stack knows it."""
        return self.here.report()


@asynccontextmanager
async def node_stack(
    broker: TestBroker,
    folder: Path,
    venvs: Path,
    lifetime_s: float = NODE_LIFETIME_S,
    executor: Executor | None = None,
) -> AsyncIterator[NodeStack]:
    """Everything of it.

    Args:
        broker: that runs and scheduler reach.
        folder: in which all of it lies; MOSAIC_HOME is `home` there.
        venvs: environments of workers.
        lifetime_s: of credentials that are renewed.
        executor: where runs are started; None: they are started by the test.
    """
    database = Database(folder / "home" / "db" / "scheduler.sqlite3")
    bus = Bus(broker.url, "scheduler", broker.creds("scheduler"), broker.ca)
    stack = NodeStack(broker, folder, RunStore(database), _python(venvs), executor)
    requests = NodeRequests(
        bus, stack.store, stack.executor, broker.signer(), 0, stack.reconcile, lifetime_s
    )
    await bus.start()
    await requests.subscribe()
    await asyncio.wait_for(bus.connected.wait(), 60)
    await stack.recorder.open()
    try:
        yield stack
    finally:
        await stack.end()
        await stack.recorder.close()
        await bus.close()
        if isinstance(stack.executor, ProcessExecutor):
            stack.executor.close()
        await database.close()


def _python(venvs: Path) -> str:
    return str(venvs / "synthetic" / "bin" / "python")
