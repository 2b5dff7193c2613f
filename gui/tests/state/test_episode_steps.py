from typing import Any

import pytest
from tests.beliefs_specimen import CONFIG, STEPS

from mosaic_gui.state.episode_steps import (
    EpisodeMoment,
    MomentKind,
    RecordedSteps,
    moments_of,
    next_moment,
    previous_moment,
)


def recorded(rewards: list[float], **fields: dict[int, int]) -> RecordedSteps:
    """An episode with these rewards; `flags` and `actor` by step."""
    events: list[dict[str, Any]] = [
        {"type": "episode_start", "seq": 5, "reset": {"way": "generator"}, "attempt": 1}
    ]
    for n, reward in enumerate(rewards, 1):
        step = {"type": "step", "seq": 5 + 2 * n, "step": n, "action": n % 2, "reward": reward}
        step |= {name: values.get(n, 0) for name, values in fields.items()}
        events.append({"flags": 0, **step})
    return RecordedSteps.from_events(events)


def test_steps_have_numbers_and_the_return_so_far() -> None:
    """Step 0 is the reset."""
    episode = recorded([1.0, 2.0, -0.5])
    assert (episode.last, len(episode)) == (3, 4)
    assert [step.episode_return for step in episode.steps] == [0.0, 1.0, 3.0, 2.5]
    assert episode.reset == {"way": "generator"}


def test_an_episode_without_steps_is_empty() -> None:
    """Nothing was recorded, or it was not read yet."""
    assert (RecordedSteps().last, RecordedSteps().at(0), RecordedSteps().row_of(3)) == (0, None, -1)


def test_steps_that_were_not_recorded_are_left_out() -> None:
    """A thinned recording has holes; the table has the nearest step before."""
    events = [
        {"type": "step", "seq": n, "step": n, "action": 0, "reward": 1.0, "flags": 0}
        for n in (1, 2, 5)
    ]
    episode = RecordedSteps.from_events(events)
    assert episode.at(3) is None
    assert [episode.row_of(n) for n in (0, 1, 4, 5, 9)] == [-1, 0, 1, 2, 2]


def test_steps_of_a_grid_world_have_cells() -> None:
    """The state of each step is found by its hash."""
    episode = RecordedSteps.from_events(STEPS, CONFIG)
    assert [episode.cell_at(n) for n in (0, 1, 2)] == [(0, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("rewards", "spikes"),
    [
        ([1.0] * 50, []),
        ([0.0] * 20 + [1.0], [21]),
        ([0.0] * 20 + [-1.0] + [0.0] * 20, [21]),
        ([float(n % 2) for n in range(40)], []),
        ([1.0], []),
        ([], []),
        ([0.0] * 10 + [float("nan")] + [5.0], [12]),
        ([0.1 * (n % 5) for n in range(50)] + [40.0], [51]),
    ],
    ids=["equal", "goal", "penalty", "alternating", "one", "none", "nan", "noise"],
)
def test_unusual_rewards_are_moments(rewards: list[float], spikes: list[int]) -> None:
    """What is unusual depends on the episode."""
    found = moments_of(recorded(rewards))
    assert [m.step for m in found if m.kind is MomentKind.REWARD] == spikes


def test_few_steps_are_spikes() -> None:
    """Where very many rewards are unusual, the largest are."""
    found = moments_of(recorded([0.0] * 60 + [float(n) for n in range(1, 41)]))
    assert [m.step for m in found] == list(range(81, 101))


def test_ends_persons_beliefs_and_differences_are_moments() -> None:
    """Each with its reason; a person's stretch of actions is one moment."""
    episode = recorded([0.0] * 6, flags={6: 2}, actor={2: 1, 3: 1, 5: 1})
    found = moments_of(episode, belief_seqs=[5, 8, 9, 999], difference=4)
    assert found == [
        EpisodeMoment(0, MomentKind.BELIEF),
        EpisodeMoment(2, MomentKind.BELIEF),
        EpisodeMoment(2, MomentKind.PERSON),
        EpisodeMoment(4, MomentKind.DIFFERENCE),
        EpisodeMoment(5, MomentKind.PERSON),
        EpisodeMoment(6, MomentKind.END),
    ]
    assert next_moment(found, 2) == found[3]
    assert previous_moment(found, 2) == found[0]
    assert next_moment(found, 6) is None
    assert previous_moment(found, 0) is None
