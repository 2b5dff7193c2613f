"""An older checkout on data of a newer one: refused at once, in one sentence, by `up` itself."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from stack_under_test import StackUnderTest

from mosaic_contracts.stack_files import SCHEDULER_DB, TELEMETRY_DB

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def down(stack: StackUnderTest) -> Iterator[StackUnderTest]:
    """The stack of this folder while it is down. It is up again for the next test, whatever came of this one."""
    stack.stop()
    yield stack
    if not stack.leftovers():
        stack.start()


def test_newer_data_is_refused_in_one_sentence(down: StackUnderTest) -> None:
    """`up -d` names service, file and remedy, leaves the file as it is, and starts once it is an older one."""
    check_refusal(down, TELEMETRY_DB, "recorder")
    check_refusal(down, SCHEDULER_DB, "scheduler")
    down.start()


def check_refusal(down: StackUnderTest, name: str, service: str) -> None:
    """A start on a database of a newer version, whose version is as before afterwards."""
    path = down.home / name
    with newer(down, name):
        done = down.cli("up", "-d")
        assert done.returncode == 6
        refusal = done.stderr.strip().splitlines()[-1]
        assert refusal.startswith(f"mosaic: The {service} cannot start: {path}")
        assert "update MOSAIC" in refusal
        assert "Traceback" not in done.stderr + done.stdout
        assert down.leftovers() == []
        assert version(down, name) == 99


@contextmanager
def newer(down: StackUnderTest, name: str) -> Iterator[None]:
    """A database that says that it is of a newer version."""
    known = version(down, name)
    set_version(down, name, 99)
    try:
        yield
    finally:
        set_version(down, name, known)


def version(down: StackUnderTest, name: str) -> int:
    """What a database says of itself."""
    with closing(sqlite3.connect(down.home / name)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def set_version(down: StackUnderTest, name: str, number: int) -> None:
    """Have a database say so."""
    with closing(sqlite3.connect(down.home / name)) as database, database:
        database.execute(f"PRAGMA user_version = {number}")
