"""Successors at a step of a recorded episode, and why some are refused."""

from typing import Any

import pytest
from tests.replay_specimen import STEPS, differing, step_events, verified
from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_gui.state.algorithms import algorithm_of
from mosaic_gui.state.episode_steps import RecordedSteps
from mosaic_gui.state.takeover import (
    checkpoint_offers,
    continues_in_run,
    person_obstacle,
    policy_obstacle,
    step_fault,
)

WHOLE = RecordedSteps.from_events(step_events())
CUT = RecordedSteps.from_events(step_events(STEPS)[:31])


def entry(name: str = "cleanrl", **fields: Any) -> WorkerEntry:
    """A worker whose algorithms say what `fields` say."""
    made = worker().model_dump(mode="json")
    made["manifest"]["id"] = name
    for algorithm in made["description"]["algorithms"]:
        part = {"type": "string", "x-checkpoint": True}
        algorithm["parameters"]["properties"]["checkpoint"] = part
        algorithm |= fields
    return WorkerEntry.model_validate(made)


CLEANRL = entry(play=True, hybrid=True, branches=True)
AGENTS = entry(play=True)
PLAY = entry("play", human=True, branches=True)
TRAINED = run(0, RunState.SUCCEEDED, summary=summary(0, checkpoints=2))


@pytest.mark.parametrize(
    ("step", "steps", "result", "instead"),
    [
        (0, WHOLE, verified(), None),
        (STEPS - 1, WHOLE, verified(), None),
        (STEPS, WHOLE, verified(), STEPS - 1),
        (30, CUT, None, None),
        (39, WHOLE, differing(), None),
        (40, WHOLE, differing(), 39),
        (STEPS, WHOLE, differing(), 39),
    ],
)
def test_a_step_is_right_or_refused_with_the_last_one_before_it(
    step: int, steps: RecordedSteps, result: ReplayResult | None, instead: int | None
) -> None:
    """The reset, the middle, the last step, one after the end, and one that is not rebuilt."""
    fault = step_fault(step, steps, result)
    assert (fault.instead if fault is not None else None) == instead
    if fault is not None:
        assert f"step {instead}" in fault.words


def test_an_episode_without_its_reset_is_refused() -> None:
    """There is no step before it."""
    difference = differing().first_difference
    assert difference is not None
    first = differing().model_copy(
        update={"first_difference": difference.model_copy(update={"step": 0})}
    )
    fault = step_fault(0, WHOLE, first)
    assert fault is not None
    assert fault.instead is None


def test_a_policy_needs_a_checkpoint_and_a_worker_that_rebuilds() -> None:
    """Each obstacle has its own words."""
    words = [
        policy_obstacle(TRAINED, algorithm_of(TRAINED, [CLEANRL])),
        policy_obstacle(run(0), algorithm_of(run(0), [CLEANRL])),
        policy_obstacle(TRAINED, algorithm_of(TRAINED, [AGENTS])),
        policy_obstacle(TRAINED, algorithm_of(TRAINED, [])),
        policy_obstacle(run(0, spec={"worker": "play"}), algorithm_of(run(0), [entry(human=True)])),
    ]
    assert words[0] == ""
    assert len(set(words)) == len(words)


def test_a_person_goes_on_in_the_run_or_in_a_worker_for_people() -> None:
    """In one for people the environment must be installed."""
    algorithm = algorithm_of(TRAINED, [CLEANRL])
    assert continues_in_run(TRAINED, algorithm)
    assert person_obstacle(TRAINED, algorithm, [CLEANRL]) == ""
    agents = algorithm_of(TRAINED, [AGENTS])
    assert not continues_in_run(TRAINED, agents)
    assert "sync worker_play" in person_obstacle(TRAINED, agents, [AGENTS])
    assert person_obstacle(TRAINED, agents, [AGENTS, PLAY]) == ""
    elsewhere = run(0, spec={"environment": "Nowhere-v0"})
    assert "Nowhere-v0" in person_obstacle(elsewhere, agents, [AGENTS, PLAY])


def test_only_checkpoints_that_can_begin_at_a_step_are_offered() -> None:
    """Those that are gone, or of agents that act by plans, are left out."""
    row = CheckpointRow(
        run_id=run_id(1),
        run_name="one",
        kind="train",
        worker="cleanrl",
        algorithm="ppo",
        environment="CartPole-v1",
        path="checkpoints/best.pt",
        bytes=9,
        step=50_000,
        mean_return_20=480.5,
    )
    rows = [
        row,
        row.model_copy(update={"state": "missing"}),
        row.model_copy(update={"worker": "x"}),
    ]
    (offer,) = checkpoint_offers(rows, [CLEANRL, entry("x", play=True)])
    assert offer.key == f"{run_id(1)}/checkpoints/best.pt"
    assert offer.words == "ppo · step 50k · return 480.5 · one"
