"""Texts, histograms and images are found by their names, whatever else a run has."""

import math
from typing import Any

import pytest
from tests.test_checkpoints import CURSOR, EVALUATED, TRAINED, stored

from mosaic_contracts.wire import SOURCE_SUPERVISOR, Config, Extra
from mosaic_store import Reader, Writer
from mosaic_store.media import spread


def text(seq: int, name: str, step: Any, words: str = "x") -> Extra:
    """A text."""
    return Extra(seq, seq, "media.text", {"name": name, "step": step, "text": words})


def test_names_and_values(writer: Writer, reader: Reader) -> None:
    """Each name of each kind with its number and steps; values in the order in which they were recorded."""
    bins = {"name": "weights", "step": 5, "edges": [0.0, 1.0], "counts": [3.0]}
    image = {"name": "weights", "step": None, "path": "media/w/0.png", "width": 3, "height": 2}
    writer.apply(
        [
            stored(
                TRAINED, Config(1, 0, {}), text(2, "plan", 10, "left"), text(3, "plan", 4, "up")
            ),
            stored(TRAINED, Extra(4, 4, "media.histogram", bins)),
            stored(TRAINED, Extra(5, 5, "media.image", {**image, "bytes": 70, "caption": "first"})),
            stored(EVALUATED, text(1, "plan", 1)),
        ],
        CURSOR,
    )
    names = [
        (n.kind, n.name, n.count, n.first_step, n.last_step) for n in reader.media_names(TRAINED)
    ]
    assert names == [
        ("text", "plan", 2, 4, 10),
        ("histogram", "weights", 1, 5, 5),
        ("image", "weights", 1, None, None),
    ]
    plans = reader.media_values(TRAINED, "text", "plan", 10)
    assert (plans.count, [(one.step, one.text) for one in plans.values]) == (
        2,
        [(10, "left"), (4, "up")],
    )
    (weights,) = reader.media_values(TRAINED, "histogram", "weights", 10).values
    assert (weights.edges, weights.counts, weights.text) == ([0, 1], [3], None)
    (shown,) = reader.media_values(TRAINED, "image", "weights", 10).values
    assert (shown.path, shown.caption, shown.step, shown.t) == (
        "media/w/0.png",
        "first",
        None,
        1e9 + 5e-6,
    )
    assert reader.media_names("01JGXSYNTHET1CRVN000000009") == []
    assert reader.media_values(TRAINED, "text", "none", 10).values == []


def test_a_batch_that_comes_twice_adds_nothing(writer: Writer, reader: Reader) -> None:
    """Nor does the part of another batch that is there already."""
    writer.apply([stored(TRAINED, text(1, "plan", 1), text(2, "plan", 2))], CURSOR)
    writer.apply([stored(TRAINED, text(2, "plan", 2), text(3, "plan", 3))], CURSOR)
    found = reader.media_values(TRAINED, "text", "plan", 10)
    assert [one.step for one in found.values] == [1, 2, 3]


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"name": "", "step": 1},
        {"name": 3, "step": 1},
        {"name": "a", "step": "1"},
        {"name": "a", "step": True},
        {"name": "a", "step": 1, "text": 7},
        {"name": "a", "step": 1, "text": {"b": math.nan}},
    ],
)
def test_what_a_worker_writes_otherwise_is_left_out(
    writer: Writer, reader: Reader, data: dict[str, Any]
) -> None:
    """The event is kept, other values are read, and nothing fails."""
    batch = stored(
        TRAINED, Extra(1, 1, "media.text", data), text(2, "a", 2), Extra(3, 3, "media.x", data)
    )
    writer.apply([batch], CURSOR)
    assert [one.seq for one in reader.media_values(TRAINED, "text", "a", 10).values] == [2]
    assert len(reader.events(TRAINED).events) == 3


def test_the_supervisor_has_none(writer: Writer, reader: Reader) -> None:
    """Only the worker records them."""
    writer.apply([stored(TRAINED, text(1, "a", 1), source=SOURCE_SUPERVISOR)], CURSOR)
    assert reader.media_names(TRAINED) == []


def test_many_values_are_spread(writer: Writer, reader: Reader) -> None:
    """The first and the newest are among them; texts of many megabytes make fewer."""
    writer.apply([stored(TRAINED, *(text(n, "a", n) for n in range(1, 1_000)))], CURSOR)
    steps = [one.step for one in reader.media_values(TRAINED, "text", "a", 5).values]
    assert steps == [1, 251, 500, 749, 999]
    large = [text(n, "b", n, "y" * 60_000) for n in range(1_000, 1_060)]
    for one in range(0, 60, 20):
        writer.apply([stored(TRAINED, *large[one : one + 20])], CURSOR)
    for seq in range(1_060, 1_180, 20):
        batch = [text(n, "b", n, "y" * 60_000) for n in range(seq, seq + 20)]
        writer.apply([stored(TRAINED, *batch)], CURSOR)
    found = reader.media_values(TRAINED, "text", "b", 1_000)
    assert found.count == 180
    assert 1 < len(found.values) < 150
    assert (found.values[0].step, found.values[-1].step) == (1_000, 1_179)


@pytest.mark.parametrize(("count", "most"), [(0, 5), (1, 1), (3, 2), (7, 7), (100, 8), (5, 1)])
def test_spread_keeps_first_and_last(count: int, most: int) -> None:
    """None is there twice."""
    found = spread(range(count), most)
    assert len(found) == min(count, most) == len(set(found))
    if count and most > 1:
        assert (found[0], found[-1]) == (0, count - 1)


def test_a_deleted_run_leaves_none(writer: Writer, reader: Reader) -> None:
    """The rows go with the run."""
    writer.apply([stored(TRAINED, text(1, "a", 1))], CURSOR)
    writer.prune(TRAINED)
    assert writer._db.execute("SELECT count(*) FROM media").fetchone() == (0,)
