from tests.specimen import run, summary

from mosaic_contracts.runs import EpisodeRow
from mosaic_contracts.states import RunState
from mosaic_gui.state.episodes import episode_ends, episode_facts, sample_words


def row(episode: int, env: int = 0, attempt: int = 1, **fields: object) -> EpisodeRow:
    """An episode, open unless its length is given."""
    known = {"attempt": attempt, "env": env, "episode": episode}
    return EpisodeRow.model_validate(known | fields)


def test_both_numbers_are_shown_of_a_sample() -> None:
    """Episodes are those that were played; figures of recorded ones say so by name."""
    facts = episode_facts(summary(episodes=810, episodes_played=3022, best_return=1.0))
    assert facts[:2] == [("Episodes", "3,022"), ("Recorded", "810")]
    assert [name for name, _ in facts[2:]] == [
        "Last recorded",
        "Mean of 20 recorded",
        "Best recorded",
    ]
    sampled = run(0, summary=summary(episodes=810, episodes_played=3022))
    assert sample_words(sampled).startswith("3,022 episodes were played, and 810 of them recorded")


def test_all_episodes_are_named_as_such() -> None:
    """Where every episode was recorded, and with an older stack, nothing is said of a sample."""
    for known in ({"episodes_played": 3}, {}):
        facts = episode_facts(summary(episodes=3, **known))
        assert [name for name, _ in facts] == ["Episodes", "Last return", "Mean of 20", "Best"]
        assert sample_words(run(0, summary=summary(episodes=3, **known))) == ""


def test_open_episode_goes_on_only_while_its_run_does() -> None:
    """An open episode of an ended run was cut off by the run's end, one of an earlier attempt too."""
    rows = [row(7), row(6, length=3, terminated=True), row(2, env=1), row(1, env=1)]
    assert episode_ends(rows, run(0)) == [
        "goes on",
        "terminated",
        "goes on",
        "its end was not recorded",
    ]
    cut = "cut off by the run's end"
    for state in RunState:
        if state.is_final:
            assert episode_ends(rows[:1], run(0, state)) == [cut]
    again = run(0, attempt=2)
    assert episode_ends([row(0, attempt=2), row(7)], again) == ["goes on", cut]
    assert episode_ends([row(1, length=2, truncated=True)], None) == ["truncated"]
