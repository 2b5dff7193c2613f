"""Steps of an ended run are thinned by its storage profile, and everybody says the truth about them afterwards."""

import json

import pytest
from stack_under_test import StackUnderTest, until

from mosaic_contracts.runs import RunView

pytestmark = pytest.mark.timeout(240)

PROFILES = """
automatic: false
profiles:
  thin:
    steps_every: 10
"""
EVENTS = 20_000


@pytest.fixture(scope="module")
def thinned(stack: StackUnderTest) -> RunView:
    """A run that was thinned by `gc`, while the recorder was killed.

    On the stack of all tests: only runs that name the profile are thinned by it.
    """
    (stack.home / "storage_profiles.yaml").write_text(PROFILES)
    run = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        storage_profile="thin",
        parameters={"events": EVENTS, "rate": 0},
    )
    stack.wait_final(run.run_id, 120)
    until(lambda: not stack.run(run.run_id).telemetry_pending, "all of it is stored", 60)
    stack.kill_service("recorder")

    def is_thinned() -> bool:
        """`gc` may come while the recorder is away, and says so."""
        stack.cli("gc", "--run", run.run_id, "--json")
        summary = stack.run(run.run_id).summary
        return summary is not None and summary.thinned_steps > 0

    is_thinned()
    stack.wait_ready()
    until(is_thinned, "the steps are thinned", 60)
    return stack.run(run.run_id)


def test_the_run_says_what_was_removed(stack: StackUnderTest, thinned: RunView) -> None:
    """Every count is there, nothing counts as lost, and the rule is named."""
    summary = thinned.summary
    assert summary is not None
    assert (summary.gaps, summary.events >= EVENTS) == (0, True)
    assert "storage profile thin" in summary.thinned_by
    with stack.client() as client:
        rows = list(client.each_episode(thinned.run_id))
    ended = [row for row in rows if row.length is not None]
    assert len(ended) > 100
    assert {row.recorded_steps > 0 for row in ended if row.episode % 10 == 0} == {True}
    assert {row.recorded_steps for row in ended if row.episode % 10} == {0}
    assert sum(row.thinned_steps for row in rows) == summary.thinned_steps
    shown = stack.cli("show", thinned.run_id).stdout
    assert f"{summary.thinned_steps:,} steps thinned by storage profile thin" in shown


def test_an_export_says_what_it_lacks(stack: StackUnderTest, thinned: RunView) -> None:
    """Its lines are the events that are left, in order, and the message counts the others."""
    path = stack.home / "run.jsonl"
    done = stack.cli("export", thinned.run_id, "-o", str(path))
    assert done.returncode == 0, done.stderr
    summary = thinned.summary
    assert summary is not None
    assert f"{summary.thinned_steps:,} steps that were removed" in done.stderr
    events = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(events) == summary.events - summary.thinned_steps
    worker = [event for event in events if event["source"] == "worker"]
    assert [event["seq"] for event in worker] == sorted({event["seq"] for event in worker})
    assert {event["episode"] % 10 for event in worker if event["type"] == "step"} == {0}


def test_a_thinned_episode_is_not_replayed(stack: StackUnderTest, thinned: RunView) -> None:
    """The command line says what became of its steps, and where others have theirs."""
    done = stack.cli("replay", thinned.run_id, "--episode", "7", "--verify")
    assert done.returncode != 0
    assert "removed to free space" in done.stderr
    assert "episodes" in done.stderr
    listed = stack.cli("episodes", thinned.run_id).stdout
    assert "thinned" in listed


def test_an_archive_has_what_is_left(stack: StackUnderTest, thinned: RunView) -> None:
    """Its events are those of the store, and it is whole."""
    path = stack.home / "run.zip"
    done = stack.cli("archive", thinned.run_id, "-o", str(path), "--json")
    assert done.returncode == 0, done.stderr
    summary = thinned.summary
    assert summary is not None
    left = summary.events - summary.thinned_steps
    (run,) = json.loads(done.stdout)["runs"]
    assert run["events"] == left


def test_the_size_of_the_store_is_shown(stack: StackUnderTest, thinned: RunView) -> None:
    """`status` and `doctor` have a line for it."""
    assert thinned.summary is not None
    assert "Store: " in stack.cli("status").stdout
    found = json.loads(stack.cli("doctor", "--json").stdout)["findings"]
    (line,) = [finding for finding in found if finding["where"] == "store"]
    assert line["level"] == "ok"
    assert "write-ahead log" in line["message"]
