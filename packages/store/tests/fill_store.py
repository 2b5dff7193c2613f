"""Fill a store with every kind of row, by the mosaic_store that PYTHONPATH names, and write down what it reads of it.

tests/older_data/make_databases.py runs this with the code of older versions; it uses what all of them have.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from mosaic_contracts import wire
from mosaic_store import StreamCursor, open_reader, open_writer, read_batch, schema
from mosaic_store.testing import METRIC, RUN_ID, T0_US, messages

OTHER = "01JGXSYNTHET1CRVN000000001"
FILES: list[wire.Record] = [
    wire.Config(1, 0, {"spaces": {}, "algorithm": "ppo"}),
    wire.Checkpoint(2, 10, "checkpoints/a.pt", 5, "ab" * 32, 7, "periodic", {"mean_return": 3.5}),
    wire.Checkpoint(3, 20, "checkpoints/b.pt", 9, "cd" * 32, 8, "final", {"mean_return": 4.5}),
    wire.Artifact(4, 30, "videos/e.mp4", "video", 99, None, {"step": 5, "env": 0, "episode": 2}),
    wire.ArtifactPruned(5, 40, "checkpoints/a.pt", "quota"),
    wire.Extra(6, 50, "evaluation.result", {"checkpoint_sha256": "cd" * 32, "mean": 5.0}),
    wire.Metric(7, 60, "loss", 9, float("nan")),
    wire.EpisodeStart(8, 70, 0, 0, {"way": "seed", "seed": 1}, b"12345678"),
    wire.Step(9, 80, 0, 0, 1, 0, 1.0, 0, b"12345678"),
]
STATES: list[wire.Record] = [
    wire.Lifecycle(1, 0, "running"),
    wire.Lifecycle(2, 90, "succeeded"),
]


def batch(records: list[wire.Record], source: str = "worker") -> Any:
    """A batch of the other run, ready for the writer."""
    head = wire.BatchHead(OTHER, 1, source, records[0].seq, len(records))
    raw = wire.join_batch(head, T0_US, b"".join(wire.encode_record(r) for r in records))
    return read_batch(raw, "identity")


def fill(path: Path) -> None:
    """50 episodes of a synthetic run, and a run with files, states and a gap."""
    with open_writer(path) as writer:
        synthetic = [read_batch(m.payload, m.encoding) for m in messages(1001, 100)]
        writer.apply(synthetic, StreamCursor("one", 10))
        writer.apply([batch(FILES), batch(STATES, "supervisor")], StreamCursor("one", 12))
        writer.apply([batch([wire.Log(20, 100, "info", "late")])], StreamCursor("one", 13))


def contents(path: Path) -> dict[str, Any]:
    """All that readers give of it."""
    runs: dict[str, Any] = {}
    with open_reader(path) as reader:
        for run_id in (RUN_ID, OTHER):
            events = reader.events(run_id, limit=10_000).events
            digest = hashlib.sha256(json.dumps(events, sort_keys=True).encode()).hexdigest()
            runs[run_id] = {
                "summary": plain(reader.summary(run_id)),
                # of the many the digest; the few may have gained fields
                "events": events if run_id == OTHER else digest,
                "count": len(events),
                "episodes": plain(reader.episodes(run_id, limit=1000))["episodes"],
                "artifacts": [plain(row) for row in reader.artifacts(run_id)],
                "metrics": [plain(name) for name in reader.metric_names(run_id)],
            }
        curve = plain(reader.curve(RUN_ID, METRIC, buckets=20))
    return {"runs": runs, "curve": curve}


def plain(model: Any) -> Any:
    """A model as JSON has it."""
    return json.loads(model.model_dump_json(by_alias=True))


def main() -> None:
    """Fill the store that the first argument names; the second is the file for its contents."""
    path = Path(sys.argv[1])
    fill(path)
    found = {"version": schema.SCHEMA_VERSION, **contents(path)}
    Path(sys.argv[2]).write_text(json.dumps(found, sort_keys=True), "utf-8")


if __name__ == "__main__":
    main()
