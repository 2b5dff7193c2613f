"""Words about checkpoints."""

from datetime import UTC, datetime

import pytest
from tests.checkpoint_specimen import SHA, checkpoint, checkpoints, evaluated
from tests.specimen import run_id, worker

from mosaic_contracts.checkpoint_words import CheckpointState
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state import checkpoint_texts as texts
from mosaic_gui.state.checkpoint_texts import CheckedFile, FileCheck

AT = datetime(2026, 1, 2, 12, 30, tzinfo=UTC)


def algorithm(**fields: object) -> Algorithm:
    """PPO, whose checkpoints act and begin trainings."""
    entry = worker()
    assert entry.description is not None
    found = entry.description.algorithms[0]
    schema = {"properties": {"checkpoint": {"type": "string", "x-checkpoint": True}}}
    known = {"play": True, "warm_start": True, "resumes": False, "parameters": schema}
    return found.model_copy(update=known | fields)


def test_a_card_says_what_is_known() -> None:
    """Return with its number of episodes, evaluation with its error, unknown where nothing was recorded."""
    best, missing = checkpoints()[2], checkpoints()[3]
    assert (texts.step_text(best), texts.return_text(best)) == ("step 49,664", "499.5")
    assert texts.return_label(checkpoints()[4]) == "mean of 7"
    assert texts.evaluation_text(evaluated().evaluation) == "445.2 ± 7.6"
    assert "normaliser" in texts.card_foot(best, AT)
    assert (texts.step_text(missing), texts.return_label(missing)) == (
        "final.pt",
        "no return recorded",
    )
    known = dict(texts.facts(missing))
    assert (known["Step"], known["Saved"], known["SHA-256"]) == ("unknown",) * 3
    assert dict(texts.facts(evaluated()))["Evaluated"] == "445.2 ± 7.6 in 20 episodes, greedy"


def test_a_hash_says_more_than_a_size() -> None:
    """Until the file is replaced by another one."""
    row = checkpoint()
    good = CheckedFile(CheckpointState.PRESENT, SHA, AT)
    bad = CheckedFile(CheckpointState.ALTERED, SHA, AT)
    assert texts.integrity(row, None)[1] == "neutral"
    assert texts.integrity(row, good)[1] == "ok"
    assert [tag.word for tag in texts.tags(row, bad)] == ["Altered"]
    assert "hash" in texts.integrity(row, bad)[0]
    replaced = checkpoint(sha256="c" * 64)
    assert texts.integrity(replaced, good)[1] == "neutral"
    assert texts.gone(checkpoint(state="missing"), None)
    assert not texts.gone(checkpoint(state="altered"), None)


def test_commands_name_the_same_checkpoint() -> None:
    """A path with a space is quoted."""
    row = checkpoint(path="checkpoints/my file.pt")
    found = dict(texts.commands(row, algorithm()))
    quoted = f"'{run_id(0)}/checkpoints/my file.pt'"
    assert found["Play"] == f"./mosaic play {run_id(0)} 'checkpoints/my file.pt'"
    assert found["Train on"] == f"./mosaic run cleanrl ppo CartPole-v1 -p checkpoint={quoted}"
    assert found["Verify"] == f"./mosaic checkpoints verify {quoted}"
    assert list(dict(texts.commands(row, algorithm(play=False, warm_start=False)))) == ["Verify"]


@pytest.mark.parametrize(("resumes", "word"), [(False, "Warm start"), (True, "goes on")])
def test_training_on_says_what_is_not_taken_over(resumes: bool, word: str) -> None:
    """A resumption is named apart from a warm start."""
    assert word in texts.start_words(algorithm(resumes=resumes))


def test_files_of_a_run_are_compared_together_unless_they_are_large() -> None:
    """What is not there is not compared."""
    large = texts.MOST_AT_ONCE_BYTES
    rows = [
        checkpoint(0, "a"),
        checkpoint(0, "b"),
        checkpoint(0, "c", state="missing"),
        checkpoint(1, "a", bytes=large),
        checkpoint(1, "b"),
        checkpoint(2, "a"),
    ]
    assert texts.file_checks(rows) == [
        FileCheck(run_id(0), None, 2),
        FileCheck(run_id(1), "a", 1),
        FileCheck(run_id(1), "b", 1),
        FileCheck(run_id(2), "a", 1),
    ]
