from typing import Any

import pytest
from tests.specimen import run, run_id

from mosaic_contracts.replays import (
    PackageDifference,
    ReplayResult,
    ReplaySource,
    StepDifference,
)
from mosaic_contracts.states import RunState
from mosaic_gui.state.replay_words import (
    difference_words,
    end_words,
    progress_share,
    progress_words,
    verdict_of,
)

SOURCE = ReplaySource(run_id=run_id(0), attempt=1, env=0, episode=4)


def result(**fields: Any) -> ReplayResult:
    """A replay that is equal."""
    known: dict[str, Any] = {"source": SOURCE, "way": "generator", "steps": 512, "equal": 512}
    return ReplayResult.model_validate(known | fields)


def test_an_equal_replay_is_verified_with_its_way() -> None:
    """The number of steps, and how the reset was rebuilt."""
    verdict = verdict_of(result())
    assert (verdict.word, verdict.tone) == ("Verified 512 of 512 · generator", "ok")
    assert verdict.warnings == ()


def test_the_first_step_that_differs_is_named_with_its_values() -> None:
    """What was recorded and what came instead."""
    difference = StepDifference(
        step=41, parts=["observation", "reward"], recorded={"reward": 1.0}, rebuilt={"reward": 0.5}
    )
    found = result(equal=40, first_difference=difference)
    verdict = verdict_of(found)
    assert (verdict.word, verdict.tone) == ("Differs at step 41 · generator", "bad")
    assert difference_words(found) == (
        "Step 41 is not as recorded: observation; reward recorded 1, rebuilt 0.5. "
        "Frames from there on are approximate."
    )


def test_a_reset_that_differs_is_named() -> None:
    """Step 0 is the reset."""
    found = result(equal=0, first_difference=StepDifference(step=0, parts=["observation"]))
    assert difference_words(found).startswith("The reset is not as recorded: observation.")


def test_versions_and_a_cut_record_are_said_before_the_result() -> None:
    """They explain it."""
    packages = [
        PackageDifference(package="gymnasium", recorded="0.29.1", installed="1.0.0"),
        PackageDifference(package="ale-py", recorded="0.8", installed=None),
    ]
    verdict = verdict_of(result(packages=packages, is_cut=True))
    assert verdict.warnings == (
        "gymnasium 0.29.1 was recorded, 1.0.0 is installed here.",
        "ale-py 0.8 was recorded, and is not installed here.",
        "The record ends after 512 steps, before the episode did.",
    )


def test_what_cannot_be_rebuilt_says_why() -> None:
    """The worker's words are the tool tip and the text in the middle."""
    verdict = verdict_of(result(problem="no bundle atari", equal=0))
    assert (verdict.word, verdict.tone, verdict.help) == ("Not rebuilt", "bad", "no bundle atari")


def test_a_way_of_a_newer_worker_keeps_its_name() -> None:
    """No text is lost."""
    assert verdict_of(result(way="oracle")).word == "Verified 512 of 512 · oracle"


def test_earlier_episodes_are_counted() -> None:
    """A chain takes longer; the tool tip says why."""
    assert "12 earlier episodes" in verdict_of(result(way="chain", episodes_before=12)).help


@pytest.mark.parametrize(
    ("state", "fields", "words"),
    [
        (RunState.QUEUED, {"waiting_reason": "2 runs are ahead"}, "Waiting: 2 runs are ahead"),
        (RunState.STARTING, {}, "Starting the environment in a fresh process …"),
        (
            RunState.RUNNING,
            {"progress": {"step": 1200, "total": 27000}},
            "Rebuilding: 1,200 of 27,000 steps",
        ),
        (RunState.RUNNING, {"progress": {"step": 9, "total": 9}}, "Preparing the first frames …"),
    ],
)
def test_progress_is_said_in_words(state: RunState, fields: dict[str, Any], words: str) -> None:
    """What the user waits for."""
    assert progress_words(run(0, state, **fields)) == words


def test_before_the_answer_there_is_no_share() -> None:
    """The bar appears with the first figures."""
    assert progress_words(None) == "Asking for a replay …"
    assert progress_share(None) is None
    assert progress_share(run(0, progress={"step": 5, "total": 20})) == 0.25


def test_a_replay_that_died_says_how() -> None:
    """The run's own end."""
    assert end_words(run(0, RunState.FAILED)) == "The replay ended: Completed."
