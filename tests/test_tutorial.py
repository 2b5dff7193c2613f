"""The tutorial is executed, block after block, as a notebook would, on a real stack with real training."""

import ast
import asyncio
import inspect
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from stack_under_test import ROOT, StackUnderTest

from mosaic_contracts.states import EndCause, RunState

pytestmark = pytest.mark.nightly
TUTORIAL = ROOT / "docs" / "tutorial" / "README.md"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOT_RUN = {"console"}
"""What sets up the reader's own environment."""


class Block(NamedTuple):
    """One fenced block."""

    language: str
    code: str
    line: int


def blocks(path: Path) -> Iterator[Block]:
    """The blocks of a Markdown file in order."""
    text = path.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        yield Block(match[1], match[2], text.count("\n", 0, match.start(2)))


def execute(block: Block, names: dict[str, Any], loop: asyncio.Runner) -> object:
    """Run a Python block as a notebook's cell: names stay, `await` is permitted. Returns its last line's value."""
    tree = ast.parse(block.code, str(TUTORIAL))
    ast.increment_lineno(tree, block.line)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    _run(compile(tree, TUTORIAL, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names, loop)
    if not isinstance(last, ast.Expr):
        return None
    shown = ast.Expression(last.value)
    return _run(compile(shown, TUTORIAL, "eval", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names, loop)


def _run(code: Any, names: dict[str, Any], loop: asyncio.Runner) -> object:
    value = eval(code, names)  # noqa: S307 - the tutorial's own text
    return loop.run(value) if inspect.iscoroutine(value) else value


def shell(block: Block, stack: StackUnderTest) -> None:
    """Run a shell block; a line that fails is an error."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block.code],
        env=stack.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, f"line {block.line}: {done.stdout}{done.stderr}"


@pytest.fixture(scope="module")
def learned(
    stack: StackUnderTest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Any]]:
    """All names that the tutorial leaves behind, once all of its blocks have run in a folder of their own."""
    folder = tmp_path_factory.mktemp("notebook")
    (folder / "mosaic").symlink_to(ROOT / "mosaic")
    names: dict[str, Any] = {}
    stack.wait_ready()
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as loop:
        patch.chdir(folder)
        for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE"):
            patch.delenv(name, raising=False)
        patch.setenv("MOSAIC_HOME", str(stack.home))
        outputs = []
        for block in blocks(TUTORIAL):
            if block.language == "python":
                outputs.append(execute(block, names, loop))
            elif block.language not in _NOT_RUN:
                shell(block, stack)
        yield names | {"outputs": [each for each in outputs if each is not None], "folder": folder}


def test_the_runs_end_as_the_tutorial_says(learned: dict[str, Any]) -> None:
    """Both seeds succeed, and the long run is cancelled with a checkpoint."""
    assert learned["run"].state is learned["other"].state is RunState.SUCCEEDED
    assert learned["long"].state is RunState.CANCELLED
    assert learned["long"].end.cause is EndCause.STOPPED_BY_USER
    assert [each.state for each in learned["ended"]] == [RunState.SUCCEEDED] * 2


def test_what_is_watched_is_what_is_kept(learned: dict[str, Any]) -> None:
    """The episodes that came live are those of the table, the script's curve has no other returns, and they grew."""
    finished = Counter(learned["episodes"]["return"].dropna())
    assert Counter(learned["returns"]) == finished
    # the script leaves a point out where two environments finish at once
    assert Counter(learned["curve"].values) <= finished
    assert len(learned["curve"]) > 0.9 * finished.total()
    half = learned["half"]
    assert learned["curve"].values[half:].mean() > learned["curve"].values[:half].mean()
    assert {"losses/value_loss", "losses/entropy"} <= set(learned["losses"]["name"])


def test_the_best_episode_is_its_steps(learned: dict[str, Any]) -> None:
    """The steps of the best episode sum to its return, with an observation of four numbers each."""
    steps, best = learned["steps"], learned["best"]
    assert steps["reward"].sum() == best["return"] == len(steps)
    assert steps["observation"].shape == (len(steps), 4)
    assert abs(learned["angles"]).max() < 0.42  # twice the angle at which a pole counts as fallen


def test_two_seeds_are_compared(learned: dict[str, Any]) -> None:
    """The comparison has both seeds with the parameter they share and results that differ."""
    table = learned["table"]
    assert table.columns["seed"] == [1, 2]
    assert table.columns["parameters.learning_rate"] == [0.001, 0.001]
    assert len(set(table.columns["mean_return"])) == 2


def test_what_is_taken_away_is_whole(learned: dict[str, Any]) -> None:
    """The exported file has every stored event of the run, and the checkpoint its announced size."""
    lines = (learned["folder"] / "run.jsonl").read_text().splitlines()
    assert len(lines) == learned["run"].summary.events
    size = (learned["folder"] / "agent.checkpoint").stat().st_size
    assert size == learned["checkpoint"].bytes > 0


def test_a_refusal_names_what_was_meant(learned: dict[str, Any]) -> None:
    """The misspelt algorithm is answered with the right one."""
    assert "ppo" in learned["reason"]


def test_a_run_that_was_put_away_is_in_no_list(learned: dict[str, Any]) -> None:
    """The last list of the tutorial has the two seeds and not the long run."""
    assert len(learned["outputs"][-2]) == 2


def test_runs_and_tables_show_themselves(learned: dict[str, Any]) -> None:
    """What a cell shows of a run, a run list and a data frame is HTML."""
    shown = [each for each in learned["outputs"] if hasattr(each, "_repr_html_")]
    assert len(shown) >= 3
    assert all("<table" in each._repr_html_() for each in shown)
