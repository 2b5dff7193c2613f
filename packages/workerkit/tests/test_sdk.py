"""What the author of a worker imports: BaseWorker, TrainContext, EpisodeRecorder, and old spellings that still work."""

import importlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.run_folder import make_run_folder
from tests.test_telemetry import written

import mosaic_workerkit as mosaic
from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_contracts.wire import Config, Episode, EpisodeStart, Lifecycle, Metric, Record, Step
from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import Telemetry


@dataclass(frozen=True, kw_only=True)
class FewParameters:
    steps: int = mosaic.parameter(50, "Steps in all.", minimum=1)
    seed: int = mosaic.parameter(0, "Seed.")
    data: str = mosaic.parameter(help="Where the data are.")


class SmallWorker(mosaic.BaseWorker):
    id, version, title = "small", "1", "Small"
    algorithms = (
        mosaic.Algorithm(
            id="a",
            title="A",
            parameters=mosaic.parameter_schema(FewParameters),
            steps_parameter="steps",
            seed_parameter="seed",
        ),
    )
    environments = (mosaic.Environment(id="Box-v0"), mosaic.Environment(id="Other-v0"))
    packages = ("numpy", "no-such-package")

    def check_more(self, spec: RunSpec, arguments: Any, findings: mosaic.Findings) -> None:
        """Warn of what is slow."""
        if arguments["steps"] > 1000:
            findings.warn("steps", "That takes a while.")


def spec(**fields: Any) -> RunSpec:
    parameters = {"data": "here"} | fields.pop("parameters", {})
    whole = {"worker": "small", "algorithm": "a", "environment": "Box-v0"} | fields
    return RunSpec(**whole, parameters=parameters)


def test_every_name_of_the_package_can_be_imported() -> None:
    """The names that the package promises are there, and a name that is not gives an AttributeError."""
    for name in mosaic.__all__:
        assert getattr(mosaic, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        mosaic.nothing  # noqa: B018 - the access is the test


def test_the_package_imports_nothing_by_itself() -> None:
    """The runner starts on the standard library alone. A worker without arrays, e.g. the pipe, starts without NumPy.

    No worker imports the models of run records and alerts: they would take a tenth of its start.
    """
    code = """
import sys, mosaic_workerkit
print([name for name in ("numpy", "pydantic") if name in sys.modules])
import mosaic_workerkit.pipe.command
unused = ("numpy", "mosaic_contracts.runs", "mosaic_contracts.alerts", "mosaic_contracts.run_search")
print([name for name in unused if name in sys.modules])
"""
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "[]\n[]\n"


def test_a_worker_is_described_by_its_attributes() -> None:
    """The first environment is the default of an algorithm that names none; only installed packages have versions."""
    described = SmallWorker().describe()
    assert described.algorithms[0].default_environment == "Box-v0"
    assert described.modes == ["train"]
    assert described.record_levels == ["metrics", "episodes", "replay", "full"]
    assert list(described.packages) == ["numpy"]


def test_check_answers_with_every_argument() -> None:
    """Defaults, what the user set, and what fields of the run set; rules of the worker's own come last."""
    report = SmallWorker().check(spec(steps=2000, seed=7))
    assert report.ok
    assert report.plan["parameters"] == {"steps": 2000, "seed": 7, "data": "here"}
    assert [finding.message for finding in report.findings] == ["That takes a while."]


@pytest.mark.parametrize(
    ("fields", "where", "words"),
    [
        ({"algorithm": "b"}, "algorithm", "Known: a."),
        ({"environment": "Bocks-v0"}, "environment", "Known: Box-v0, Other-v0."),
        ({"kind": RunKind.PLAY}, "kind", "no mode 'play'"),
        ({"steps": 5, "parameters": {"steps": 6}}, "parameters.steps", "field `steps` of the run"),
        ({"parameters": {"seed": 6}}, "parameters.seed", "field `seed` of the run"),
        ({"parameters": {"steps": 0}}, "parameters.steps", "steps must be at least 1, not 0."),
        ({"parameters": {"stebs": 1}}, "parameters.stebs", "Did you mean steps?"),
        ({"parameters": {"data": None}}, "parameters.data", "data needs a value of type string"),
    ],
)
def test_check_refuses(fields: dict[str, Any], where: str, words: str) -> None:
    """What is wrong is a blocking finding at its field, and the arguments of such a run cannot be had."""
    (finding,) = [f for f in SmallWorker().check(spec(**fields)).findings if f.level == "blocking"]
    assert (finding.where, words in finding.message) == (where, True)
    with pytest.raises(mosaic.RunRefused, match="check"):
        SmallWorker().arguments(spec(**fields), FewParameters)


def test_a_parameter_without_a_default_must_be_given() -> None:
    """Its absence is a finding that says how to give it."""
    bare = RunSpec(worker="small", algorithm="a", environment="Box-v0")
    (finding,) = SmallWorker().check(bare).findings
    assert finding.message == "data needs a value: -p data=VALUE."


def make_context(tmp_path: Path, **fields: Any) -> TrainContext:
    folder = make_run_folder(tmp_path / "run", **fields)
    telemetry = Telemetry.open(folder)
    return TrainContext(run_dir=folder, spec=telemetry.spec, telemetry=telemetry, stop=StopFlag())


def of_type(records: list[Record], kind: type) -> list[Any]:
    return [record for record in records if isinstance(record, kind)]


def record_two_episodes(context: TrainContext) -> list[Record]:
    """An episode of two steps, and one of a single step that is cut."""
    spaces = {"observation": mosaic.box([2]), "action": mosaic.discrete(3)}
    context.record_config(FewParameters(data="x"), spaces, total_steps=3)
    recorder = mosaic.EpisodeRecorder(context.telemetry, total_steps=3)
    recorder.reset(np.array([0.0, 1.0]), seed=5)
    recorder.step(np.int64(2), np.float32(0.5), np.array([1.0, 2.0]))
    recorder.step(1, 1.0, np.array([3.0, 4.0]), terminated=np.bool_(True))
    assert (recorder.episode, recorder.length, recorder.episode_return) == (0, 2, 1.5)
    assert not recorder.is_open
    recorder.reset(np.array([0.0, 1.0]))
    recorder.step(0, 2.0, np.array([5.0, 6.0]), truncated=True)
    assert recorder.global_step == 3
    context.telemetry.lifecycle("done")
    context.telemetry.close()
    return written(context.run_dir)


def test_a_recorder_numbers_sums_and_hashes(tmp_path: Path) -> None:
    """Config, starts, steps with hash and flags, ends with sums, metrics: all in the form of the wire."""
    records = record_two_episodes(make_context(tmp_path, record="full"))
    assert [type(record) for record in records] == [
        *(Config, EpisodeStart, Step, Step, Episode, Metric, Metric),
        *(EpisodeStart, Step, Episode, Metric, Metric, Lifecycle),
    ]
    config = records[0]
    assert isinstance(config, Config)
    assert config.data["arguments"] == {"steps": 50, "seed": 0, "data": "x"}
    assert config.data["total_steps"] == 3
    first, second = of_type(records, EpisodeStart)
    assert (first.reset, second.reset) == ({"way": "seed", "seed": 5}, {"way": "chain"})
    assert first.hash == step_hash(np.array([0.0, 1.0]))
    assert first.observation == np.array([0.0, 1.0], "<f4").tobytes()
    steps = of_type(records, Step)
    assert [(s.episode, s.step, s.action, s.reward, s.flags) for s in steps] == [
        (0, 1, 2, 0.5, 0),
        (0, 2, 1, 1.0, 1),
        (1, 1, 0, 2.0, 2),
    ]
    assert steps[1].hash == step_hash(np.array([3.0, 4.0]), 1.0, 1)
    assert steps[1].observation == np.array([3.0, 4.0], "<f4").tobytes()
    ends = of_type(records, Episode)
    assert [(e.length, e.episode_return, e.flags, e.global_step) for e in ends] == [
        (2, 1.5, 1, 2),
        (1, 2.0, 2, 3),
    ]
    returns = [m for m in of_type(records, Metric) if m.name == "charts/episodic_return"]
    assert [(m.step, m.value) for m in returns] == [(2, 1.5), (3, 2.0)]


@pytest.mark.parametrize(
    ("fields", "steps", "episodes"),
    [
        ({"record": "replay"}, 3, 2),
        ({"record": "replay", "replay_every": 2}, 2, 2),
        ({"record": "episodes"}, 0, 2),
        ({"record": "metrics"}, 0, 0),
    ],
)
def test_a_recorder_keeps_to_the_recording_level(
    tmp_path: Path, fields: dict[str, Any], steps: int, episodes: int
) -> None:
    """Steps of the sampled episodes, observations at `full` alone, ends from `episodes` on, metrics at every level."""
    records = record_two_episodes(make_context(tmp_path, **fields))
    assert len(of_type(records, Step)) == steps
    assert len(of_type(records, Episode)) == episodes
    assert len(of_type(records, Metric)) == 4
    assert {step.observation for step in of_type(records, Step)} <= {None}


def test_recorders_of_one_run_share_the_global_step(tmp_path: Path) -> None:
    """Sub-environments count their own episodes and one global step."""
    context = make_context(tmp_path)
    context.record_config({}, {}, num_envs=2)
    first = mosaic.EpisodeRecorder(context.telemetry)
    second = mosaic.EpisodeRecorder(context.telemetry, 1, counter=first)
    for recorder in (first, second):
        recorder.reset(0)
        recorder.step(0, 1.0, 0)
    assert (first.global_step, second.global_step, second.length) == (2, 2, 1)
    context.telemetry.close()


def test_a_checkpoint_is_written_from_text_and_bytes(tmp_path: Path) -> None:
    """A small model needs no function that writes it."""
    context = make_context(tmp_path)
    context.record_config({}, {})
    context.telemetry.write_checkpoint("a.json", "[1]", 1, "periodic")
    context.telemetry.write_checkpoint("b.bin", b"\0", 2, "final")
    context.telemetry.close()
    assert (context.run_dir / "a.json").read_text() == "[1]"
    assert (context.run_dir / "b.bin").read_bytes() == b"\0"


def test_flags_and_hashes_still_work_and_warn_once(tmp_path: Path) -> None:
    """The calls of before 1.0 record the same as the calls of today, and each of them warns once."""
    old, new = make_context(tmp_path / "old"), make_context(tmp_path / "new")
    for context in (old, new):
        context.record_config({}, {})
    with pytest.warns(DeprecationWarning, match="terminated=, truncated=") as warned:
        record_in_the_old_way(old.telemetry)
    assert len(warned) == 2
    for flags in (0, 1):
        new.telemetry.step(0, 0, flags + 1, 3, 1.0, observation=4, terminated=bool(flags))
        new.telemetry.episode(
            0, flags, 2, 2.0, duration_s=0.5, global_step=2, terminated=bool(flags)
        )
    for context in (old, new):
        context.telemetry.close()
    assert plain(written(old.run_dir)) == plain(written(new.run_dir))


def record_in_the_old_way(telemetry: Telemetry) -> None:
    for flags in (0, 1):
        telemetry.step(0, 0, flags + 1, 3, 1.0, flags, step_hash(4, 1.0, flags))
        telemetry.episode(0, flags, 2, 2.0, flags, 0.5, 2)


def plain(records: list[Record]) -> list[Any]:
    for record in records:
        record.dt = 0
    return records


def test_a_worker_of_before_1_0_passes(tmp_path: Path) -> None:
    """The whole sample of before, with flags and hashes of its own, still keeps the contract."""
    command = [sys.executable, str(Path(__file__).parent / "check_worker/old_style_worker.py")]
    lines = "".join(f'"{word}",' for word in command)
    (tmp_path / "worker.toml").write_text(f'id = "minimal"\ntitle = "Old"\ncommand = [{lines}]\n')
    checker = importlib.import_module("mosaic_workerkit.check_worker")
    worker = checker.read_worker(tmp_path, tmp_path)
    report = checker.check_worker(worker, checker.CheckLimits(steps=200, grace_s=5), lambda _: None)
    assert [result for result in report.results if result.result == "failed"] == []
