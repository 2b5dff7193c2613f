-- A scheduler's database of version 1, as `.dump` gives it.
BEGIN TRANSACTION;
CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    revision INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    event_attempt INTEGER NOT NULL DEFAULT 0,
    event_seq INTEGER NOT NULL DEFAULT 0,
    record TEXT NOT NULL
) STRICT;
INSERT INTO "runs" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA1','queued',1,0,'nonce',1,1,'{"run_id": "01ARZ3NDEKTSV4RRFFQ69G5FA1", "name": "run 1", "spec": {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0", "kind": "train", "seed": 1, "steps": null, "parameters": {}, "record": "replay", "replay_every": 1, "checkpoint_every_steps": null, "wall_time_s": null, "start_deadline_s": 120.0, "grace_s": 20.0, "cpus": 1, "gpus": 0, "outbox_bytes": 1073741824, "when_outbox_full": "wait", "name": null, "parent": null}, "state": "queued", "revision": 1, "attempt": 1, "waiting_reason": null, "position": null, "unresponsive": false, "stop_requested": null, "created_at": "2030-01-01T00:00:00Z", "started_at": null, "first_event_at": null, "ended_at": null, "end": null, "progress": null, "run_dir": "runs/01ARZ3NDEKTSV4RRFFQ69G5FA1", "telemetry_pending": false, "worker_version": null, "notes": []}');
INSERT INTO "runs" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA0','queued',1,0,'nonce',1,1,'{"run_id": "01ARZ3NDEKTSV4RRFFQ69G5FA0", "name": "run 0", "spec": {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0", "kind": "train", "seed": 1, "steps": null, "parameters": {}, "record": "replay", "replay_every": 1, "checkpoint_every_steps": null, "wall_time_s": null, "start_deadline_s": 120.0, "grace_s": 20.0, "cpus": 1, "gpus": 0, "outbox_bytes": 1073741824, "when_outbox_full": "wait", "name": null, "parent": null}, "state": "queued", "revision": 1, "attempt": 1, "waiting_reason": null, "position": null, "unresponsive": false, "stop_requested": null, "created_at": "2030-01-01T00:00:00Z", "started_at": null, "first_event_at": null, "ended_at": null, "end": null, "progress": null, "run_dir": "runs/01ARZ3NDEKTSV4RRFFQ69G5FA0", "telemetry_pending": false, "worker_version": null, "notes": []}');
INSERT INTO "runs" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA2','cancelled',2,1,'nonce',1,2,'{"run_id": "01ARZ3NDEKTSV4RRFFQ69G5FA2", "name": "run 2", "spec": {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0", "kind": "train", "seed": 1, "steps": null, "parameters": {}, "record": "replay", "replay_every": 1, "checkpoint_every_steps": null, "wall_time_s": null, "start_deadline_s": 120.0, "grace_s": 20.0, "cpus": 1, "gpus": 0, "outbox_bytes": 1073741824, "when_outbox_full": "wait", "name": null, "parent": null}, "state": "cancelled", "revision": 2, "attempt": 1, "waiting_reason": null, "position": null, "unresponsive": false, "stop_requested": null, "created_at": "2030-01-01T00:00:00Z", "started_at": null, "first_event_at": null, "ended_at": null, "end": null, "progress": null, "run_dir": "runs/01ARZ3NDEKTSV4RRFFQ69G5FA2", "telemetry_pending": true, "worker_version": null, "notes": []}');
CREATE TABLE supervisor_events (
    run_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    t_us INTEGER NOT NULL,
    phase TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run_id, attempt, seq)
) STRICT;
INSERT INTO "supervisor_events" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA1',1,1,1795849129233619,'queued','{"attempt": 1, "cause": null, "message": null, "exit_code": null, "signal": null}');
INSERT INTO "supervisor_events" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA0',1,1,1795849129235552,'queued','{"attempt": 1, "cause": null, "message": null, "exit_code": null, "signal": null}');
INSERT INTO "supervisor_events" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA2',1,1,1795849129238447,'queued','{"attempt": 1, "cause": null, "message": null, "exit_code": null, "signal": null}');
INSERT INTO "supervisor_events" VALUES('01ARZ3NDEKTSV4RRFFQ69G5FA2',1,2,1795849129241377,'cancelled','{"attempt": 1, "cause": null, "message": null, "exit_code": null, "signal": null}');
CREATE INDEX runs_by_state ON runs (state, run_id);
CREATE INDEX runs_pending ON runs (run_id) WHERE pending = 1;
CREATE TRIGGER final_states_are_written_once BEFORE UPDATE OF state ON runs
WHEN OLD.state IN ('succeeded', 'failed', 'crashed', 'cancelled', 'timed_out') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a final state is never overwritten'); END;
COMMIT;
PRAGMA user_version = 1;
