from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.edit_history import MOST, EditHistory, FormSnapshot


def typed(text: str) -> FormSnapshot:
    """A form with this text in one field."""
    return FormSnapshot("CartPole-v1", {}, {"gamma": text})


def test_keys_in_a_row_are_one_edit() -> None:
    """What was typed without a pause is taken back at once; after a pause it is an edit of its own."""
    history = EditHistory(typed(""))
    for text in ("0", "0.", "0.9"):
        history.note("gamma", typed(text))
    history.seal()
    history.note("gamma", typed("0.95"))
    assert history.undo() == typed("0.9")
    assert history.undo() == typed("")
    assert history.undo() is None


def test_an_edit_forgets_what_was_taken_back() -> None:
    """Redo is of this line of edits alone, and each says what it is of."""
    history = EditHistory(typed("a"))
    history.note("gamma", typed("b"))
    history.undo()
    assert (history.undoes, history.redoes) == ("", "gamma")
    history.note("tau", typed("c"))
    assert history.redo() is None
    assert history.undo() == typed("a")


def test_what_changes_nothing_is_no_edit() -> None:
    """An undo that does nothing that can be seen would be a riddle."""
    history = EditHistory(typed("a"))
    history.note("gamma", typed("a"))
    assert history.undoes == ""


@given(st.lists(st.text(max_size=3), max_size=30))
def test_undo_and_redo_lead_back(texts: list[str]) -> None:
    """All the way back is the beginning, all the way forth the end."""
    history = EditHistory(typed(""))
    for n, text in enumerate(texts):
        history.note(str(n), typed(text))
    end = history.now
    while history.undo() is not None:
        pass
    assert history.now == typed("")
    while history.redo() is not None:
        pass
    assert history.now == end


def test_the_history_has_an_end() -> None:
    """A day of typing does not grow without bound."""
    history = EditHistory(typed(""))
    for n in range(MOST + 50):
        history.note(str(n), typed(str(n)))
    steps = 0
    while history.undo() is not None:
        steps += 1
    assert steps == MOST
