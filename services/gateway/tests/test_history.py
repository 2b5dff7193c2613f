"""Reads of the store: bounded, and failures reported as problems."""

from pathlib import Path

import pytest

from mosaic_contracts.problems import ProblemError
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
