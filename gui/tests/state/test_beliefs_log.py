"""Events that agents emitted are kept in order and bounded, and each step has what was said before it."""

from typing import Any

import numpy as np
import pytest
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, reported

from mosaic_contracts.grid import Grid
from mosaic_gui.state import beliefs_log
from mosaic_gui.state.beliefs_log import BeliefsLog
from mosaic_gui.state.policy_map import move_of, policy_map


@pytest.fixture
def log() -> BeliefsLog:
    """A log with all that was recorded of one episode."""
    made = BeliefsLog()
    made.take(EMITTED, "1.worker.13")
    return made


def test_each_step_has_what_was_said_before_it(log: BeliefsLog) -> None:
    """Plan, beliefs, intentions, exploration and cell of both steps, as `./mosaic beliefs` shows them."""
    first, second = log.decisions(CONFIG, 1, 0, STEPS)
    assert (first.plan, first.confidence, first.explored) == ("sure", 0.75, False)
    assert (first.action_name, first.cell, first.kind) == ("right", (0, 0), "start")
    assert first.beliefs == ["budget(5)", "state(0)"]
    assert first.intentions == ["+!start > +!go @sure"]
    assert (second.plan, second.explored, second.reward) == ("unsure", True, 1.0)
    assert (second.added, second.removed) == (["state(1)"], ["state(0)"])
    assert log.cursor == "1.worker.13"
    assert log.namespaces == {"bdi", "policy"}


def test_pieces_make_the_same_as_the_whole() -> None:
    """However the stream is cut into pages, the answer is that of one page."""
    cut = BeliefsLog()
    for event in EMITTED:
        cut.take([event], "c")
    whole = BeliefsLog()
    whole.take(EMITTED, "c")
    assert cut.decisions(CONFIG, 1, 0, STEPS) == whole.decisions(CONFIG, 1, 0, STEPS)


def test_a_long_run_is_folded_and_nothing_held_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Beyond its bound the older half goes; what it left in mind is still there, at a mark and between two."""
    monkeypatch.setattr(beliefs_log, "MOST_EVENTS", 2_000)
    log = BeliefsLog()
    log.take([reported(1, "bdi.belief", added=["first"], removed=[])], "")
    for seq in range(2, 5_001):
        gone = [f"at({seq - 1})"] if seq > 2 else []
        log.take([reported(seq, "bdi.belief", added=[f"at({seq})"], removed=gone)], "")
    kept = log._records[(1, 0)]
    assert len(kept.events) <= 2_000
    for seq in (4_900, 4_501, 4_500):
        step = {**STEPS[1], "seq": seq, "episode": 9}
        assert log.decisions(CONFIG, 1, 0, [step])[0].beliefs == ["first", f"at({seq - 1})"]
    assert log.is_kept(1, 0, 4_900)
    assert not log.is_kept(1, 0, 10)


def test_values_are_those_of_their_moment(log: BeliefsLog) -> None:
    """A step sees the last table that was emitted before it; later ones do not reach back."""
    log.take([reported(20, "policy.values", q=[[1, 0, 0, 0]] * 4, step=99, epsilon=0.5)], "")
    before, after = log.values(1, 0, 9), log.values(1, 0, 21)
    assert before is not None
    assert after is not None
    assert before.q[0].tolist() == [0, 0, 1, 0]
    assert (after.step, after.epsilon) == (99, 0.5)
    assert log.values(1, 0, 2) is None


def test_many_tables_are_thinned_with_the_newest_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of values are bounded, spread over the whole run, and the newest is always there."""
    monkeypatch.setattr(beliefs_log, "MOST_TABLES", 10)
    log = BeliefsLog()
    for n in range(100):
        log.take([reported(n + 1, "policy.values", q=[[n, 0, 0, 0]] * 4, step=n)], "")
    steps = [table.step for table in log._records[(1, 0)].tables]
    assert len(steps) <= 10
    assert steps[-1] == 99
    assert steps == sorted(steps)


@pytest.mark.parametrize("q", [None, "x", [[1, 2], [3]], [], [1.0]])
def test_a_table_of_another_kind_is_left_out(log: BeliefsLog, q: Any) -> None:
    """What cannot be a table by state and action is nothing to draw, and no fault."""
    log.take([reported(30, "policy.values", q=q)], "")
    assert log.newest_values(1, 0) == log.values(1, 0, 9)


def test_a_cell_knows_its_best_actions() -> None:
    """Worth, share between lowest and highest, ties, and cells where nothing was learned."""
    grid = Grid.model_validate(CONFIG["grid"])
    q = np.array([[0, 0, 1, 0], [0, 3, 3, 0], [0, 0, 0, 0], [0, 0, 0, 2]], np.float32)
    policy = policy_map(grid, q, None)
    assert policy is not None
    assert [cell.best for row in policy for cell in row] == [(2,), (1, 2), (), (3,)]
    assert [cell.share for row in policy for cell in row] == [0.0, 1.0, 0.0, 0.5]
    assert move_of(grid, 2) == (0, 1)
    assert policy_map(grid, q[:3], None) is None


def test_of_several_states_a_cell_shows_that_of_now() -> None:
    """Where a state says more than its place, the cells show the states that share all the rest with it."""
    two = CONFIG["grid"] | {"states_per_cell": 2}
    q = np.zeros((8, 4), np.float32)
    q[3, 1] = 5  # cell 1, second state
    grid = Grid.model_validate(two)
    first, second = policy_map(grid, q, 0), policy_map(grid, q, 7)
    assert first is not None
    assert second is not None
    assert first[0][1].best == ()
    assert second[0][1].best == (1,)
