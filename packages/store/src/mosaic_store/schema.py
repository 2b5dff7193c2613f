"""Tables of the telemetry store and the steps from one version to the next.

SQLite keeps NaN as NULL, so wherever a float may be NaN it is either bytes or NULL with a stated meaning.
"""

import sqlite3

from mosaic_store.errors import StoreForeign

APPLICATION_ID = 0x4D4F5341
"""`MOSA`: distinguishes this file from any other SQLite database."""

_V1 = """
CREATE TABLE run (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    events INTEGER NOT NULL DEFAULT 0,
    steps INTEGER NOT NULL DEFAULT 0,
    global_step INTEGER NOT NULL DEFAULT 0,
    episodes INTEGER NOT NULL DEFAULT 0,
    best_return REAL,              -- over returns that are numbers; NULL: none yet
    recent_returns BLOB,           -- msgpack [[attempt, seq, return], ...], the last 20 in that order
    dropped INTEGER NOT NULL DEFAULT 0,
    quarantined INTEGER NOT NULL DEFAULT 0,
    checkpoints INTEGER NOT NULL DEFAULT 0,
    artifacts INTEGER NOT NULL DEFAULT 0,
    first_us INTEGER,
    last_us INTEGER
);
CREATE TABLE source (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    source TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    next_seq INTEGER NOT NULL,
    missing INTEGER NOT NULL,
    UNIQUE (run, attempt, source)
);
CREATE TABLE hole (                -- ranges of seq below last_seq that are not here
    source INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (source, first)
) WITHOUT ROWID;
CREATE TABLE block (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    seq0 INTEGER NOT NULL,
    n INTEGER NOT NULL,
    t_min_us INTEGER NOT NULL,
    t_max_us INTEGER NOT NULL,
    kinds INTEGER NOT NULL,        -- bit 1 << kind for every kind of record in it
    raw_bytes INTEGER NOT NULL,
    body BLOB NOT NULL             -- zstd frame of a wire batch
);
CREATE UNIQUE INDEX block_seq ON block (source, seq0);
CREATE TABLE episode (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    env INTEGER NOT NULL,
    episode INTEGER NOT NULL,
    start_seq INTEGER NOT NULL,    -- lowest seq of its events
    last_seq INTEGER NOT NULL,     -- highest
    start_us INTEGER NOT NULL,
    steps INTEGER NOT NULL,        -- step events in the store
    end_seq INTEGER,               -- NULL: not ended
    end_us INTEGER,
    length INTEGER,
    episode_return REAL,           -- NULL with an end_seq: NaN
    flags INTEGER,
    global_step INTEGER,
    PRIMARY KEY (run, attempt, env, episode)
) WITHOUT ROWID;
CREATE INDEX episode_begun ON episode (run, attempt, start_seq);
CREATE TABLE series (              -- one metric of one source of one attempt
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL,
    name TEXT NOT NULL,
    points INTEGER NOT NULL,
    open_points INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_step INTEGER,
    last_value BLOB NOT NULL,      -- 8 bytes, so that NaN stays NaN
    UNIQUE (source, name)
);
CREATE TABLE tail (                -- points that are not in a chunk yet
    series INTEGER NOT NULL,
    seq_min INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (series, seq_min)
) WITHOUT ROWID;
CREATE TABLE chunk (
    series INTEGER NOT NULL,
    seq_min INTEGER NOT NULL,
    seq_max INTEGER NOT NULL,
    n INTEGER NOT NULL,
    groups BLOB NOT NULL,          -- one summary for 64 points
    PRIMARY KEY (series, seq_min)
) WITHOUT ROWID;
CREATE TABLE chunk_body (          -- apart, so that a curve of a million points reads the summaries only
    id INTEGER PRIMARY KEY,
    series INTEGER NOT NULL,
    seq_min INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE UNIQUE INDEX chunk_body_key ON chunk_body (series, seq_min);
CREATE TABLE config (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,            -- msgpack
    PRIMARY KEY (run, attempt)
) WITHOUT ROWID;
CREATE TABLE artifact (
    run INTEGER NOT NULL,
    path TEXT NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,  -- of the newest announcement; 0: only its removal is known
    seq INTEGER NOT NULL DEFAULT 0,
    gone_attempt INTEGER NOT NULL DEFAULT 0,
    gone_seq INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL DEFAULT 'unknown',
    bytes INTEGER NOT NULL DEFAULT 0,
    sha256 TEXT,
    step INTEGER,
    reason TEXT,
    t_us INTEGER,
    PRIMARY KEY (run, path)
) WITHOUT ROWID;
CREATE TABLE quarantine (
    id INTEGER PRIMARY KEY,
    run INTEGER,                   -- NULL: not even the run could be told
    subject TEXT NOT NULL,
    stream_seq INTEGER NOT NULL,
    header TEXT NOT NULL,
    reason TEXT NOT NULL,
    at_us INTEGER NOT NULL,
    size INTEGER NOT NULL,
    payload BLOB                   -- NULL: the run has too many of them already
);
CREATE INDEX quarantine_run ON quarantine (run);
CREATE TABLE stream_cursor (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    incarnation TEXT NOT NULL,
    seq INTEGER NOT NULL
);
"""

_V2 = """
CREATE TABLE played (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    env INTEGER NOT NULL,
    last_episode INTEGER NOT NULL, -- highest number of an episode that ended
    PRIMARY KEY (run, attempt, env)
) WITHOUT ROWID;
INSERT INTO played SELECT run, attempt, env, MAX(episode) FROM episode
    WHERE end_seq IS NOT NULL AND episode >= 0 GROUP BY run, attempt, env;
ALTER TABLE run ADD COLUMN episodes_played INTEGER NOT NULL DEFAULT 0;
UPDATE run SET episodes_played=
    (SELECT CAST(MIN(TOTAL(last_episode + 1), 4e18) AS INTEGER) FROM played WHERE played.run=run.id);
"""

_V3 = """
ALTER TABLE artifact ADD COLUMN env INTEGER;
ALTER TABLE artifact ADD COLUMN episode INTEGER;
"""

_V4 = """
ALTER TABLE artifact ADD COLUMN mean_return REAL;
ALTER TABLE artifact ADD COLUMN facts BLOB;
CREATE INDEX artifact_checkpoint ON artifact (run) WHERE kind = 'checkpoint';
CREATE TABLE evaluation (
    run INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    t_us INTEGER NOT NULL,
    sha256 TEXT NOT NULL,          -- digest of the evaluated file
    mean REAL,
    result BLOB NOT NULL,          -- msgpack of the event's data
    PRIMARY KEY (run, attempt, seq)
) WITHOUT ROWID;
CREATE INDEX evaluation_file ON evaluation (sha256);
"""
"""Facts of a checkpoint: msgpack of its event's data; NULL: an older store did not keep them."""

_V5 = """
ALTER TABLE artifact ADD COLUMN seen_attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artifact ADD COLUMN seen_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE artifact ADD COLUMN seen_kind TEXT;
ALTER TABLE artifact ADD COLUMN seen_type TEXT;
ALTER TABLE artifact ADD COLUMN seen_bytes INTEGER;
ALTER TABLE artifact ADD COLUMN seen_sha256 TEXT;
ALTER TABLE artifact ADD COLUMN seen_us INTEGER;
ALTER TABLE artifact ADD COLUMN seen_name TEXT;
ALTER TABLE artifact ADD COLUMN gone_reason TEXT;
CREATE TABLE file_report (
    run INTEGER PRIMARY KEY,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    t_us INTEGER NOT NULL,
    unlisted_files INTEGER NOT NULL,
    unlisted_bytes INTEGER NOT NULL
);
CREATE TABLE tracked (
    run INTEGER NOT NULL,
    tracker TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,            -- msgpack of the event's data
    PRIMARY KEY (run, tracker)
) WITHOUT ROWID;
"""
"""What the folder of a run had when it was last looked at after its end, with the event that says so; `seen_us` is the
time of the file's last change. And the run at its trackers, as it last reported."""

_V6 = """
ALTER TABLE run ADD COLUMN thinned_steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN stored_bytes INTEGER NOT NULL DEFAULT 0;
UPDATE run SET stored_bytes=
    (SELECT TOTAL(LENGTH(body)) FROM block WHERE source IN (SELECT id FROM source WHERE source.run=run.id));
ALTER TABLE episode ADD COLUMN thinned_steps INTEGER NOT NULL DEFAULT 0;
CREATE TABLE thinning (
    run INTEGER PRIMARY KEY,
    every INTEGER NOT NULL,        -- steps stay of episodes whose number is a multiple; 0: of none
    rule TEXT NOT NULL,            -- what asked for it
    events INTEGER NOT NULL,       -- of the run when it began: with more of them it begins again
    source INTEGER NOT NULL,       -- blocks up to (source, seq0) are thinned
    seq0 INTEGER NOT NULL,
    done INTEGER NOT NULL,
    at_us INTEGER NOT NULL
);
"""
"""Steps that were removed on purpose, and the bytes of a run's blocks. `run.steps` counts what was recorded,
`episode.steps` what is stored. A thinned block keeps the columns of its whole range (seq0, n, t_max_us); without a
record left, its `kinds` is 0 and its `body` is empty."""

_V7 = """
CREATE TABLE media (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    kind TEXT NOT NULL,            -- text, histogram or image
    name TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    step INTEGER,
    t_us INTEGER NOT NULL,
    bytes INTEGER NOT NULL,        -- of the value
    value BLOB NOT NULL            -- msgpack of the event's data without name and step
);
CREATE UNIQUE INDEX media_value ON media (run, kind, name, attempt, seq, step, bytes);
"""
"""Texts, histograms and descriptions of images, so that the values of one name are found without reading blocks."""

MIGRATIONS: tuple[str, ...] = (_V1, _V2, _V3, _V4, _V5, _V6, _V7)
"""Step i brings a store from version i to i + 1. Published steps never change."""

SCHEMA_VERSION = len(MIGRATIONS)


def stored_version(db: sqlite3.Connection) -> int:
    """Version of the open file; 0 for an empty one.

    Raises:
        StoreForeign: not a telemetry store, or one of a newer version.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    application = int(db.execute("PRAGMA application_id").fetchone()[0])
    empty = db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not empty and application != APPLICATION_ID:
        raise StoreForeign("this file is not a MOSAIC telemetry store; name another path")
    if version > SCHEMA_VERSION:
        raise StoreForeign(
            f"the telemetry store has version {version}, this MOSAIC knows {SCHEMA_VERSION};"
            " nothing was changed: update MOSAIC, or name another MOSAIC_HOME"
        )
    return version


def migrate(db: sqlite3.Connection) -> None:
    """Bring the file to SCHEMA_VERSION, each step in a transaction of its own.

    Raises:
        StoreForeign: see `stored_version`.
        sqlite3.Error: a step failed and was rolled back; the file is as it was.
    """
    for version in range(stored_version(db), SCHEMA_VERSION):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in MIGRATIONS[version].split(";\n"):
                if statement.strip():
                    db.execute(statement)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            db.execute(f"PRAGMA user_version = {version + 1}")
            db.execute("COMMIT")
        except sqlite3.Error:
            db.execute("ROLLBACK")
            raise
