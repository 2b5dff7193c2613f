"""What following a run shows, on a terminal and on a pipe."""

import io
import re
from typing import Any

import pytest
from rich.console import Console

from mosaic_cli.exit_code import ExitCode, code_of_state
from mosaic_cli.follow import Display, RunFollower
from mosaic_cli.summary import print_summary, run_result
from mosaic_cli.wording import run_duration
from mosaic_client import ConnectionLost
from mosaic_contracts.live import Events, RunChanged
from mosaic_contracts.runs import ArtifactRow, RunView
from mosaic_contracts.states import RunState

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def view(**changes: Any) -> RunView:
    base = {
        "run_id": RUN_ID,
        "name": "a run",
        "spec": {
            "worker": "cleanrl",
            "algorithm": "ppo",
            "environment": "CartPole-v1",
            "steps": 1000,
        },
        "state": "running",
        "revision": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "run_dir": f"runs/{RUN_ID}",
    }
    return RunView.model_validate(base | changes)


def episodes(*returns: float | str) -> Events:
    rows = [{"type": "episode", "episode_return": value} for value in returns]
    return Events(run_id=RUN_ID, events=rows, cursor="1.worker.1")


def console(terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=100, color_system=None)


def shown(on: Console) -> str:
    assert isinstance(on.file, io.StringIO)
    return on.file.getvalue()


def test_a_pipe_gets_plain_lines_now_and_then() -> None:
    """A line at once when the state changes, then at most one every few seconds, and no control codes."""
    on = console(terminal=False)
    follower = RunFollower(view(state="queued", position=2, waiting_reason="no free core"))
    with Display(on) as display:
        display.show(follower, 0)
        follower.take(RunChanged(run=view(revision=2, progress={"step": 10, "total": 1000})))
        display.show(follower, 1)
        follower.take(RunChanged(run=view(revision=3, progress={"step": 20, "total": 1000})))
        display.show(follower, 2)
        follower.take(episodes(10.0, 20.0))
        display.show(follower, 7)
    assert shown(on).splitlines() == [
        "queued, place 2: no free core: 0/1,000 steps",
        "running: 10/1,000 steps",
        "running: 20/1,000 steps, return 15",
    ]


def test_a_terminal_gets_a_bar() -> None:
    """The bar has what is trained, steps, return, speed and the time left, on one line."""
    on = console(terminal=True)
    follower = RunFollower(view(progress={"step": 500, "total": 1000}, sps=250.0, eta_s=2.0))
    follower.take(episodes(9.0))
    with Display(on) as display:
        display.show(follower, 0)
    figures = "500/1,000 steps  return 9  250 steps/s  2.0 s left"
    lines = [line for line in shown(on).splitlines() if figures in line]
    assert lines
    assert all("ppo CartPole-v1 seed 1" in line for line in lines)


def test_a_long_import_shows_phase_and_time() -> None:
    """While no step was taken the bar says what goes on and for how long, and afterwards counts steps."""
    on = console(terminal=True)
    follower = RunFollower(view(state="starting", started_at="2026-01-01T00:00:01Z"))
    with Display(on) as display:
        display.show(follower, 0)
        follower.take(RunChanged(run=view(revision=2, progress={"step": 10, "total": 1000})))
        display.show(follower, 1)
    assert re.search(r"starting: loading the worker's libraries .*0\.\d s", shown(on))
    assert "10/1,000 steps" in shown(on)


def test_nothing_is_loaded_before_a_cluster_has_begun_the_run() -> None:
    """A job that is handed over, and not yet in the list of what waits, has no process."""
    assert RunFollower(view(state="starting")).headline == "queued"
    waiting = view(state="starting", waiting_reason="queued at Slurm: other jobs are before it")
    assert RunFollower(waiting).headline == "queued at Slurm: other jobs are before it"


def test_news_is_told_once() -> None:
    """Notes of the run, warnings of the worker and lost connections each make one line."""
    on = console(terminal=False)
    follower = RunFollower(view())
    for revision in (2, 3):
        follower.take(RunChanged(run=view(revision=revision, notes=["waiting for the outbox"])))
    follower.take(ConnectionLost("reset", 0.4))
    follower.take(ConnectionLost("refused", 0.8))
    follower.take(episodes(1.0))
    with Display(on) as display:
        display.show(follower, 0)
        display.show(follower, 1)
    assert shown(on).count("waiting for the outbox") == 1
    assert "connection lost (reset); trying again. The run continues" in shown(on)
    assert "\nconnected again\n" in shown(on)


def test_an_older_record_does_not_overwrite_a_newer_one() -> None:
    """Frames may cross; the highest revision is what is shown."""
    follower = RunFollower(view(revision=5, state="stopping"))
    follower.take(RunChanged(run=view(revision=4, state="running")))
    assert follower.run.state is RunState.STOPPING


def test_a_return_that_is_not_a_number_is_shown_as_such() -> None:
    """NaN reaches the screen instead of vanishing from the mean."""
    follower = RunFollower(view())
    follower.take(episodes(1.0, "NaN"))
    assert "return NaN" in follower.figures()


@pytest.mark.parametrize(
    ("state", "code"),
    [
        (RunState.SUCCEEDED, ExitCode.DONE),
        (RunState.FAILED, ExitCode.RUN_FAILED),
        (RunState.CRASHED, ExitCode.RUN_FAILED),
        (RunState.TIMED_OUT, ExitCode.RUN_FAILED),
        (RunState.CANCELLED, ExitCode.CANCELLED),
    ],
)
def test_the_end_of_a_run_is_the_exit_code(state: RunState, code: ExitCode) -> None:
    """As docs/reference/exit_codes.md lists them."""
    assert code_of_state(state) == code


def test_the_summary_says_where_things_lie(tmp_path: Any) -> None:
    """Paths stand on one line each, whole, so that they can be copied; a crash shows its last words."""
    home = tmp_path / ("a home with spaces and a rather long name, " * 3)
    end = {
        "cause": "signal",
        "message": "Killed by SIGKILL.",
        "signal": 9,
        "last_lines": ["[bold]boom"],
    }
    summary = {"run_id": RUN_ID, "events": 1234, "episodes": 3, "best_return": 9.5, "gaps": 0}
    run = view(state="crashed", end=end, summary=summary)
    artifacts = [
        ArtifactRow(path="checkpoints/b.pt", kind="checkpoint", bytes=1, step=20),
        ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=1, step=10),
        ArtifactRow(path="tensorboard/x", kind="tensorboard", bytes=1),
    ]
    on = console(terminal=False)
    print_summary(on, run, artifacts, home)
    lines = shown(on).splitlines()
    assert f"checkpoint   {home}/runs/{RUN_ID}/checkpoints/b.pt" in lines
    assert f"TensorBoard  {home}/runs/{RUN_ID}/tensorboard/x" in lines
    assert any("1,234 events, 0 gaps" in line for line in lines)
    assert "  [bold]boom" in lines


def test_the_result_object_has_what_scripts_ask_for() -> None:
    """The keys that issue 2 names, with the worker's last seq."""
    marks = [
        {"attempt": 1, "source": "worker", "last_seq": 77, "next_seq": 78, "missing": 0},
        {"attempt": 1, "source": "supervisor", "last_seq": 99, "next_seq": 100, "missing": 0},
    ]
    summary = {
        "run_id": RUN_ID,
        "events": 80,
        "global_step": 1000,
        "best_return": 5.0,
        "sources": marks,
    }
    result = run_result(view(state="succeeded", summary=summary))
    assert result["telemetry"] == {"events": 80, "last_seq": 77, "gaps": 0, "dropped": 0}
    assert (result["run_id"], result["state"], result["steps"]) == (RUN_ID, "succeeded", 1000)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"elapsed_s": 25.2}, "25 s"),
        ({"elapsed_s": 25.2, "ended_at": "2026-01-01T00:20:00Z"}, "25 s"),
        ({"ended_at": "2026-01-01T01:01:05Z"}, "1:05"),
        ({"ended_at": "2026-01-01T00:20:00Z"}, "-"),
        ({"started_at": None}, "-"),
    ],
)
def test_a_run_took_what_the_stack_says(changes: dict[str, Any], text: str) -> None:
    """TOOK is the stack's `elapsed_s`; wall times replace it for older records, never with a negative result."""
    assert run_duration(view(**{"started_at": "2026-01-01T01:00:00Z", **changes})) == text
