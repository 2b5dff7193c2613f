"""The telemetry store: one SQLite file, block blobs; a writer and a reader."""
