"""Runs, workers and events as the gateway sends them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from mosaic_contracts.machine import MachineSample
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunEnd, RunSummary, RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.state.follow import EventBatch

BEGAN = datetime(2026, 1, 2, 12, 0, tzinfo=UTC)
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def run_id(n: int) -> str:
    """The n-th run id, in the order of creation."""
    return "01M8GP" + "".join(ALPHABET[(n >> shift) % 32] for shift in range(95, -1, -5))


def run(n: int = 0, state: RunState = RunState.RUNNING, **fields: Any) -> RunView:
    """A run of PPO on CartPole."""
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", "seed": n + 1}
    spec |= fields.pop("spec", {})
    created = BEGAN + timedelta(seconds=n)
    waits = state is RunState.QUEUED or "waiting_reason" in fields
    started = None if waits else created + timedelta(seconds=1)
    ended = created + timedelta(seconds=61) if state.is_final else None
    end = fields.pop("end", None)
    if end is None and state.is_final:
        cause = EndCause.COMPLETED if state is RunState.SUCCEEDED else EndCause.EXIT_CODE
        end = RunEnd(cause=cause, message="Completed.", exit_code=0)
    known: dict[str, Any] = {
        "run_id": run_id(n),
        "name": f"{spec['environment']}__{spec['algorithm']}__{spec['seed']}__20260102",
        "spec": spec,
        "state": state,
        "revision": 1,
        "created_at": created,
        "started_at": started,
        "ended_at": ended,
        "end": end,
        "run_dir": f"runs/{run_id(n)}",
    }
    return RunView.model_validate(known | fields)


def summary(n: int = 0, **fields: Any) -> RunSummary:
    """What the recorder counted of a run."""
    return RunSummary.model_validate({"run_id": run_id(n), "episodes": 3} | fields)


def worker(**fields: Any) -> WorkerEntry:
    """CleanRL with two algorithms."""
    parameters = {
        "type": "object",
        "properties": {
            "exp_name": {"type": "string", "default": "ppo", "x-group": "run"},
            "total_timesteps": {"type": "integer", "default": 500000, "minimum": 1},
            "learning_rate": {
                "type": "number",
                "default": 0.00025,
                "exclusiveMinimum": 0,
                "description": "the learning rate of the optimizer",
                "x-group": "algorithm",
            },
            "gamma": {
                "type": "number",
                "default": 0.99,
                "minimum": 0,
                "maximum": 1,
                "x-group": "algorithm",
            },
            "anneal_lr": {"type": "boolean", "default": True, "x-group": "algorithm"},
            "target_kl": {"type": ["number", "null"], "default": None, "x-group": "algorithm"},
            "loss": {"enum": ["mse", "huber"], "default": "mse", "x-group": "algorithm"},
        },
    }
    algorithms = [
        {
            "id": name,
            "title": name.upper(),
            "summary": f"What {name} is.",
            "parameters": parameters,
            "action_spaces": ["discrete"],
            "default_environment": "CartPole-v1",
            "steps_parameter": "total_timesteps",
        }
        for name in ("ppo", "dqn")
    ]
    environments = [
        {
            "id": "CartPole-v1",
            "action_space": "discrete",
            "observation_space": "box",
            "max_steps": 500,
        },
        {"id": "LunarLander-v2", "action_space": "discrete", "bundle": "box2d"},
        {"id": "Pendulum-v1", "action_space": "box"},
    ]
    known: dict[str, Any] = {
        "manifest": {"id": "cleanrl", "title": "CleanRL", "command": ["python"]},
        "ready": True,
        "description": {
            "worker": "cleanrl",
            "version": "1",
            "title": "CleanRL",
            "record_levels": ["metrics", "replay"],
            "algorithms": algorithms,
            "environments": environments,
        },
    }
    return WorkerEntry.model_validate(known | fields)


def report(level: str = "ok", **fields: Any) -> PreflightReport:
    """A preflight with one line of that level."""
    line = {"id": "device", "title": "Device", "level": level, "message": "3 GPUs are needed."}
    known: dict[str, Any] = {
        "ok": level != "blocking",
        "lines": [{"id": "worker", "title": "Worker", "level": "ok", "message": "Answers."}, line],
        "plan": {"argv": ["python", "-m", "cleanrl.ppo"], "total_steps": 500},
        "launch": {
            "placement": "process",
            "command": ["python", "-m", "mosaic_worker_cleanrl", "train", "--run-dir", "runs/RUN"],
            "environment": {"OMP_NUM_THREADS": "1"},
            "mounts": ["runs/RUN: its own folder"],
            "devices": "none: it sees no GPU",
            "network": "everything that this machine reaches",
            "limits": ["1 core"],
        },
        "digest": "d1",
    }
    return PreflightReport.model_validate(known | fields)


def machine_sample(**fields: Any) -> MachineSample:
    """A look at a machine with 8 cores and 16 GiB."""
    known: dict[str, Any] = {
        "t": 1.0,
        "cpu_percent": 1.0,
        "cores": 8,
        "load1": 0.1,
        "memory_used_bytes": 2**30,
        "memory_total_bytes": 16 * 2**30,
        "disk_free_bytes": 100 * 2**30,
        "disk_total_bytes": 200 * 2**30,
    }
    return MachineSample.model_validate(known | fields)


def episodes(first_seq: int, returns: list[float], n: int = 0) -> EventBatch:
    """Episode events of the worker, one a second."""
    events = [
        {
            "type": "episode",
            "attempt": 1,
            "source": "worker",
            "seq": first_seq + i,
            "t": 100.0 + first_seq + i,
            "env": 0,
            "episode": i,
            "length": 10,
            "episode_return": value,
            "global_step": (first_seq + i) * 10,
        }
        for i, value in enumerate(returns)
    ]
    return EventBatch(run_id(n), events, {}, f"1.worker.{first_seq + len(returns) - 1}")


def metrics(first_seq: int, name: str, values: list[float], n: int = 0) -> EventBatch:
    """Metric events of the worker as columns."""
    count = len(values)
    seqs = list(range(first_seq, first_seq + count))
    table = {
        "attempt": 1,
        "source": "worker",
        "seq": seqs,
        "t": [100.0 + seq for seq in seqs],
        "name": [name] * count,
        "step": [seq * 10 for seq in seqs],
        "value": values,
    }
    return EventBatch(run_id(n), [], {"metric": table}, f"1.worker.{seqs[-1]}")
