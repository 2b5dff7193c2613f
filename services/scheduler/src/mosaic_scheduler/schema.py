"""The tables, as the steps that lead to them. `PRAGMA user_version` says how many a file has behind it."""

_FIRST = """
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
CREATE INDEX runs_by_state ON runs (state, run_id);
CREATE INDEX runs_pending ON runs (run_id) WHERE pending = 1;
CREATE TRIGGER final_states_are_written_once BEFORE UPDATE OF state ON runs
WHEN OLD.state IN ('succeeded', 'failed', 'crashed', 'cancelled', 'timed_out') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a final state is never overwritten'); END;
CREATE TABLE supervisor_events (
    run_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    t_us INTEGER NOT NULL,
    phase TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (run_id, attempt, seq)
) STRICT;
"""

_CHANGES_BY_USERS = """
ALTER TABLE runs ADD COLUMN place INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET place = ordered.place
    FROM (SELECT run_id, row_number() OVER (ORDER BY run_id) AS place FROM runs) AS ordered
    WHERE runs.run_id = ordered.run_id;
CREATE INDEX runs_by_place ON runs (place);
ALTER TABLE runs ADD COLUMN purge_at REAL;
CREATE INDEX runs_to_purge ON runs (purge_at) WHERE purge_at IS NOT NULL;
CREATE TABLE idempotency_keys (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    run_id TEXT NOT NULL,
    created_at REAL NOT NULL
) STRICT;
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_by_run ON idempotency_keys (run_id);
"""
"""Queue places that can be moved, purge times of deleted runs (seconds since the epoch), idempotency keys.
From here on `runs.pending` says that an ended run's outbox is not empty; its record's `telemetry_pending` covers
the scheduler's own events too."""

_METRICS_OF_RUNS = """
ALTER TABLE supervisor_events ADD COLUMN value REAL;
"""
"""With a value the event is a metric, `phase` its name, and `data` may name the step."""

_GPU_LEASES = """
CREATE TABLE gpu_leases (
    token TEXT NOT NULL,
    device TEXT NOT NULL,
    run_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    memory_mb INTEGER,
    taken_at REAL NOT NULL,
    ending INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (token, device)
) STRICT;
CREATE INDEX gpu_leases_by_device ON gpu_leases (device);
"""
"""A row for each device of a lease; without `memory_mb` no other lease may be on it."""

_XMPP_ACCOUNTS = """
CREATE TABLE xmpp_accounts (
    run_id TEXT PRIMARY KEY,
    agents INTEGER NOT NULL,
    domain TEXT NOT NULL
) STRICT;
"""
"""Accounts that may be on the XMPP server, of runs that live or have just ended."""

_LISTED_RUNS = """
CREATE INDEX runs_listed ON runs (
    json_extract(record, '$.deleted_at'),
    run_id,
    json_extract(record, '$.name'),
    json_extract(record, '$.started_at'),
    json_extract(record, '$.ended_at')
);
"""
"""All that a list is filtered and sorted by where nothing else is asked: no record is opened for it."""

_INTERRUPTED_RUNS = """
DROP TRIGGER final_states_are_written_once;
CREATE TRIGGER final_states_are_written_once BEFORE UPDATE OF state ON runs
WHEN OLD.state IN ('succeeded', 'failed', 'crashed', 'cancelled', 'timed_out', 'interrupted') AND NEW.state <> OLD.state
BEGIN SELECT RAISE(ABORT, 'a final state is never overwritten'); END;
"""
"""One more final state."""

_FACTS_OF_IMPORTS = """
ALTER TABLE supervisor_events ADD COLUMN type TEXT;
"""
"""With a type the event is a config, checkpoint, artifact or namespaced event of an import, and `data` its fields."""

_TRIAL_RUNS = """
CREATE TABLE trial_runs (
    sweep TEXT NOT NULL,
    key TEXT NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (sweep, key)
) STRICT, WITHOUT ROWID;
"""
"""Kept as long as the sweep, also after the run was deleted."""

_FILES_OF_RUNS = """
ALTER TABLE runs ADD COLUMN files_state INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_files_due ON runs (files_state) WHERE files_state IN (1, 2);
"""
"""How far the report of the files of an ended run is (`runs.file_reports`). Runs that ended before are reported when
somebody asks for their manifest."""

_REMOVED_FILES = """
CREATE TABLE removed_files (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    path TEXT NOT NULL,
    name BLOB NOT NULL,
    type TEXT NOT NULL,
    kind TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    rule TEXT NOT NULL,
    state INTEGER NOT NULL,
    removed_at REAL NOT NULL,
    expires_at REAL NOT NULL
) STRICT;
CREATE INDEX removed_files_by_run ON removed_files (run_id);
CREATE INDEX removed_files_by_state ON removed_files (state, expires_at);
CREATE TABLE kept_files (
    run_id TEXT NOT NULL,
    path TEXT NOT NULL,
    PRIMARY KEY (run_id, path)
) STRICT, WITHOUT ROWID;
"""
"""Files that retention moves to the trash, with how far each is (`retention.removals`); `name` is the path below the
run's folder as the disk has it. And files that the user brought back, which stay."""
GROUP_OF_RUN = (
    "coalesce(json_extract(record, '$.group.group_id'),"
    " iif(json_extract(record, '$.trial') IS NULL, NULL, json_extract(record, '$.spec.parent')))"
)
"""The group of a run, or the sweep whose trial it belongs to."""
SHOWN_STATE = (
    "iif(state = 'starting' AND json_extract(record, '$.started_at') IS NULL, 'queued', state)"
)
"""The state of a run as lists show it (`mosaic_contracts.states.shown_state`)."""
_GROUPS = f"""
CREATE TABLE groups (
    group_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    spec TEXT NOT NULL,
    places INTEGER NOT NULL,
    created_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX runs_of_groups ON runs ({GROUP_OF_RUN});
"""
"""Kept as long as one of its runs is."""

_ALERTS = """
ALTER TABLE runs ADD COLUMN alerts_state INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_alerts_due ON runs (alerts_state) WHERE alerts_state = 1;
CREATE TABLE alert_rules (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    rule TEXT NOT NULL,
    runs TEXT NOT NULL,
    created_at REAL NOT NULL,
    active_since REAL NOT NULL,
    removed_at REAL
) STRICT;
CREATE TABLE alert_states (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE alerts (
    alert_id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    rule TEXT NOT NULL,
    rule_id TEXT,
    raised_at REAL NOT NULL,
    cleared_at REAL,
    data TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_by_run ON alerts (run_id, key);
CREATE TABLE alert_deliveries (
    delivery TEXT PRIMARY KEY,
    alert_id INTEGER NOT NULL,
    target TEXT NOT NULL,
    state INTEGER NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    due_at REAL NOT NULL,
    problem TEXT NOT NULL DEFAULT '',
    body TEXT NOT NULL
) STRICT;
CREATE INDEX alert_deliveries_due ON alert_deliveries (due_at) WHERE state = 0;
CREATE INDEX alert_deliveries_by_alert ON alert_deliveries (alert_id);
"""
"""Rules for all runs, how far each rule is in each run, alerts, and what is on its way to a target. `runs.alerts_state`
is 1 while rules look at a run (`runs.alert_due`); a `run_id` that is empty means the stack."""
MIGRATIONS = (
    _FIRST,
    _CHANGES_BY_USERS,
    _METRICS_OF_RUNS,
    _GPU_LEASES,
    _XMPP_ACCOUNTS,
    _LISTED_RUNS,
    _INTERRUPTED_RUNS,
    _FACTS_OF_IMPORTS,
    _TRIAL_RUNS,
    _FILES_OF_RUNS,
    _REMOVED_FILES,
    _GROUPS,
    _ALERTS,
)
"""Never change one that was released; append."""
