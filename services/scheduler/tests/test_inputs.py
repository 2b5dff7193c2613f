"""Runs that begin with a checkpoint of another run: a real scheduler, real runs, real files."""

import json
import math
import os
from pathlib import Path
from typing import Any

import pytest
from tests.records import make_record
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import PlayOrder, RunRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import Algorithm, DeviceNeed, WorkerManifest
from mosaic_scheduler.admission.plays import needs_a_gpu, taken_over
from mosaic_scheduler.errors import InputUnusable
from mosaic_scheduler.executors.run_files import best_of, listed_checkpoints, open_inside

pytestmark = pytest.mark.shared_stack

SCHEMA: dict[str, Any] = {
    "properties": {
        "start": {"type": "string", "x-checkpoint": True},
        "label": {"type": "string"},
        "map": {"type": "string", "x-world": True},
    }
}
SAVES_AND_READS = """\
pathlib.Path("verb").write_text(sys.argv[1])
run = json.loads(pathlib.Path("spec.json").read_text())
start = run["spec"]["parameters"].get("start")
if start:
    file = pathlib.Path(start)
    pathlib.Path("seen.json").write_text(json.dumps([start, file.read_text(), file.stat().st_mode & 0o777]))
pathlib.Path("checkpoints").mkdir()
entries = []
for name, step in (("final", 20), ("early", 10)):
    pathlib.Path(f"checkpoints/{name}.bin").write_text(name + " of " + run["run_id"])
    entry = {"path": f"checkpoints/{name}.bin", "kind": "checkpoint", "step": step, "mean_return_20": -step}
    entries.append(entry)
pathlib.Path("manifest.json").write_text(json.dumps({"v": 1, "artifacts": entries}))
"""


async def trained(
    stack: Stack,
    *,
    play: bool = True,
    resumes: bool = True,
    schema: dict[str, Any] = SCHEMA,
    answer: dict[str, Any] | None = None,
    **fields: Any,
) -> str:
    """The id of a run that has ended with two checkpoints."""
    algorithm = {"parameters": schema, "play": play, "resumes": resumes}
    answer = answer or {"ok": True, "findings": []}
    script_worker(
        stack, "saves", answer, SAVES_AND_READS, algorithm, modes=["train", "play", "evaluate"]
    )
    run = await stack.submit(**SPEC, worker="saves", **fields)
    assert (await stack.wait_end(run.run_id)).end is not None
    return run.run_id


@pytest.mark.broker
async def test_a_run_is_given_its_own_copy(stack: Stack) -> None:
    """Named by a run's beginning or its id, a checkpoint lies in the new run's folder, read-only, as a copy."""
    first = await trained(stack)
    source = stack.worker_file(first, "checkpoints/final.bin")
    newest = (f"{first[:20]}/checkpoints/final.bin", first, f"{first}/last")
    for given in newest:  # without a path: the newest
        run = await stack.submit(**SPEC, worker="saves", parameters={"start": given})
        assert run.spec.parameters["start"] == f"{first}/checkpoints/final.bin"
        assert run.spec.parent == first
        await stack.wait_end(run.run_id)
        seen = json.loads(stack.worker_file(run.run_id, "seen.json").read_text())
        assert seen == ["inputs/start/final.bin", f"final of {first}", 0o444]
        copy = stack.worker_file(run.run_id, "inputs/start/final.bin")
        assert copy.stat().st_ino != source.stat().st_ino
    run = await stack.submit(**SPEC, worker="saves", parameters={"start": f"{first}/best"})
    assert run.spec.parameters["start"] == f"{first}/checkpoints/early.bin"


@pytest.mark.broker
async def test_what_is_no_checkpoint_of_a_run_is_refused(stack: Stack) -> None:
    """An unknown run or file, a way out of the folder by dots or by a link: each is refused at submit, in words."""
    first = await trained(stack)
    folder = stack.worker_file(first, "checkpoints")
    (folder / "away.bin").symlink_to("/etc/hostname")
    (folder.parent / "elsewhere").symlink_to("/etc")
    for given, words in (
        ("7ZZZZ/checkpoints/final.bin", "No run's id begins with 7ZZZZ"),
        ("./final.bin", "names no checkpoint"),
        (f"{first}/checkpoints/fnal.bin", "Its checkpoints: checkpoints/early.bin, checkpoints/final.bin"),
        (f"{first}/../../secrets/gateway.token", "leads out of the run's folder"),
        (f"{first}//etc/hostname", "leads out of the run's folder"),
        (f"{first}/checkpoints/away.bin", "is not there, or is a link"),
        (f"{first}/elsewhere/hostname", "is not there, or is a link"),
        (f"{first}/checkpoints", "is no file"),
    ):  # fmt: skip
        with pytest.raises(ProblemError) as refused:
            await stack.submit(**SPEC, worker="saves", parameters={"start": given})
        assert refused.value.problem.code is ProblemCode.PARAMETER_INVALID
        assert words in refused.value.problem.detail
    plain = await stack.submit(**SPEC, worker="saves", parameters={"label": "../x"})
    assert plain.spec.parameters["label"] == "../x"  # no checkpoint: nobody's business


@pytest.mark.broker
async def test_a_checkpoint_that_went_meanwhile_is_told(stack: Stack) -> None:
    """A run whose checkpoint is gone when its turn comes does not start, and says what is gone."""
    first = await trained(stack)
    run = await stack.submit(**SPEC, worker="saves", parameters={"start": first}, hold=True)
    stack.worker_file(first, "checkpoints/final.bin").unlink()
    await stack.release(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.FAILED
    assert ended.end is not None
    assert f"{first}/checkpoints/final.bin is no longer available" in ended.end.message


@pytest.mark.broker
async def test_a_play_that_its_worker_refuses_is_not_queued(stack: Stack) -> None:
    """The worker looks into the checkpoint first; its finding says with which field of the spec it would fit."""
    offers = {"environment": "Other-v1"}
    finding = {
        "level": "blocking",
        "where": "parameters.start",
        "message": "of Other-v1",
        "offers": offers,
    }
    first = await trained(stack, answer={"ok": False, "findings": [finding]})
    with pytest.raises(ProblemError, match="of Other-v1") as caught:
        await stack.ask("play", PlayOrder(run_id=first, play={}))
    assert caught.value.problem.fields[0]["offers"] == offers


@pytest.mark.nightly
@pytest.mark.broker
async def test_a_play_shows_what_a_run_has_learned(stack: Stack) -> None:
    """The worker gets the order to `play` the newest checkpoint in the run's own world; a second play is the same."""
    first = await trained(stack, seed=7, parameters={"map": "SFG", "label": "mine"})
    play = await stack.ask("play", PlayOrder(run_id=first, play={"overrides": {"episodes": 3}}))
    again = await stack.ask("play", PlayOrder(run_id=play.run_id, play={}))
    for run, episodes in ((play, 3), (again, None)):
        assert (run.spec.kind, run.spec.parent) == (RunKind.PLAY, first)
        assert (run.spec.seed, run.spec.episodes) == (7, episodes)
        start = f"{first}/checkpoints/final.bin"
        assert run.spec.parameters == {"map": "SFG", "start": start}
        await stack.wait_end(run.run_id)
        assert stack.worker_file(run.run_id, "verb").read_text() == "play"
        seen = json.loads(stack.worker_file(run.run_id, "seen.json").read_text())
        assert seen[1] == f"final of {first}"
    asked = {"checkpoint": "checkpoints/early.bin", "overrides": {"kind": "evaluate", "seed": 1}}
    other = await stack.ask("play", PlayOrder(run_id=first, play=asked))
    assert (other.spec.kind, other.spec.seed) == (RunKind.EVALUATE, 1)
    of_play = await stack.ask("play", PlayOrder(run_id=play.run_id, play=asked))
    assert (of_play.spec.parent, of_play.spec.parameters) == (first, other.spec.parameters)
    await stack.wait_end(other.run_id)
    assert stack.worker_file(other.run_id, "verb").read_text() == "play"


@pytest.mark.parametrize(
    ("algorithm", "worker", "gpus"),
    [
        (None, DeviceNeed.OPTIONAL, False),
        (None, DeviceNeed.REQUIRED, True),
        (DeviceNeed.OPTIONAL, DeviceNeed.REQUIRED, False),
    ],
)
def test_a_play_asks_for_gpus_only_where_it_needs_them(
    algorithm: DeviceNeed | None, worker: DeviceNeed, gpus: bool
) -> None:
    """It would wait for the trainings that hold them."""
    record = make_record()
    spec = record.spec.model_copy(update={"gpus": 2, "gpu_memory_mb": 100, "cpus": 3})
    needs = needs_a_gpu(
        Algorithm(id="a", title="A", parameters={}, device=algorithm),
        WorkerManifest(id="w", title="W", command=["w"], device=worker),
    )
    found = taken_over(record.model_copy(update={"spec": spec}), needs_gpu=needs)
    assert found["cpus"] == 3
    assert (found.get("gpus"), found.get("gpu_memory_mb")) == ((2, 100) if gpus else (None, None))


@pytest.mark.broker
async def test_what_cannot_be_played_is_refused(stack: Stack) -> None:
    """No checkpoint, a worker that does not play, episodes of a training: each is refused in words; nothing starts."""
    first = await trained(stack)
    early = await stack.submit(**SPEC, worker="saves", hold=True)
    for run_id, play, words in (
        (early.run_id, {}, "has no checkpoint (yet)"),
        (first, {"checkpoint": "checkpoints/x.bin"}, "Its checkpoints: checkpoints/early.bin"),
        (first, {"checkpoint": "../x.bin"}, "leads out of the run's folder"),
        (first, {"overrides": {"kind": "train", "episodes": 3}}, "episodes: is for runs of kind play"),
        (first, {"overrides": {"episode": 3}}, "did you mean 'episodes'"),
        (first, {"checkpoints": "x"}, "there is no such field"),
    ):  # fmt: skip
        with pytest.raises(ProblemError) as refused:
            await stack.ask("play", PlayOrder(run_id=run_id, play=play))
        assert words in refused.value.problem.detail
    unable = await trained(stack, play=False)
    with pytest.raises(ProblemError, match="saves a cannot play"):
        await stack.ask("play", PlayOrder(run_id=unable, play={}))
    with pytest.raises(ProblemError, match="kind: a cannot play"):
        await stack.submit(**SPEC, worker="saves", kind="play", parameters={"start": unable})


def test_a_fifo_is_no_file_and_blocks_nobody(tmp_path: Path) -> None:
    """What a worker put in a file's place is refused without waiting for it; a list that is none lists nothing."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputUnusable, match="is no file"):
        open_inside(tmp_path, "pipe")
    for text in ("{}", "[]", '{"artifacts": [{"kind": "checkpoint"}]}', "\xff"):
        (tmp_path / "manifest.json").write_text(text, encoding="latin-1")
        assert listed_checkpoints(tmp_path) == []


def test_the_best_is_the_kept_one_else_the_highest_mean(tmp_path: Path) -> None:
    """A mean that is no number counts for nothing; without any nobody knows which is the best."""
    means: list[object] = [3.0, 7.0, math.nan, "9", None]
    entries = [
        {"path": str(n), "kind": "checkpoint", "step": n, "mean_return_20": mean}
        for n, mean in enumerate(means)
    ]
    for entry in entries:
        (tmp_path / str(entry["path"])).touch()
    manifest = tmp_path / "manifest.json"

    def best() -> str | None:
        manifest.write_text(json.dumps({"artifacts": entries}))
        found = best_of(listed_checkpoints(tmp_path))
        return found.path if found else None

    assert best() == "1"
    entries[0]["reason"] = "best"
    assert best() == "0"
    del entries[:2]
    assert best() is None


@pytest.mark.broker
async def test_a_checkpoint_that_is_only_a_start_resumes_nothing(stack: Stack) -> None:
    """An algorithm whose counters begin new plays its checkpoints and begins with them; `resume` is refused."""
    first = await trained(stack, resumes=False)
    with pytest.raises(ProblemError, match="saves a cannot go on from a checkpoint") as refused:
        await stack.ask("resume", RunRequest(run_id=first))
    assert f"clone {first} -p start={first}/last" in refused.value.problem.detail
    run = await stack.ask("play", PlayOrder(run_id=first, play={}))
    assert run.spec.parameters["start"] == f"{first}/checkpoints/final.bin"
    await stack.wait_end(run.run_id)
    with pytest.raises(ProblemError, match="kind `play`, and only a training can go on"):
        await stack.ask("resume", RunRequest(run_id=run.run_id))


@pytest.mark.broker
async def test_a_program_that_takes_no_checkpoint_is_started_with_its_own_argument(
    stack: Stack,
) -> None:
    """The refusal names the newest file, which only the program itself knows how to load."""
    first = await trained(stack, play=False, schema={"type": "object", "properties": {}})
    with pytest.raises(ProblemError, match="with its own argument") as refused:
        await stack.ask("resume", RunRequest(run_id=first))
    assert str(stack.worker_file(first, "checkpoints/final.bin")) in refused.value.problem.detail
