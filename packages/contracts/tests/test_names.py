"""Names that cross a boundary: run ids, subjects, cursors."""

from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts import subjects
from mosaic_contracts.choices import EVENT_TYPES
from mosaic_contracts.cursor import Cursor, format_cursor, parse_cursor
from mosaic_contracts.events import KnownEvent
from mosaic_contracts.ids import parse_run_id

RUN = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
OF_RUN: list[Callable[[str], str]] = [
    subjects.events,
    subjects.committed,
    subjects.heartbeat,
    subjects.control,
    subjects.live_all,
    lambda run_id: subjects.live(run_id, "frames"),
    lambda run_id: subjects.node(run_id, "exit"),
]
BAD_IDS = [
    "",
    "*",
    ">",
    "a.b",
    RUN.lower(),
    RUN + "Z",
    RUN[:-1],
    RUN[:-1] + "I",
    RUN + "\n",
    "8" + RUN[1:],
]


@pytest.mark.parametrize("subject", OF_RUN)
@pytest.mark.parametrize("bad", BAD_IDS)
def test_subjects_refuse_bad_ids(subject: Callable[[str], str], bad: str) -> None:
    """A name that is no run id never gets into a subject, where `*` would mean every run."""
    with pytest.raises(ValueError, match="not a run id"):
        subject(bad)


def test_subjects_are_apart() -> None:
    """No two kinds of subject are the same, and wildcards cover exactly their kind."""
    made = [subject(RUN) for subject in OF_RUN]
    assert len(set(made)) == len(made)
    for pattern, subject in (
        (subjects.EVENTS_ALL, subjects.events),
        (subjects.HEARTBEAT_ALL, subjects.heartbeat),
        (subjects.COMMITTED_ALL, subjects.committed),
    ):
        assert pattern == subject(RUN).replace(RUN, "*")
    assert subjects.service_all("recorder").replace("*", "prune") == subjects.service(
        "recorder", "prune"
    )
    assert "." not in subjects.inbox_prefix(RUN)


@given(st.text(max_size=40))
def test_only_ulids_are_run_ids(text: str) -> None:
    """A text either is a canonical ULID or is refused."""
    alphabet = set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    is_ulid = len(text) == 26 and set(text) <= alphabet and text[0] in "01234567"
    try:
        assert parse_run_id(text) == text
    except ValueError:
        assert not is_ulid
    else:
        assert is_ulid


CURSORS = st.dictionaries(
    st.tuples(st.integers(1, 999_999_999), st.sampled_from(["worker", "supervisor"])),
    st.integers(0, 10**18 - 1),
    max_size=4,
)


@given(CURSORS)
def test_cursor_round_trip(cursor: Cursor) -> None:
    """A cursor survives its text form, which is the same for equal cursors."""
    text = format_cursor(cursor)
    assert parse_cursor(text) == cursor
    assert format_cursor(dict(reversed(cursor.items()))) == text


@pytest.mark.parametrize(
    "text", ["1.worker", "0.worker.1", "1.worker.-1", "1.worker.1~", "1.Worker.1", "x", "~"]
)
def test_bad_cursor(text: str) -> None:
    """A text that no cursor has is refused, not read as the beginning."""
    with pytest.raises(ValueError, match="part of a cursor"):
        parse_cursor(text)


def test_the_event_types_are_those_of_the_models() -> None:
    """Programs that list types need no model, and know the same ones."""
    members = get_args(get_args(KnownEvent)[0])
    assert [model.model_fields["type"].default for model in members] == list(EVENT_TYPES)
