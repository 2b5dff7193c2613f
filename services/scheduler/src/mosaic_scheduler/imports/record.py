"""What becomes of an imported file: the record of its run, its events, and the list of its files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mosaic_contracts.checkpoint_words import (
    MEAN_EPISODES,
    MEAN_RETURN,
    NORMALIZER,
    REASON_IMPORTED,
    STEP_UNKNOWN,
)
from mosaic_contracts.evaluations import EVALUATION_RESULT
from mosaic_contracts.exported import ExportedCheckpoint, ImportQuery
from mosaic_contracts.runs import Progress, RunEnd, RunRecord, StoredSpec
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.worker import Algorithm, InspectedCheckpoint
from mosaic_scheduler.admission.admission import display_name
from mosaic_scheduler.executors.inputs import checkpoint_parameters
from mosaic_scheduler.runs.outbox import RunFact

ATTEMPT = 1
_NO_STEP = "The file does not say after how many steps it was saved."


@dataclass(frozen=True)
class StoredFile:
    """A file in the run's folder."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class ImportedCheckpoint:
    """A checkpoint in its place, with all that is known of it."""

    file: StoredFile
    original: StoredFile | None
    """The file as it came, where the worker converted it."""
    asked: ImportQuery
    worker: str
    algorithm: Algorithm
    found: InspectedCheckpoint
    facts: ExportedCheckpoint | None
    """What the exporting stack knew of it; None: the file is no export."""

    @property
    def step(self) -> int | None:
        """Environment steps of its training; None: nothing says it."""
        exported = None if self.facts is None else self.facts.checkpoint.step
        return self.found.step if self.found.step is not None else exported

    @property
    def _spaces(self) -> dict[str, dict[str, Any]] | None:
        return self.found.spaces or (None if self.facts is None else self.facts.checkpoint.spaces)

    @property
    def _packages(self) -> dict[str, str]:
        return self.found.packages or ({} if self.facts is None else self.facts.checkpoint.packages)

    @property
    def _seed(self) -> int | None:
        return self.found.seed if self.facts is None else self.facts.seed

    def record(self, run_id: str, now: datetime) -> RunRecord:
        """The run: it has ended when it begins to exist."""
        spec = RunSpec(
            worker=self.worker,
            algorithm=self.found.algorithm,
            environment=self.found.environment,
            kind=RunKind.IMPORT,
            parameters=self._parameters(),
            record=RecordLevel.METRICS,
            name=self.asked.name,
            tags=self.asked.tag,
            **({} if self._seed is None else {"seed": self._seed}),
        )
        known = None if self.facts is None else self.facts.checkpoint
        step = self.step
        return RunRecord(
            run_id=run_id,
            name=display_name(spec, now),
            spec=StoredSpec.model_validate(spec.model_dump()),
            state=RunState.SUCCEEDED,
            revision=1,
            created_at=now,
            started_at=now,
            first_event_at=now,
            ended_at=now,
            end_recorded_at=now,
            elapsed_s=0.0,
            end=RunEnd(cause=EndCause.COMPLETED, message=self._message()),
            progress=None if step is None else Progress(step=step),
            run_dir=f"{RUNS_DIR}/{run_id}",
            telemetry_pending=True,
            worker_version=None if known is None else known.worker_version,
            worker_lock=None if known is None else known.worker_lock,
            image=None if known is None else known.image,
            notes=[_NO_STEP] if step is None else [],
            tags=list(dict.fromkeys(self.asked.tag)),
        )

    def events(self) -> list[RunFact]:
        """What a worker would have recorded."""
        events = [
            RunFact("config", {"data": self._config()}),
            RunFact("checkpoint", self._checkpoint()),
        ]
        if self.original is not None:
            original = {**_fields(self.original), "kind": "original"}
            events.append(RunFact("artifact", original))
        evaluation = self._evaluation()
        if evaluation is not None:
            events.append(RunFact("extra", {"type": EVALUATION_RESULT, "data": evaluation}))
        return events

    def manifest(self) -> str:
        """Content of `manifest.json`."""
        entry = {
            **_fields(self.file),
            "kind": "checkpoint",
            "step": self.step or 0,
            "reason": REASON_IMPORTED,
            **{name: value for name, value in self._means().items() if value is not None},
        }
        entries = [entry]
        if self.original is not None:
            entries.append({**_fields(self.original), "kind": "original"})
        listed = [{**each, "attempt": ATTEMPT} for each in entries]
        return json.dumps({"v": 1, "artifacts": listed}, indent=1) + "\n"

    def _message(self) -> str:
        form = f" ({self.found.form})" if self.found.form else ""
        words = f"Imported from {self.asked.file}{form}."
        if self.facts is not None:
            words += f" It was exported from run {self.facts.checkpoint.run_id}, {self.facts.checkpoint.path}."
        return words

    def _parameters(self) -> dict[str, Any]:
        """Those of its run that this stack's worker knows; a checkpoint that it began with lies elsewhere."""
        given = self.found.parameters if self.facts is None else self.facts.parameters
        known = self.algorithm.parameters.get("properties", {})
        elsewhere = checkpoint_parameters(self.algorithm)
        return {
            name: value for name, value in given.items() if name in known and name not in elsewhere
        }

    def _means(self) -> dict[str, Any]:
        row = None if self.facts is None else self.facts.checkpoint
        return {
            MEAN_RETURN: None if row is None else row.mean_return_20,
            MEAN_EPISODES: None if row is None else row.mean_return_episodes,
        }

    def _config(self) -> dict[str, Any]:
        found, facts = self.found, self.facts
        config: dict[str, Any] = {
            "algorithm": found.algorithm,
            "environment": found.environment,
            "seed": self._seed,
            "arguments": found.arguments or ({} if facts is None else facts.arguments),
            "num_envs": 1,
            "packages": self._packages,
            "record": RecordLevel.METRICS.value,
            "replay_every": 1,
            "total_steps": None,
            "imported": {
                "file": self.asked.file,
                "form": found.form,
                "exported": None
                if facts is None
                else facts.checkpoint.model_dump(mode="json", exclude={"spaces", "packages"}),
            },
        }
        return config if self._spaces is None else {**config, "spaces": self._spaces}

    def _checkpoint(self) -> dict[str, Any]:
        facts = {**self._means(), NORMALIZER: self.found.normalizer}
        if self.step is None:
            facts[STEP_UNKNOWN] = True
        return {
            **_fields(self.file),
            "step": self.step or 0,
            "reason": REASON_IMPORTED,
            "data": {name: value for name, value in facts.items() if value is not None},
        }

    def _evaluation(self) -> dict[str, Any] | None:
        """The newest evaluation of this file on the exporting stack, for it belongs to the file and not to its run."""
        known = None if self.facts is None else self.facts.checkpoint.evaluation
        if known is None or self.original is not None:
            return None
        return {
            "checkpoint": self.file.path,
            "checkpoint_sha256": self.file.sha256,
            "algorithm": self.found.algorithm,
            "environment": self.found.environment,
            "trained_steps": self.step,
            "greedy": known.greedy,
            "asked": known.episodes,
            "seeds": [],
            "returns": [],
            "lengths": [],
            "mean": known.mean,
            "standard_error": known.standard_error,
            "episodes": known.episodes,
        }


def _fields(file: StoredFile) -> Mapping[str, Any]:
    return {"path": file.path, "sha256": file.sha256, "bytes": file.bytes}
