"""A hook that is missing or silent is an error with a reason, never a run without events."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.real_run import run
from tests.scripts.odd import add_odd_script

from mosaic_worker_cleanrl.errors import HookNotInstalled
from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_workerkit.shipper.heartbeat import worker_notes
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("writer", "no SummaryWriter was made"),
        ("step", "no SyncVectorEnv was stepped"),
        ("network", "holds no network"),
    ],
)
def test_a_script_whose_hooks_are_never_called_fails(
    tmp_path: Path, make_spec: Any, parameter: str, says: str
) -> None:
    """A script that ends well but whose hooks were never called is a failed run that says what was missing."""
    spec = make_spec(
        algorithm="odd", environment="Endless-v0", steps=100, parameters={parameter: False}
    )
    finished = run(tmp_path / "run", spec, add_odd_script)
    assert "the end" in finished.stdout
    assert finished.code == 1
    assert says in finished.stderr
    errors = [e for e in of_type(finished.events, "log") if e["level"] == "error"]
    assert says in errors[0]["message"]
    assert finished.events[-1]["phase"] == "error"


def test_a_run_without_episodes_warns(tmp_path: Path, make_spec: Any) -> None:
    """After many steps without one episode's end there is one warning, and the run goes on to its end."""
    spec = make_spec(algorithm="odd", environment="Endless-v0", record="episodes")
    finished = run(tmp_path / "run", spec, add_odd_script)
    assert finished.code == 0, finished.stderr
    warnings = [e for e in of_type(finished.events, "log") if e["level"] == "warning"]
    assert len(warnings) == 1
    assert "Not one episode has ended in 20000 steps" in warnings[0]["message"]
    assert of_type(finished.events, "checkpoint")[-1]["step"] == 25000


@pytest.mark.nightly(by_day=["Endless-v0-20000-Endless-v0 has no time limit-metrics"])
@pytest.mark.parametrize("level", ["metrics", "episodes", "replay"])
@pytest.mark.parametrize(
    ("environment", "steps", "cause"),
    [
        ("Endless-v0", 20_000, "Endless-v0 has no time limit"),
        ("Long-v0", 50_000, "an episode of Long-v0 may have 108,000 steps"),
    ],
)
def test_a_run_without_episodes_is_noted_with_the_likely_cause(
    tmp_path: Path, make_spec: Any, level: str, environment: str, steps: int, cause: str
) -> None:
    """After 50,000 steps at the latest the run shows a note on why no episode may have ended, at every level."""
    spec = make_spec(algorithm="odd", environment=environment, steps=steps + 1_000, record=level)
    finished = run(tmp_path / "run", spec, add_odd_script)
    assert finished.code == 0, finished.stderr
    (note,) = worker_notes(finished.folder)
    assert note.startswith(f"Not one episode has ended in {steps} steps")
    assert cause in note
    warnings = [e for e in of_type(finished.events, "log") if e["level"] == "warning"]
    assert [warning["message"] for warning in warnings] == [note]


@pytest.mark.nightly(by_day=["metrics"])
@pytest.mark.parametrize("level", ["metrics", "episodes", "replay"])
def test_the_note_is_taken_back_when_an_episode_ends(
    tmp_path: Path, make_spec: Any, level: str
) -> None:
    """Once an episode has ended nothing says any more that none has."""
    spec = make_spec(algorithm="odd", environment="Late-v0", steps=30_000, record=level)
    finished = run(tmp_path / "run", spec, add_odd_script)
    assert finished.code == 0, finished.stderr
    assert any(e["level"] == "warning" for e in of_type(finished.events, "log"))
    assert worker_notes(finished.folder) == []


def test_a_missing_place_to_listen_is_an_error() -> None:
    """Where there is no such function the hook is refused, with the name and what to do."""
    with (
        pytest.raises(HookNotInstalled, match="has no make"),
        replaced(SimpleNamespace(), "make", lambda original: original),
    ):
        raise AssertionError("the block must not run")


def test_a_replaced_function_is_put_back() -> None:
    """After the block everything is as before, also where the function was inherited."""

    class Base:
        def step(self) -> int:
            return 1

    class Derived(Base):
        pass

    with replaced(Derived, "step", lambda original: lambda self: original(self) + 1):
        assert Derived().step() == 2
        assert Base().step() == 1
    assert Derived().step() == 1
    assert "step" not in vars(Derived)
