"""A run folder as a placement makes it."""

import json
import secrets
from pathlib import Path
from typing import Any

# Another in each test process: a runner's sweep ends every process that carries the id, in the whole machine.
RUN_ID = "01K5" + "".join(secrets.choice("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for _ in range(22))
MIB = 2**20


def make_run_folder(
    folder: Path,
    *,
    worker_argv: list[str] | None = None,
    shipper_argv: list[str] | None = None,
    broker_url: str = "nats://127.0.0.1:9",
    broker_ca: str = "",
    outbox_bytes: int = 256 * MIB,
    when_outbox_full: str = "wait",
    grace_s: float = 5.0,
    drain_s: float = 10.0,
    engine_kill_wait_s: float | None = None,
    parameters: dict[str, Any] | None = None,
    run_id: str = RUN_ID,
    algorithm: str = "synthetic",
    doors: list[dict[str, Any]] | None = None,
    shares_folder: bool = True,
    begin_s: float = 120.0,
    clears_folder: bool = False,
    **fields: Any,
) -> Path:
    """Write spec.json, with further `fields`, and control/launch.json; returns the folder."""
    control = folder / "control"
    control.mkdir(parents=True, mode=0o700)
    spec = {
        "worker": "synthetic",
        "algorithm": algorithm,
        "environment": "Synthetic-v0",
        "outbox_bytes": outbox_bytes,
        "when_outbox_full": when_outbox_full,
        "parameters": parameters or {},
        **fields,
    }
    run = {"run_id": run_id, "attempt": 1, "spec": spec}
    (folder / "spec.json").write_text(json.dumps(run))
    launch = {
        "v": 1,
        "run_id": run_id,
        "attempt": 1,
        "nonce": "n0nce",
        "worker_argv": worker_argv or [],
        "shipper_argv": shipper_argv or [],
        "drain_argv": [],
        "env": {},
        "broker_url": broker_url,
        "broker_ca": broker_ca,
        "grace_s": grace_s,
        "engine_kill_wait_s": engine_kill_wait_s,
        "drain_s": drain_s,
        "shares_folder": shares_folder,
        "begin_s": begin_s,
        "orphan_s": None,
        "clears_folder": clears_folder,
        "outbox_bytes": outbox_bytes,
        "when_outbox_full": when_outbox_full,
        "image": None,
        "job_image": None,
        "doors": doors or [],
    }
    (control / "launch.json").write_text(json.dumps(launch))
    return folder
