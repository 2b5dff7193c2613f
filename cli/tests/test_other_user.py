"""A data root that belongs to another user: whose it is and what to set, whatever is asked."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic_cli.errors import HomeUnusable
from mosaic_cli.examination import examine
from mosaic_cli.stack.launch import take_down
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lock import StackLock, is_held, lock_holder
from mosaic_client import StackUnreachable, TokenUnreadable, find_stack
from mosaic_contracts.stack_files import STACK_FILE, TOKEN_FILE

NOBODY = 65534

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to be another user")


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Layout]:
    """A data root of root's, seen by another user."""
    folder = Path(tempfile.mkdtemp(prefix="mosaic-test-"))
    folder.chmod(0o755)
    layout = Layout(root=folder, home=folder / "home", venvs=folder / "venvs")
    layout.home.mkdir()
    layout.prepare_home(0)
    (layout.home / "secrets").mkdir()
    (layout.home / TOKEN_FILE).write_text("secret-of-root\n")
    (layout.home / TOKEN_FILE).chmod(0o600)
    (layout.home / STACK_FILE).write_text('{"gateway_url": "http://127.0.0.1:1"}')
    layout.lock_file.touch(0o644)
    monkeypatch.setenv("MOSAIC_HOME", str(layout.home))
    os.seteuid(NOBODY)
    try:
        yield layout
    finally:
        os.seteuid(0)
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    "act",
    [
        lambda layout: layout.prepare_home(0),
        lambda layout: is_held(layout.lock_file),
        lambda layout: lock_holder(layout.lock_file),
        lambda layout: StackLock.take(layout.lock_file),
        lambda layout: take_down(layout),
        lambda _: find_stack(),
    ],
    ids=["prepare", "is_held", "lock_holder", "take", "take_down", "find_stack"],
)
def test_it_says_whose_it_is_and_what_to_set(
    theirs: Layout, act: Callable[[Layout], object]
) -> None:
    """Nothing is taken for absent that only cannot be read."""
    with pytest.raises((HomeUnusable, StackUnreachable), match="belongs to root, and you are"):
        act(theirs)


def test_the_token_of_another_user_is_named(theirs: Layout) -> None:
    """A stack that can be found, with a token that cannot be read."""
    os.seteuid(0)
    theirs.lock_file.parent.chmod(0o755)
    theirs.stack_file.chmod(0o644)
    os.seteuid(NOBODY)
    with pytest.raises(TokenUnreadable, match=r"belongs to root, .*Set MOSAIC_HOME"):
        find_stack()


def test_doctor_goes_through_all_its_checks(theirs: Layout) -> None:
    """What cannot be read is a finding and ends nothing."""
    found = {finding.where: finding.message for finding in examine(theirs)}
    for where in ("data root", "stack"):
        assert "belongs to root" in found[where]


def test_one_file_of_another_user_is_found_before_anything_starts(theirs: Layout) -> None:
    """As a start with sudo leaves it in a data root of one's own."""
    os.seteuid(0)
    for path in (theirs.home, *theirs.home.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    (theirs.home / "db").mkdir(0o777)
    (theirs.home / "db").chmod(0o777)
    (theirs.home / "db" / "telemetry.sqlite3").touch(0o600)
    os.seteuid(NOBODY)
    with pytest.raises(HomeUnusable, match=r"db/telemetry\.sqlite3 belongs to root"):
        theirs.prepare_home(0)
