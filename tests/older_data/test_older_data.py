"""Stores and run folders that an older MOSAIC made open in this one, and hold what they held."""

import hashlib
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stack_under_test import StackUnderTest, link_environments, until

from mosaic_contracts.manifest import PRIVATE_DIRS
from mosaic_contracts.manifest_words import RUN_FILES, FileType

HERE = Path(__file__).parent
CHANGED_BY_REPORT = {
    *("revision", "telemetry_pending"),
    *("summary.events", "summary.last_t", "summary.sources"),
}
"""Fields that change when the janitor has an older run's files reported, which is one more event."""


@pytest.fixture(scope="module", params=sorted(HERE.glob("*.tar.xz")), ids=lambda path: path.name)
def stack(request: pytest.FixtureRequest) -> Iterator[StackUnderTest]:
    """This version's stack on the data root of an older one."""
    with tempfile.TemporaryDirectory(prefix="mosaic-test-") as folder:
        home = Path(folder) / "home"
        with tarfile.open(request.param) as archive:
            archive.extractall(home, filter="data")
        venvs = link_environments(Path(folder) / "venvs", "worker_cleanrl")
        under_test = StackUnderTest(home, venvs)
        try:
            under_test.start()
            yield under_test
        finally:
            under_test.stop()


def expected(stack: StackUnderTest, name: str) -> str:
    """What the older version printed."""
    return (stack.home / "expected" / name).read_text("utf-8")


def test_runs_are_listed_as_before(stack: StackUnderTest) -> None:
    """Each run has its name, state, end, tags, note and figures, but for what a report of its files adds."""
    now = json.loads(stack.cli("ps", "--json").stdout)
    before = json.loads(expected(stack, "ps.json"))
    for was, run in zip(before, now, strict=True):
        assert set(differences(was, run)) <= CHANGED_BY_REPORT


def test_every_event_is_what_it_was(stack: StackUnderTest) -> None:
    """The export has the same lines, after them at most the report of its files; the episodes are the same."""
    exported = stack.home / "events.jsonl"
    done = stack.cli("export", "last", "-o", str(exported))
    assert done.returncode == 0, done.stderr
    before = expected(stack, "events.jsonl").splitlines()
    now = exported.read_text("utf-8").splitlines()
    assert now[: len(before)] == before
    assert {json.loads(line)["type"] for line in now[len(before) :]} <= {RUN_FILES}
    episodes = json.loads(stack.cli("episodes", "last", "--json").stdout)
    older = json.loads(expected(stack, "episodes.json"))
    for was, episode in zip(older, episodes, strict=True):
        assert differences(was, episode) == []


def test_an_older_run_has_a_complete_manifest(stack: StackUnderTest) -> None:
    """At the first request, with the digest of every file; the second one has it from the store."""
    with stack.client() as client:
        runs = client.runs().runs
        assert runs
        for run in runs:
            first = client.manifest(run.run_id)
            folder = stack.run_dir(run.run_id)
            there = [each for each in first.entries if each.state.is_there]
            assert {each.path: each.sha256 for each in there if each.type is FileType.FILE} == {
                path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
                for path in folder.rglob("*")
                if path.is_file() and path.relative_to(folder).parts[0] not in PRIVATE_DIRS
            }
            assert any(each.announced for each in first.entries)

            def is_reported(run_id: str = run.run_id) -> bool:
                return client.manifest(run_id).reported_at is not None

            until(is_reported, "the report is stored", 60)
            assert client.manifest(run.run_id).entries == first.entries


def test_an_older_run_can_be_repeated(stack: StackUnderTest) -> None:
    """`check` of its spec has nothing against it, and `retry` starts it again."""
    done = stack.cli("retry", "last", "-d", "--json")
    assert done.returncode == 0, done.stderr
    run_id = json.loads(done.stdout)["run_id"]
    view = stack.wait_final(run_id)
    assert view.state == "succeeded", view.end


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Fields that an older version gave and that are gone or have another value; new ones may come, inside too."""
    found = []
    for key, value in before.items():
        other = now.get(key, "gone")
        if isinstance(value, dict) and isinstance(other, dict):
            found += [f"{key}.{inner}" for inner in differences(value, other)]
        elif value != other:
            found.append(key)
    return found
