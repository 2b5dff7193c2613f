"""Numbers and times of a run as verbs show them: by whose clock, of how many episodes, of how many steps."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

SAMPLE = {
    "run_id": RUN_ID,
    "episodes": 810,
    "episodes_played": 3022,
    "best_return": 9.5,
    "mean_return": 4.25,
}


def with_run(answers: Answers, **fields: Any) -> None:
    """One run with these fields, in the list and by itself."""
    run = RUN | {"end": {"cause": "completed", "message": "Completed."}} | fields
    answers["/api/v1/runs"] = {"runs": [run]}
    answers[OF_RUN] = run


@pytest.mark.parametrize("ahead_s", [-7_200, 7_200])
def test_ages_are_by_the_clock_of_the_stack(
    ahead_s: float, mosaic: Mosaic, answers: Answers
) -> None:
    """A client whose clock is behind or ahead shows no age below zero and none that is hours off."""
    answers.clock_ahead_s = ahead_s
    created = datetime.now(UTC) + timedelta(seconds=ahead_s - 180)
    with_run(answers, created_at=created.isoformat(), elapsed_s=12.0)
    _, out, _ = mosaic("ps")
    assert out.splitlines()[1].endswith("12 s  3 min ago")
    queued = RUN | {"state": "queued", "created_at": created.isoformat()}
    answers["/api/v1/queue"] = {"runs": [queued]}
    assert "3 min ago" in mosaic("queue")[1]
    answers["/api/v1/secrets"] = {"secrets": [{"name": "A", "updated_at": created.isoformat()}]}
    assert "3 min ago" in mosaic("secret", "ls")[1]


@pytest.mark.parametrize("state", ["running", "succeeded"])
def test_a_run_takes_as_long_as_the_stack_says(
    state: str, mosaic: Mosaic, answers: Answers
) -> None:
    """How long a run takes is measured by the stack; no time of this machine enters it."""
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    with_run(answers, state=state, started_at=later, elapsed_s=65.0)
    assert "  1:05  " in mosaic("ps")[1]
    assert "took         1:05" in mosaic("show", "last")[1]


def test_a_run_that_waits_at_a_cluster_is_queued(mosaic: Mosaic, answers: Answers) -> None:
    """Its attempt has been passed on, and nothing of it has begun: `show` says what `ps` says."""
    with_run(
        answers, state="starting", waiting_reason="queued at Slurm: all suitable nodes are busy"
    )
    for verb in (("ps",), ("show", "last")):
        _, shown, _ = mosaic(*verb)
        assert "queued at Slurm: all suitable nodes are busy" in shown
        assert "starting" not in shown


def test_what_is_a_sample_says_so(mosaic: Mosaic, answers: Answers) -> None:
    """Where the store has a part of the episodes, both numbers are shown and returns are not as if of all."""
    with_run(answers, summary=SAMPLE)
    _, shown, _ = mosaic("show", "last")
    assert (
        "3,022 played, 810 recorded; of this sample: best return 9.50, mean of the last 20 4.25"
        in shown
    )
    _, listed, said = mosaic("ps")
    assert "9.5*" in listed
    assert said == "* of the recorded episodes, a sample of those that were played\n"
    rows = [{"attempt": 1, "env": 0, "episode": n, "length": 1, "return": 1} for n in range(2)]
    answers[f"{OF_RUN}/episodes"] = {"episodes": rows}
    assert (
        "The last 2 of 810 recorded ones, a sample of 3,022 played" in mosaic("episodes", "last")[2]
    )


def test_a_sample_that_is_shown_whole_is_a_sample_still(mosaic: Mosaic, answers: Answers) -> None:
    """All that is recorded is not all that was played."""
    with_run(answers, summary=SAMPLE | {"episodes": 1})
    row = {"attempt": 1, "env": 0, "episode": 7, "length": 1, "return": 1}
    answers[f"{OF_RUN}/episodes"] = {"episodes": [row]}
    assert mosaic("episodes", "last")[2] == "All 1 recorded ones, a sample of 3,022 played.\n"


def test_all_episodes_are_no_sample(mosaic: Mosaic, answers: Answers) -> None:
    """Where every episode is recorded there is one number, without a mark."""
    with_run(answers, summary=SAMPLE | {"episodes_played": 810})
    assert "episodes     810, best return 9.50" in mosaic("show", "last")[1]
    _, listed, said = mosaic("ps")
    assert "*" not in listed + said


@pytest.mark.parametrize(
    ("steps", "asked", "told", "words"),
    [
        (200_000, 1_000_000, None, "200,000 of 1,000,000 asked for"),
        (200_000, 1_000_000, 1_000_000, "200,000 of 1,000,000 asked for"),
        (200_000, None, 1_000_000, "200,000 of 1,000,000"),
        (20_480, 20_000, 20_480, "20,480"),
        (20_000, None, None, "20,000"),
    ],
)
def test_a_run_that_ended_early_shows_what_was_reached_of_what_was_asked(
    steps: int, asked: int | None, told: int | None, words: str, mosaic: Mosaic, answers: Answers
) -> None:
    """A success, a stop or a crash before the last step says of how many steps it was."""
    spec = RUN["spec"] | {"steps": asked}
    with_run(answers, spec=spec, progress={"step": steps, "total": told})
    lines = mosaic("show", "last")[1].splitlines()
    assert f"steps        {words}" in lines


@pytest.mark.parametrize(
    ("state", "words"), [("failed", "cut off by the run's end"), ("running", "running")]
)
def test_an_open_episode_of_an_ended_run_is_cut_off(
    state: str, words: str, mosaic: Mosaic, answers: Answers
) -> None:
    """An episode without an end goes on only while its run does."""
    with_run(answers, state=state, summary={"run_id": RUN_ID})
    row = {"attempt": 1, "env": 0, "episode": 7, "recorded_steps": 1}
    answers[f"{OF_RUN}/episodes"] = {"episodes": [row]}
    assert words in mosaic("episodes", "last")[1]
    step = {"attempt": 1, "source": "worker", "seq": 2, "type": "step", "env": 0, "episode": 7, "step": 1, "action": 0,
            "reward": 0.0, "flags": 0, "hash": "0" * 16, "actor": 0, "t": 0.0}  # fmt: skip
    answers[f"{OF_RUN}/events"] = {"events": [], "cursor": "", "has_more": False}
    answers[f"{OF_RUN}/episodes/1/0/7/steps"] = {"events": [step], "cursor": "", "has_more": False}
    assert f"1 steps, {words}" in mosaic("beliefs", "last")[1]


def test_thinned_steps_are_shown_with_their_rule(mosaic: Mosaic, answers: Answers) -> None:
    """A run says how many steps are gone and why, and the list of episodes where."""
    with_run(
        answers, summary=SAMPLE | {"thinned_steps": 1700, "thinned_by": "storage profile lean"}
    )
    assert "1,700 steps thinned by storage profile lean" in mosaic("show", "last")[1]
    row = {
        "attempt": 1,
        "env": 0,
        "episode": 7,
        "length": 17,
        "recorded_steps": 0,
        "thinned_steps": 17,
    }
    answers[f"{OF_RUN}/episodes"] = {"episodes": [row]}
    assert " thinned  " in mosaic("episodes", "last")[1]
    code, _, said = mosaic("replay", "last", "--episode", "7")
    assert code == 4
    assert "removed to free space" in said


def test_json_has_both_numbers(mosaic: Mosaic, answers: Answers) -> None:
    """A script reads the same."""
    with_run(answers, summary=SAMPLE)
    _, out, _ = mosaic("show", "last", "--json")
    assert strict(out)["summary"]["episodes_played"] == 3022


def test_the_code_of_a_run_is_shown(mosaic: Mosaic, answers: Answers) -> None:
    """`show` names the commit, whether there were changes, and how many packages the script had."""
    with_run(answers, summary=SAMPLE)
    config = {
        "git": {"commit": "0123456789abcdef", "dirty": True},
        "installed": {"numpy": "2", "torch": "2.13"},
        "script_file": {"path": "source/train.py", "sha256": "ab"},
    }
    event = {"type": "config", "data": config}
    page = {"events": [event], "cursor": "x", "has_more": False}
    answers[f"/api/v1/runs/{RUN_ID}/events"] = page
    words = "commit 0123456789ab and changes, 2 packages (source/ in its folder)"
    assert words in mosaic("show", "last")[1]
