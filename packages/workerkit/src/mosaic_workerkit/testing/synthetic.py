"""A worker that only writes events, whose every value follows from its seq: tests can check each field.

Parameters: see `PARAMETERS`; `steps` of the spec sets `events`.
"""

import math
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from mosaic_base.imports import large_imports

with large_imports():
    from mosaic_contracts.spec import RunSpec
    from mosaic_contracts.stored_spec import StoredSpec
    from mosaic_contracts.wire import (
        Config,
        Episode,
        EpisodeStart,
        Lifecycle,
        Metric,
        Record,
        Step,
        StepFlag,
    )
    from mosaic_contracts.worker import Algorithm, CheckReport, Environment, WorkerDescription
    from mosaic_workerkit.entry import TrainContext, main
    from mosaic_workerkit.telemetry import Telemetry

EPISODE_EVENTS = 100
"""Number of events in an episode: one start, then steps and metrics, one end."""
FIRST_SEQ = 3
"""First seq of the first episode: seq 1 is the config, 2 the lifecycle `training`."""
_BURST_S = 0.005

PARAMETERS: dict[str, Any] = {
    "rate": {"type": "number", "default": 1000.0, "description": "Events a second; 0: no limit."},
    "events": {"type": "integer", "default": 10_000, "description": "Events in all."},
    "seconds": {"type": "number", "default": 0.0, "description": "End after that long; 0: never."},
    "metrics": {"type": "number", "default": 0.1, "description": "Share of metric events."},
    "pad": {"type": "integer", "default": 0, "description": "Bytes of observation a step."},
    "exit_code": {"type": "integer", "default": 0, "description": "Exit code."},
    "hang": {"type": "boolean", "default": False, "description": "Ignore stops, never end."},
    "memory_mb": {"type": "integer", "default": 0, "description": "MiB to take after the events."},
    "fork_stray": {"type": "boolean", "default": False, "description": "Leave a process behind."},
    "crash": {"type": "boolean", "default": False, "description": "End by SIGSEGV."},
    "fail": {"type": "boolean", "default": False, "description": "End by an exception."},
    "save_every": {
        "type": "integer",
        "default": 0,
        "description": "Events between checkpoints, of which one is saved at a stop, too; 0: none is.",
    },
    "start": {
        "type": ["string", "null"],
        "default": None,
        "x-checkpoint": True,
        "description": "Begin with this checkpoint.",
    },
}


def config_data(spec: StoredSpec) -> dict[str, Any]:
    """The `config` event's data."""
    return {
        "algorithm": "synthetic",
        "environment": spec.environment,
        "arguments": dict(spec.parameters),
        "num_envs": 1,
        "spaces": {
            "observation": {"kind": "box", "dtype": "<f4", "shape": [2]},
            "action": {"kind": "discrete", "n": 4},
        },
        "packages": {},
        "record": spec.record.value,
        "total_steps": spec.steps,
    }


class Formula:
    """Computes every event of one spec from its seq."""

    def __init__(self, spec: StoredSpec) -> None:
        self._spec = spec
        share = float(str(spec.parameters.get("metrics", 0.1)))
        self._steps = EPISODE_EVENTS - 2 - round(share * (EPISODE_EVENTS - 2))
        self._pad = int(str(spec.parameters.get("pad", 0))) // 8

    def record(self, seq: int) -> Record:
        """The record with this seq (from 1 on, the terminal lifecycle aside), with `dt` 0."""
        if seq == 1:
            return Config(1, 0, config_data(self._spec))
        if seq == FIRST_SEQ - 1:
            return Lifecycle(seq, 0, "training")
        episode, place = divmod(seq - FIRST_SEQ, EPISODE_EVENTS)
        steps = self._steps
        if 0 < place <= steps:
            flags = 1 if place == steps else 0  # StepFlag.TERMINATED
            action, reward, step_hash, seen = self._step(seq)
            return Step(seq, 0, 0, episode, place, action, reward, flags, step_hash, 0, seen)
        if place == 0:
            reset = {"way": "generator", "state": str(seq)}
            return EpisodeStart(seq, 0, 0, episode, reset, _hash(seq))
        if place == EPISODE_EVENTS - 1:
            total = float(seq % 500)
            counts = (steps, total, int(StepFlag.TERMINATED), 0.25, steps * (episode + 1))
            return Episode(seq, 0, 0, episode, *counts)
        value = math.nan if seq % 97 == 0 else math.inf if seq % 89 == 0 else seq / 7
        return Metric(seq, 0, f"losses/m{seq % 3}", seq, value)

    def write(self, telemetry: Telemetry, last: int) -> None:
        """Record the next event and the rest of its episode, up to `last`, by `Telemetry`."""
        seq = telemetry.next_seq
        episode, place = divmod(seq - FIRST_SEQ, EPISODE_EVENTS)
        steps, write, values = self._steps, telemetry.hashed_step, self._step
        while 0 < place <= steps and seq <= last:
            action, reward, step_hash, seen = values(seq)
            flags = 1 if place == steps else 0
            write(0, episode, place, action, reward, flags, step_hash, 0, seen)
            seq, place = seq + 1, place + 1
        if seq <= last:
            write_record(telemetry, self.record(seq))

    def _step(self, seq: int) -> tuple[int, float, bytes, bytes | None]:
        """Action, reward, hash and observation."""
        seen = seq.to_bytes(8, "little") * self._pad if self._pad else None
        return seq & 3, seq / 3, _hash(seq), seen


def _hash(seq: int) -> bytes:
    return (seq * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF).to_bytes(8, "little")


def write_record(telemetry: Telemetry, record: Record) -> None:
    """Record by `Telemetry` what a record holds."""
    match record:
        case Step():
            telemetry.hashed_step(
                *(record.env, record.episode, record.step, record.action),
                *(record.reward, record.flags, record.hash),
                observation=record.observation,
            )
        case Metric():
            telemetry.metric(record.name, record.step, record.value)
        case EpisodeStart():
            telemetry.episode_start(record.env, record.episode, record.reset, record.hash)
        case Episode():
            telemetry.episode(
                *(record.env, record.episode, record.length, record.episode_return),
                duration_s=record.duration_s,
                global_step=record.global_step,
                terminated=bool(record.flags & StepFlag.TERMINATED),
                truncated=bool(record.flags & StepFlag.TRUNCATED),
            )
            telemetry.progress(record.global_step)
        case Lifecycle():
            telemetry.lifecycle(record.phase)
        case Config():
            telemetry.config(record.data)


class SyntheticWorker:
    """A worker for tests, whose events follow from their seqs."""

    def describe(self) -> WorkerDescription:
        """Describe one algorithm and one environment."""
        schema = {"type": "object", "properties": PARAMETERS, "additionalProperties": False}
        return WorkerDescription(
            worker="synthetic",
            version="1",
            title="Synthetic events",
            record_levels=["metrics", "episodes", "replay", "full"],
            algorithms=[
                Algorithm(
                    id="synthetic",
                    title="Synthetic",
                    parameters=schema,
                    steps_parameter="events",
                    default_environment="Synthetic-v0",
                )
            ],
            environments=[Environment(id="Synthetic-v0", action_space="discrete")],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Accept every spec."""
        return CheckReport(ok=True, findings=[], plan={"parameters": dict(spec.parameters)})

    def train(self, context: TrainContext) -> None:
        """Record events at the requested rate, then end in the requested way."""
        asked = {name: schema["default"] for name, schema in PARAMETERS.items()}
        asked |= context.spec.parameters
        if context.spec.steps is not None:
            asked["events"] = context.spec.steps
        if asked["fork_stray"]:
            _leave_stray(context.run_dir)
        _write_events(context, asked)
        taken = _take_memory(int(asked["memory_mb"]))
        while asked["hang"]:
            signal.pause()
        if asked["crash"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        if asked["fail"]:
            raise RuntimeError("asked to fail")
        context.telemetry.lifecycle("stopped" if context.stop.requested else "done")
        if asked["exit_code"]:
            sys.exit(asked["exit_code"])
        del taken


def _take_memory(mib: int) -> list[bytearray]:
    """Really taken: every page is written."""
    return [bytearray(b"x") * 2**20 for _ in range(mib)]


def _write_events(context: TrainContext, asked: dict[str, Any]) -> None:
    telemetry, stop = context.telemetry, context.stop
    formula = Formula(context.spec)
    last = FIRST_SEQ - 1 + int(asked["events"])
    began = time.monotonic()
    until = began + asked["seconds"] if asked["seconds"] else math.inf
    saver = _Saver(context, int(asked["save_every"]), asked["start"])
    while telemetry.next_seq <= last and time.monotonic() < until:
        due = last
        if asked["rate"]:
            due = min(last, 2 + int((time.monotonic() - began + _BURST_S) * asked["rate"]))
        while telemetry.next_seq <= due:
            formula.write(telemetry, due)
            saver.save_due()
            if stop.requested and not asked["hang"]:
                saver.save("stop")
                return
        if asked["rate"]:
            time.sleep(_BURST_S)  # the pace that was asked for; there is no event to wait for


class _Saver:
    """Saves checkpoints: how many events this run, and those that it began with, have written."""

    def __init__(self, context: TrainContext, every: int, start: str | None) -> None:
        self._telemetry = context.telemetry
        self._every = every
        self._next = every
        self._before = 0
        if start is not None:
            self._before = int((context.run_dir / start).read_text())

    def save_due(self) -> None:
        """Save when the next checkpoint is due."""
        if self._every and self._events >= self._next:
            self._next = self._events + self._every
            self.save("periodic")

    def save(self, reason: str) -> None:
        """Save one, where the run saves any."""
        if not self._every:
            return
        events = self._events
        self._telemetry.write_checkpoint(f"checkpoints/{events}.txt", self._write, events, reason)

    def _write(self, path: Path) -> None:
        path.write_text(str(self._before + self._events))

    @property
    def _events(self) -> int:
        return self._telemetry.next_seq - FIRST_SEQ


def _leave_stray(run_dir: Path) -> None:
    """A grandchild in its own session, deaf to TERM, whose parent is gone: what a careless library leaves."""
    if os.fork():
        os.wait()
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # kept across the exec
    (run_dir / "stray.pid").write_text(str(os.getpid()))
    os.execvp("sleep", ["sleep", "3600"])


if __name__ == "__main__":
    sys.exit(main(SyntheticWorker()))
