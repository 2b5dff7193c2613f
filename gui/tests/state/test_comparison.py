"""A comparison that is put together, and its result in words."""

import pytest
from tests.comparison_specimen import policies, trainings
from tests.specimen import run, run_id, summary

from mosaic_contracts.states import RunState
from mosaic_gui.state.comparison_draft import (
    ComparisonDraft,
    DraftActor,
    actor_of,
    can_act,
    training_obstacle,
    training_order,
)
from mosaic_gui.state.comparison_result import (
    episodes_of_seed,
    group_rows,
    headline,
    pair_rows,
    seed_rows,
)
from mosaic_gui.state.episode_list import EpisodeAddress

TRAINED = run(0, RunState.SUCCEEDED, summary=summary(0, checkpoints=1))
PLAYED = run(1, RunState.SUCCEEDED, summary=summary(1), spec={"kind": "play", "worker": "play"})


def test_what_is_compared_and_what_is_in_the_way() -> None:
    """Two actors at least, different ones, in one environment."""
    draft = ComparisonDraft()
    assert "at least two" in draft.obstacle
    draft.add(DraftActor())
    draft.add(DraftActor())
    assert "no environment" in draft.obstacle
    draft.remove(1)
    draft.add(actor_of(TRAINED, may_sample=True))
    assert draft.obstacle == ""
    draft.add(actor_of(TRAINED, may_sample=True))
    assert (draft.actors[2].checkpoint, draft.obstacle) == ("best", "")
    draft.change(2, checkpoint="last")
    assert draft.obstacle == "Two actors are the same."
    draft.change(2, sampled=True)
    draft.add(actor_of(PLAYED, may_sample=True))
    plan = draft.order.plan
    assert [actor.random for actor in plan.actors] == [True, False, False, False]
    assert [actor.checkpoint for actor in plan.actors] == [None, "last", "last", None]
    assert plan.actors[2].sampled
    elsewhere = run(2, summary=summary(2, checkpoints=1), spec={"environment": "Acrobot-v1"})
    draft.add(actor_of(elsewhere, may_sample=False))
    assert "Acrobot-v1, CartPole-v1" in draft.obstacle


@pytest.mark.parametrize(("episodes", "word"), [(5, "verdict"), (6, "narrow"), (20, "")])
def test_too_few_seeds_are_said_before(episodes: int, word: str) -> None:
    """Below six no outcome is evidence; below twenty the intervals are too narrow."""
    caution = ComparisonDraft(episodes=episodes).caution
    assert word in caution
    assert bool(caution) == bool(word)


def test_which_runs_can_be_compared() -> None:
    """A training needs a checkpoint for its policy, a play an episode."""
    assert can_act(TRAINED)
    assert can_act(PLAYED)
    assert not can_act(run(3))
    assert training_obstacle([TRAINED, PLAYED]).endswith("of kind play, no training.")
    assert training_obstacle([TRAINED]) == "Add at least two trainings."
    assert training_order([TRAINED], 9.0).thresholds == {"": 9.0}


def test_the_verdict_in_a_sentence() -> None:
    """The best one where there is one, else the pairs that differ; too few samples before all."""
    result = policies()
    names = [actor.name for actor in result.actors]
    words = headline(names, result.pairs)
    assert words.startswith("ppo is higher than random; dqn best is higher than random; otherwise")
    assert headline(names[1:], result.pairs[2:]) == "dqn best has the highest mean return."
    assert headline(names[:2], result.pairs[:1]).startswith("No clear difference")
    many = [*result.pairs, *result.pairs[1:]]
    assert headline(names, many) == "4 of 5 pairs differ, and none is higher than all others."
    few = policies(seeds=5)
    assert headline(names, few.pairs).startswith("Too few samples")
    assert pair_rows(few.pairs)[0][:2] == ("ppo – dqn best", "too few samples")
    assert pair_rows(result.pairs)[1][1:] == (
        "ppo is higher",
        "180 [168, 192]",
        "0.60 [0.40, 0.80]",
        "24 / 0 / 0",
    )


def test_a_seed_leads_to_the_episodes_of_all_actors() -> None:
    """Each in its run; an actor whose seeds are no pairs has none."""
    result = policies()
    assert seed_rows(result)[2] == (3, ("202", "197", "22"))
    assert episodes_of_seed(result, 3) == [
        EpisodeAddress(run_id(50 + n), 1, 0, 2) for n in range(3)
    ]
    result.document.actors[1].seeds = []
    assert len(episodes_of_seed(result, 3)) == 2


def test_trainings_say_how_many_reached_the_threshold() -> None:
    """With the steps that they needed."""
    assert group_rows(trainings()) == [("ppo", "CartPole-v1", "3", "9", "5", "4,000 (2 of 3)")]
