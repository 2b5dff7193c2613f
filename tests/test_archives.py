"""Whole runs go to another stack as one file, and come back after they were deleted: the same to the last event."""

import hashlib
import json
import signal
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from stack_under_test import VENVS, StackUnderTest, last_json, running_stack, until

from mosaic_client import RunUnknown
from mosaic_contracts.manifest_words import FileState
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

pytestmark = pytest.mark.timeout(600)
OWN = {
    *("notes", "revision", "run_dir", "summary", "telemetry_pending", "position", "sps", "stale"),
}
"""What an imported run has of its own."""


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[StackUnderTest]:
    """Another stack, with a data root of its own."""
    with running_stack(["worker_cleanrl"]) as under_test:
        yield under_test


@pytest.fixture(scope="module")
def trained(stack: StackUnderTest) -> RunView:
    """A finished training with steps, checkpoints, metrics and a tag.

    One for all tests: who removes its files and steps brings back every one of them, and compares. The archive was made
    of it while it was whole.
    """
    view = stack.submit(
        "cleanrl", "ppo", "CartPole-v1", steps=2_048, record="replay", seed=3, tags=["kept"]
    )
    view = stack.wait_final(view.run_id, within_s=240)
    assert view.state is RunState.SUCCEEDED, view.end
    return view


@pytest.fixture(scope="module")
def archive(
    stack: StackUnderTest, trained: RunView, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An archive of it."""
    target = tmp_path_factory.mktemp("archive") / "run.mosaic.zip"
    done = stack.cli("archive", trained.run_id, "-o", str(target), "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    said = last_json(done.stdout)
    assert said["sha256"] == hashlib.sha256(target.read_bytes()).hexdigest()
    assert [path.name for path in target.parent.iterdir()] == [target.name]
    return target


def events(stack: StackUnderTest, run_id: str) -> list[Any]:
    """All events of a run that a worker recorded, and those of the scheduler up to the first report of its files."""
    done = stack.cli("export", run_id, timeout_s=180)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.nightly
def test_an_archive_is_a_zip_that_other_programs_read(archive: Path, trained: RunView) -> None:
    """Spec, record, events as lines and as Parquet, files, and the digest of each, in the published layout."""
    with zipfile.ZipFile(archive) as opened:
        names = opened.namelist()
        lines = opened.read("SHA256SUMS").decode().splitlines()
        sums = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
        assert names[0] == "mosaic-archive.json"
        assert sums.keys() == set(names) - {"SHA256SUMS"}
        for name, digest in sums.items():
            assert hashlib.sha256(opened.read(name)).hexdigest() == digest, name
        run = f"runs/{trained.run_id}"
        spec = json.loads(opened.read(f"{run}/spec.json"))
        assert (spec["algorithm"], spec["seed"], spec["tags"]) == ("ppo", 3, ["kept"])
        facts = json.loads(opened.read(f"{run}/archive.json"))
        assert facts["worker_lock"] == trained.worker_lock
        assert "torch" in facts["packages"]
        assert opened.read(f"{run}/events/parquet/step.parquet").startswith(b"PAR1")
        assert f"{run}/events/events.jsonl.zst" in names
        assert any(name.startswith(f"{run}/files/checkpoints/") for name in names)


def test_a_run_is_the_same_on_another_stack(
    stack: StackUnderTest, elsewhere: StackUnderTest, trained: RunView, archive: Path
) -> None:
    """Id, record, events, curves and files are kept; it replays, verifies and trains on; again it is here already."""
    done = elsewhere.cli("import", str(archive), "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    (run,) = last_json(done.stdout)["runs"]
    assert (run["run_id"], run["outcome"]) == (trained.run_id, "imported")
    here = elsewhere.wait_final(trained.run_id)
    assert here.model_dump(exclude=OWN) == trained.model_dump(exclude=OWN)
    assert here.summary is not None
    assert trained.summary is not None
    assert here.summary.gaps == 0
    assert (here.summary.steps, here.summary.episodes, here.summary.mean_return) == (
        *(trained.summary.steps, trained.summary.episodes, trained.summary.mean_return),
    )
    assert any("Imported" in note for note in here.notes)
    there = events(stack, trained.run_id)
    assert events(elsewhere, trained.run_id)[: len(there)] == there
    with stack.client() as one, elsewhere.client() as other:
        was, manifest = one.manifest(trained.run_id), other.manifest(trained.run_id)
        curve = "charts/episodic_return"
        assert one.curve(trained.run_id, curve) == other.curve(trained.run_id, curve)
    digests = {entry.path: entry.sha256 for entry in was.entries if entry.sha256}
    assert {entry.state for entry in manifest.entries} == {FileState.PRESENT}
    assert {entry.path: entry.sha256 for entry in manifest.entries if entry.sha256} == digests
    verified = elsewhere.cli(
        "replay", trained.run_id, "--episode", "best", "--verify", timeout_s=240
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert elsewhere.cli("checkpoints", "verify", trained.run_id).returncode == 0
    again = elsewhere.cli("import", str(archive), timeout_s=180)
    assert again.returncode == 0, again.stderr
    assert "here already" in again.stdout
    assert elsewhere.run(trained.run_id).revision == here.revision
    assert left_of_imports(elsewhere) == []


def left_of_imports(stack: StackUnderTest) -> list[Path]:
    """Files that are not in the folder of a run."""
    return [path for name in ("uploads", "imports") for path in (stack.home / name).rglob("*")]


def test_an_archived_run_stays_in_the_list_and_comes_back(
    stack: StackUnderTest, trained: RunView, tmp_path: Path
) -> None:
    """With --remove its files and steps go; episodes, curves and log stay; the import brings back everything."""
    view = trained
    there = events(stack, view.run_id)
    target = tmp_path / "run.mosaic.zip"
    done = stack.cli("archive", view.run_id, "-o", str(target), "--remove", "--json", timeout_s=180)
    assert done.returncode == 0, done.stderr
    (freed,) = last_json(done.stdout)["removed"]
    # those of episodes that the run's end cut off stay
    assert view.summary is not None
    assert 0 < freed["steps"] <= view.summary.steps
    assert freed["files"] > 0
    left = stack.wait_final(view.run_id)
    assert any("Archived" in note for note in left.notes)
    assert left.summary is not None
    assert left.summary.gaps == 0
    with stack.client() as client:
        states = {entry.path: entry.state for entry in client.manifest(view.run_id).entries}
        assert states["logs/worker.log"] is FileState.PRESENT
        assert FileState.PRUNED in states.values()
        assert client.curve(view.run_id, "charts/episodic_return").points
        assert client.episodes(view.run_id).episodes
    assert stack.cli("replay", view.run_id, "--episode", "0", "--verify").returncode != 0
    again = stack.cli("import", str(target), "--json", timeout_s=180)
    assert again.returncode == 0, again.stderr
    assert last_json(again.stdout)["runs"][0]["outcome"] == "restored"
    back = stack.wait_final(view.run_id)
    assert back.summary is not None
    assert (back.summary.gaps, back.summary.thinned_steps) == (0, 0)
    assert events(stack, view.run_id)[: len(there)] == there
    with stack.client() as client:
        entries = client.manifest(view.run_id).entries
    assert {entry.state for entry in entries} == {FileState.PRESENT}
    verified = stack.cli("replay", view.run_id, "--episode", "best", "--verify", timeout_s=240)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert "here already" in stack.cli("import", str(target), timeout_s=180).stdout


@pytest.mark.nightly
def test_a_thinned_run_shows_the_same_on_another_stack(
    stack: StackUnderTest, elsewhere: StackUnderTest, tmp_path: Path
) -> None:
    """Steps that were removed on purpose are thinned steps there too, and no gaps; by run and by episode."""
    view = stack.submit("cleanrl", "ppo", "CartPole-v1", steps=2_048, record="replay", seed=4)
    view = stack.wait_final(view.run_id, within_s=240)
    whole, thinned = tmp_path / "whole.mosaic.zip", tmp_path / "thinned.mosaic.zip"
    for target, more in ((whole, ["--remove"]), (thinned, [])):
        done = stack.cli("archive", view.run_id, "-o", str(target), *more, timeout_s=180)
        assert done.returncode == 0, done.stderr
        there = stack.wait_final(view.run_id).summary
    assert there is not None
    assert there.thinned_steps > 0
    done = elsewhere.cli("import", str(thinned), timeout_s=180)
    assert done.returncode == 0, done.stderr
    here = elsewhere.wait_final(view.run_id).summary
    assert here is not None
    assert (here.gaps, here.thinned_steps, here.thinned_by, here.steps) == (
        *(0, there.thinned_steps, there.thinned_by, there.steps),
    )
    with stack.client() as one, elsewhere.client() as other:
        assert one.episodes(view.run_id).episodes == other.episodes(view.run_id).episodes
    shown = elsewhere.cli("replay", view.run_id, "--episode", "0", "--verify")
    assert shown.returncode != 0
    assert "removed to free space" in shown.stderr


@pytest.mark.nightly
def test_a_group_is_one_archive_and_a_group_again(
    stack: StackUnderTest, elsewhere: StackUnderTest, tmp_path: Path
) -> None:
    """By its name or id, with all its runs; the other stack lists it as a group."""
    words = ("run", "synthetic", "synthetic", "Synthetic-v0", "--steps", "50", "--seed", "1-3")
    stack.wait_ready()
    started = stack.cli(*words, "--name", "three seeds", "--detach", timeout_s=120)
    assert started.returncode == 0, started.stderr
    group_id = started.stdout.split()[-1]
    with stack.client() as client:
        ids = set(client.group(group_id).run_ids)
    assert len(ids) == 3
    for run_id in ids:
        stack.wait_final(run_id)
    by_name = tmp_path / "name.mosaic.zip"
    named = stack.cli("archive", "three seeds", "-o", str(by_name), "--json", timeout_s=180)
    assert named.returncode == 0, named.stderr
    assert {run["run_id"] for run in last_json(named.stdout)["runs"]} == ids
    by_id = stack.cli("archive", group_id, "-o", str(tmp_path), timeout_s=180)
    assert by_id.returncode == 0, by_id.stderr
    (made,) = set(tmp_path.iterdir()) - {by_name}
    assert made.name.startswith("three")
    done = elsewhere.cli("import", str(made), timeout_s=180)
    assert done.returncode == 0, done.stderr
    for run_id in ids:
        elsewhere.wait_final(run_id)
    with stack.client() as one, elsewhere.client() as other:
        assert other.group(group_id).model_dump() == one.group(group_id).model_dump()


def test_a_run_that_is_deleted_while_it_is_archived_leaves_no_file(
    stack: StackUnderTest, tmp_path: Path
) -> None:
    """The command ends with an error, and nothing is left of what it wrote."""
    view = stack.submit("synthetic", "synthetic", "Synthetic-v0", steps=500)
    stack.wait_final(view.run_id)
    target = tmp_path / "run.mosaic.zip"
    words = [str(VENVS / "cli/bin/python"), "-m", "mosaic_cli", "archive", view.run_id]
    with subprocess.Popen(
        [*words, "-o", str(target)], env=stack.environ, stderr=subprocess.PIPE
    ) as process:
        try:
            until(
                lambda: any(tmp_path.iterdir()), "the archive is begun", 60, longest_pause_s=0.001
            )
            process.send_signal(signal.SIGSTOP)
            deleted = stack.cli("rm", view.run_id, "--now", timeout_s=60)
            assert deleted.returncode == 0, deleted.stderr
            until(lambda: is_gone(stack, view.run_id), "the run is deleted", 60)
            process.send_signal(signal.SIGCONT)
            _, said = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode != 0
    assert view.run_id in said.decode()
    assert list(tmp_path.iterdir()) == []


def is_gone(stack: StackUnderTest, run_id: str) -> bool:
    """Whether the stack knows no such run."""
    with stack.client() as client:
        try:
            client.run(run_id)
        except RunUnknown:
            return True
    return False
