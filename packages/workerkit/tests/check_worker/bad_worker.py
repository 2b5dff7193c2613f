"""Small real workers, each bad in one way. `python bad_worker.py FAULT describe | check | train --run-dir DIR`."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import Config, Lifecycle, Log, Record, encode_record
from mosaic_contracts.worker import (
    Algorithm,
    CheckReport,
    Environment,
    Finding,
    InspectedCheckpoint,
    InspectReport,
    InspectRequest,
    WorkerDescription,
)
from mosaic_workerkit.entry import TrainContext, main
from mosaic_workerkit.outbox import OutboxWriter, outbox_dir
from mosaic_workerkit.telemetry import read_run_file

FAULT = sys.argv.pop(1)
PROPERTIES: dict[str, Any] = {"steps": {"type": "integer", "default": 50}}
TELLS = {"none": ["bdi"], "tells_no_prompt": ["bdi", "llm"]}
"""Families of its own events that it promises; it emits `bdi`."""
INSPECTS = ("inspects_well", "inspects_another", "takes_anything", "unpickles")
PLAYS = ("plays_well", "plays_once", "play_fails", "plays_nothing")
CONFIG = {
    "algorithm": "a",
    "environment": "E-v0",
    "arguments": {},
    "spaces": {},
    "record": "replay",
}


class BadWorker:
    """A good one but for its fault."""

    def describe(self) -> WorkerDescription:
        """Describe it."""
        properties = dict(PROPERTIES)
        if FAULT in PLAYS and FAULT != "plays_nothing":
            properties["model"] = {
                "type": ["string", "null"],
                "default": None,
                "x-checkpoint": True,
            }
        if FAULT == "default_of_another_type":
            properties["gamma"] = {"type": "number", "default": "0.99"}
        if FAULT == "default_out_of_bounds":
            properties["gamma"] = {"type": "number", "default": 5, "maximum": 1}
        return WorkerDescription(
            worker="other" if FAULT == "another_id" else "bad",
            version="1",
            title="Bad",
            record_levels=["replay"],
            modes=["train"] + ["play"] * (FAULT in PLAYS) + ["import"] * (FAULT in INSPECTS),
            algorithms=[
                Algorithm(
                    id="a",
                    title="A",
                    parameters={"type": "object", "properties": properties},
                    steps_parameter="nothing" if FAULT == "steps_of_nothing" else "steps",
                    default_environment="E-v0",
                    play=FAULT in PLAYS,
                    tells=TELLS.get(FAULT, []),
                )
            ],
            environments=[Environment(id="E-v0")],
        )

    def check(self, spec: RunSpec) -> CheckReport:
        """Refuse what is unknown."""
        wrong = [] if spec.algorithm == "a" else ["algorithm"]
        if FAULT != "accepts_unknown":
            wrong += [f"parameters.{name}" for name in spec.parameters if name not in PROPERTIES]
        findings = [Finding(level="blocking", where=where, message="unknown") for where in wrong]
        return CheckReport(ok=not wrong, findings=findings)

    def train(self, context: TrainContext) -> None:
        """Twenty steps a second at most, so that a stop can meet it."""
        telemetry = context.telemetry
        config = {} if FAULT == "empty_config" else CONFIG
        telemetry.config(config)
        if FAULT == "crashes":
            os.kill(os.getpid(), signal.SIGSEGV)
        if FAULT == "leaves_a_child":
            subprocess.Popen(["sleep", "600"], start_new_session=True)
        telemetry.extra("bdi.belief", {"added": ["hungry"]})
        steps = context.spec.steps or 50
        telemetry.episode_start(0, 0, {"way": "seed", "seed": 1}, observation=0)
        for step in range(1, steps + 1):
            if FAULT == "skips_a_step" and step == 3:
                continue
            telemetry.step(0, 0, step, 1, 1.0, observation=0)
            if context.stop.requested and FAULT != "ignores_stop":
                return
            if steps > 1000:
                time.sleep(0.01)  # a training that lasts
        _leave_files(context)
        if FAULT == "exits_3_after_done":
            telemetry.lifecycle("done")
            sys.exit(3)

    def inspect(self, request: InspectRequest) -> InspectReport:
        """Take what `train` leaves."""
        content = Path(request.path).read_bytes()
        if FAULT == "unpickles" and content != b"weights":
            with suppress(pickle.UnpicklingError):
                pickle.loads(content)  # noqa: S301 - the fault
        if content != b"weights" and FAULT != "takes_anything":
            finding = Finding(level="blocking", where="file", message="not mine")
            return InspectReport(ok=False, findings=[finding])
        environment = "Another-v0" if FAULT == "inspects_another" else "E-v0"
        return InspectReport(
            ok=True, checkpoint=InspectedCheckpoint(algorithm="a", environment=environment)
        )

    def play(self, context: TrainContext) -> None:
        """Episodes of three steps."""
        telemetry, spec = context.telemetry, context.spec
        telemetry.config(CONFIG)
        if FAULT == "play_fails" or Path(str(spec.parameters["model"])).read_bytes() != b"weights":
            raise ValueError("there is no such model")
        for episode in range(1 if FAULT == "plays_once" else spec.episodes or 5):
            telemetry.episode_start(0, episode, {"way": "seed", "seed": 1}, observation=0)
            for step in (1, 2, 3):
                telemetry.step(0, episode, step, 1, 1.0, observation=0, terminated=step == 3)
            telemetry.episode(0, episode, 3, 3.0, global_step=3 * episode + 3, terminated=True)


def _leave_files(context: TrainContext) -> None:
    model = context.run_dir / "model.bin"
    model.write_bytes(b"weights")
    context.telemetry.checkpoint("model.bin", 50, "final")
    if FAULT == "checkpoint_is_gone":
        model.unlink()
    if FAULT == "checkpoint_changes":
        model.write_bytes(b"weights and more")
    if FAULT == "manifest_lies":
        entries = [{"path": "model.bin"}, {"path": "never.bin"}]
        (context.run_dir / "manifest.json").write_text(json.dumps({"v": 1, "artifacts": entries}))


def _write_raw(run_dir: Path, records: list[Record]) -> None:
    """Past the checks of Telemetry, as a worker in another language might."""
    run = read_run_file(run_dir)
    spec = StoredSpec.model_validate(run.spec)
    folder = outbox_dir(run_dir, run.attempt)
    outbox = OutboxWriter(
        folder, run.run_id, run.attempt, "worker", spec.outbox_bytes, spec.when_outbox_full
    )
    for record in records:
        outbox.append(encode_record(record))
    outbox.close()


RAW: dict[str, list[Record]] = {
    "two_terminals": [Config(1, 0, CONFIG), Lifecycle(2, 0, "done"), Lifecycle(3, 0, "stopped")],
    "no_terminal": [Config(1, 0, CONFIG), Log(2, 0, "info", "working")],
    "config_later": [Log(1, 0, "info", "hello"), Config(2, 0, CONFIG), Lifecycle(3, 0, "done")],
    "gap": [Config(1, 0, CONFIG), Log(3, 0, "info", "where is 2"), Lifecycle(4, 0, "done")],
    "event_after_end": [Config(1, 0, CONFIG), Lifecycle(2, 0, "done"), Log(3, 0, "info", "more")],
    "exits_0_without_events": [],
    "prints_nothing": [],
}


def serve() -> int:
    """As its fault has it."""
    verb = sys.argv[1]
    if FAULT == "hangs_at_import":
        time.sleep(600)
    if verb == "describe" and FAULT == "rubbish_on_stdout":
        print("loading libraries ...", flush=True)  # noqa: T201 - the fault
    if verb == "describe" and FAULT == "prints_nothing":
        return 0
    if verb == "describe" and FAULT == "fails_at_import":
        raise ImportError("No module named 'torch'")
    if verb == "describe" and FAULT == "describe_leaves_a_child":
        subprocess.Popen(["sleep", "600.25"], start_new_session=True)
    if verb == "describe" and FAULT == "another_shape":
        print(json.dumps({"name": "bad"}))  # noqa: T201 - the fault
        return 0
    if verb == "check" and FAULT == "check_fails":
        return 1
    if verb == "train" and FAULT in RAW:
        _write_raw(Path(sys.argv[3]), RAW[FAULT]) if RAW[FAULT] else None
        return 0
    if verb == "train" and FAULT == "never_ends":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    return main(BadWorker())


if __name__ == "__main__":
    sys.exit(serve())
