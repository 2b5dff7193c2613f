"""An older checkout on data of a newer one: refused at once, in one sentence, by `up` itself."""

import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from stack_under_test import StackUnderTest, link_environments

from mosaic_contracts.stack_files import SCHEDULER_DB, TELEMETRY_DB

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def used() -> Iterator[StackUnderTest]:
    """A stack that was up once and is down."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as made:
        folder = Path(made)
        stack = StackUnderTest(folder / "home", link_environments(folder / "venvs"))
        stack.start()
        stack.stop()
        yield stack


def test_newer_data_is_refused_in_one_sentence(used: StackUnderTest) -> None:
    """`up -d` names service, file and remedy, leaves the file as it is, and starts once it is an older one."""
    check_refusal(used, TELEMETRY_DB, "recorder")
    check_refusal(used, SCHEDULER_DB, "scheduler")
    used.start()
    used.stop()


def check_refusal(used: StackUnderTest, name: str, service: str) -> None:
    """A start on a database of a newer version, whose version is as before afterwards."""
    path = used.home / name
    with sqlite3.connect(path) as database:
        (known,) = database.execute("PRAGMA user_version").fetchone()
        database.execute("PRAGMA user_version = 99")
    database.close()
    done = used.cli("up", "-d")
    assert done.returncode == 6
    told = done.stderr.strip().splitlines()[-1]
    assert told.startswith(f"mosaic: The {service} cannot start: {path}")
    assert "update MOSAIC" in told
    assert "Traceback" not in done.stderr + done.stdout
    assert used.leftovers() == []
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (99,)
        database.execute(f"PRAGMA user_version = {known}")
    database.close()
