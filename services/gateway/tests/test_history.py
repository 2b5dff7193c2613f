"""Reads of the store: bounded, and failures reported as problems."""

import sqlite3
from pathlib import Path

import pytest

from mosaic_contracts.problems import ProblemError
from mosaic_gateway import telemetry_queries as queries
from mosaic_gateway.history import History
from mosaic_store import Reader, open_writer
from mosaic_store.testing import RUN_ID

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"


async def test_a_read_that_goes_on_is_given_up_and_frees_its_thread(tmp_path: Path) -> None:
    """A slow query is a problem within the bound, and the only thread serves the next read."""
    path = tmp_path / "telemetry.sqlite3"

    def endless(reader: Reader) -> int:
        with reader._pool.lend() as db:
            return int(db.execute(ENDLESS).fetchone()[0])

    with open_writer(path):
        history = History(path, threads=1, timeout_s=0.5)
        with pytest.raises(ProblemError, match=r"longer than 0\.5 s") as caught:
            await history.read(endless, 0)
        assert caught.value.problem.code == "store_unavailable"
        assert await history.marks(RUN_ID) == []
        await history.close()


async def test_an_older_store_gives_no_empty_export(tmp_path: Path) -> None:
    """Until the recorder has brought it up to date, a page without events would be the end of the run."""
    path = tmp_path / "telemetry.sqlite3"
    history = History(path, threads=1)
    assert (await queries.batches(history, RUN_ID, "", None)).frames == []
    with open_writer(path):
        assert (await queries.batches(history, RUN_ID, "", None)).frames == []
    await history.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 1")
    db.close()
    history = History(path, threads=1)
    with pytest.raises(ProblemError, match="brings it up to date") as refused:
        await queries.batches(history, RUN_ID, "", None)
    assert refused.value.problem.code == "store_unavailable"
    with pytest.raises(ProblemError, match="brings it up to date"):
        await queries.events(history, RUN_ID, "", 10, None)
    assert await history.marks(RUN_ID) == []
    await history.close()
