"""A real CleanRL run through the real system: what a person can ask for afterwards."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from audit import plain_values
from stack_under_test import StackUnderTest, last_json, link_environments

from mosaic_contracts.manifest import PRIVATE_DIRS
from mosaic_contracts.manifest_words import FileType
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState


def refuse_constant(word: str) -> NoReturn:
    """A bare NaN or Infinity is no JSON."""
    raise AssertionError(f"{word} in JSON")


def strict_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Lines of a JSON-lines file, parsed strictly."""
    with path.open() as lines:
        for line in lines:
            yield json.loads(line, parse_constant=refuse_constant)


def test_every_episode_is_the_sum_of_its_steps(stack: StackUnderTest, trained: RunView) -> None:
    """Each finished episode has as many stored steps as its length, and their rewards sum to its return."""
    with stack.client() as client:
        rows = client.episodes(trained.run_id, None, 1000).episodes
        finished = [row for row in rows if row.length is not None]
        assert len(finished) > 50
        for row in finished[::10]:
            page = client.steps(trained.run_id, row.attempt, row.env, row.episode)
            steps = [e for e in page.events if e["type"] == "step"]
            assert len(steps) == row.length
            assert sum(e["reward"] for e in steps) == row.episode_return
            assert all(len(e["observation"]) == 4 for e in steps)
            # CleanRL seeds the first reset only; from then on the generator's state rebuilds an episode.
            assert page.events[0]["reset"]["way"] == ("generator" if row.episode else "seed")


def test_summary_counts_what_is_stored(stack: StackUnderTest, trained: RunView) -> None:
    """Steps and episodes of the summary are those of the script; nothing is missing or dropped."""
    summary = trained.summary
    assert summary is not None
    assert summary.steps == trained.spec.steps
    assert (summary.gaps, summary.dropped, summary.quarantined) == (0, 0, 0)
    mark = next(m for m in summary.sources if m.source == "worker")
    assert mark.next_seq == mark.last_seq + 1


def test_metrics_of_the_script_are_there(stack: StackUnderTest, trained: RunView) -> None:
    """Every tag that the script gives its SummaryWriter is a metric with its points."""
    with stack.client() as client:
        names = {m.name: m for m in client.metrics(trained.run_id)}
        assert {"charts/episodic_return", "charts/learning_rate", "losses/value_loss"} <= set(names)
        curve = client.curve(trained.run_id, "charts/learning_rate", buckets=100)
        assert (
            curve.points == names["charts/learning_rate"].points == (trained.spec.steps or 0) // 512
        )
        assert sum(bucket.n for bucket in curve.buckets) == curve.points


def test_checkpoint_can_be_fetched_whole(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """The final checkpoint and the TensorBoard folder are announced; a download has the announced digest."""
    with stack.client() as client:
        rows = client.artifacts(trained.run_id)
        final = [row for row in rows if row.kind == "checkpoint" and row.reason == "final"]
        assert len(final) == 1
        target = tmp_path / "final.pt"
        client.download(trained.run_id, final[0].path, target)
        assert hashlib.sha256(target.read_bytes()).hexdigest() == final[0].sha256
        manifest = client.manifest(trained.run_id)
    folder = stack.run_dir(trained.run_id)
    assert {each.path: each.sha256 for each in manifest.entries if each.type is FileType.FILE} == {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.relative_to(folder).parts[0] not in PRIVATE_DIRS
    }
    assert list((stack.run_dir(trained.run_id) / "tensorboard").rglob("events.out.tfevents.*"))


def test_export_is_the_whole_stream(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """`export --jsonl` has every stored event as strict JSON, contiguous for each source."""
    target = tmp_path / "run.jsonl"
    done = stack.cli("export", trained.run_id, "--jsonl", "-o", str(target))
    assert done.returncode == 0, done.stderr
    last: dict[str, int] = {}
    count = 0
    for event in strict_lines(target):
        assert event["seq"] == last.get(event["source"], 0) + 1
        last[event["source"]] = event["seq"]
        count += 1
    assert trained.summary is not None
    assert count == trained.summary.events


def submit_again(stack: StackUnderTest, trained: RunView) -> RunView:
    """A run of the same spec and seed, which is the same run: episodes, steps and losses, value by value."""
    spec = trained.spec
    return stack.submit("cleanrl", "ppo", "CartPole-v1", steps=spec.steps, record="full", seed=3)


@pytest.fixture(scope="module")
def whole(stack: StackUnderTest, trained: RunView) -> list[dict[str, Any]]:
    """Values of the unharmed run, which the tests only read."""
    return plain_values(stack.home, trained.run_id)


def assert_whole(stack: StackUnderTest, view: RunView) -> None:
    """Nothing of it is missing, and nothing of it lives."""
    assert view.summary is not None
    assert view.summary.gaps == 0
    assert stack.processes_of(view.run_id) == []


@pytest.mark.kill
def test_a_real_run_survives_kills(
    stack: StackUnderTest, trained: RunView, whole: list[dict[str, Any]]
) -> None:
    """With every part on the way into the store killed, one after the other, the store has the unharmed run's values.

    `tests/kills` kills each part alone.
    """
    view = submit_again(stack, trained)
    stack.wait_stored(view.run_id, 700)
    stack.kill_run_part(view.run_id, "shipper")
    stack.wait_stored(view.run_id, 1_400)
    stack.kill_service("recorder")
    stack.wait_stored(view.run_id, 2_400)
    stack.kill_broker_and_its_store()
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.state is RunState.SUCCEEDED, view.end
    assert plain_values(stack.home, view.run_id) == whole
    assert_whole(stack, view)


def test_a_killed_worker_leaves_the_run_up_to_its_death(
    stack: StackUnderTest, trained: RunView, whole: list[dict[str, Any]]
) -> None:
    """The store has the unharmed run's values up to the worker's last event."""
    view = submit_again(stack, trained)
    stack.wait_stored(view.run_id, 200)  # of 4,851: a training is over soon on an idle machine
    stack.kill_run_part(view.run_id, "worker")
    view = stack.wait_final(view.run_id, within_s=180)
    assert view.end is not None
    assert (view.state, view.end.cause) == (RunState.CRASHED, EndCause.SIGNAL)
    got = plain_values(stack.home, view.run_id)
    assert got == whole[: len(got)]
    assert_whole(stack, view)


@pytest.mark.nightly
def test_stop_saves_a_checkpoint(stack: StackUnderTest) -> None:
    """`stop` ends a run as cancelled at a safe point, with a checkpoint of where it was."""
    view = stack.submit("cleanrl", "dqn", "CartPole-v1", steps=500_000)
    stack.wait_stored(view.run_id, 2_000)
    done = stack.cli("stop", view.run_id, "--json")
    assert done.returncode == 0, done.stderr
    view = stack.wait_final(view.run_id)
    assert view.end is not None
    assert (view.state, view.end.cause) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    with stack.client() as client:
        assert any(row.reason == "stop" for row in client.artifacts(view.run_id))


def test_demo_leaves_nothing_running(tmp_path: Path) -> None:
    """`demo --json` prints one object about a finished run and takes down the stack that it started."""
    venvs = link_environments(tmp_path / "venvs", "worker_cleanrl")
    alone = StackUnderTest(tmp_path / "home", venvs)
    done = alone.cli("demo", "--steps", "1024", "--json", timeout_s=240)
    assert done.returncode == 0, done.stderr
    said = last_json(done.stdout)
    assert said["state"] == "succeeded"
    assert said["steps"] == 1024
    assert isinstance(said["telemetry"], dict)
    assert (said["telemetry"]["gaps"], said["telemetry"]["dropped"]) == (0, 0)
    assert alone.leftovers() == []
