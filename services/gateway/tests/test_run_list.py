"""The run list over a real gateway process: filters, orders, and pages that fit together."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    BatchHead,
    Episode,
    Metric,
    encode_record,
    join_batch,
)
from mosaic_gateway.runs.query import (
    Order,
    RunSortKey,
    SortPosition,
    arrange,
    format_position,
    is_behind,
    parse_position,
    position_of,
)
from mosaic_store.testing import Message

pytestmark = pytest.mark.broker
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def run_id_of(number: int) -> str:
    """The higher the number, the newer the run."""
    return f"01JGXSYNTHET1CRVN0000000{number:02d}"


def episode_of(run_id: str, value: float) -> Message:
    """One episode with that return."""
    head = BatchHead(run_id, 1, "worker", 1, 1)
    raw = join_batch(head, 0, encode_record(Episode(1, 0, 0, 0, 5, value, 0, 0.1, 5)))
    return Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)


async def numbers(gateway: Any, **query: Any) -> tuple[list[int], str | None]:
    """Runs of a page by number, and its cursor."""
    reply = await gateway.get("/runs", params=query)
    assert reply.status_code == 200, reply.text
    page = reply.json()
    return [int(run["run_id"][-2:]) for run in page["runs"]], page["next_cursor"]


async def all_numbers(gateway: Any, **query: Any) -> list[int]:
    """Runs of all pages."""
    found, cursor = await numbers(gateway, **query)
    while cursor:
        more, cursor = await numbers(gateway, cursor=cursor, **query)
        found += more
    return found


RETURNS = {0: 5.0, 1: math.nan, 2: -math.inf, 3: 5.0, 4: math.inf, 6: -1.5, 7: 5.0}
"""Runs 5 and 8 have no episode."""


@pytest.mark.parametrize("limit", [1, 2, 100])
async def test_nan_and_missing_values_come_last_in_both_orders(
    gateway: Any, peers: Any, record: Any, limit: int
) -> None:
    """Sorted by return, pages of any size give every run once, equal values newest first, without a value last."""
    for number in range(9):
        peers.records[run_id_of(number)] = record(run_id_of(number))
    await peers.commit([episode_of(run_id_of(n), value) for n, value in RETURNS.items()])
    peers.committed |= {run_id_of(n) for n in RETURNS}
    peers.page_limit = 2
    query = {"sort": "last_return", "limit": limit}
    assert await all_numbers(gateway, order="desc", **query) == [4, 7, 3, 0, 6, 2, 8, 5, 1]
    assert await all_numbers(gateway, order="asc", **query) == [2, 6, 7, 3, 0, 4, 8, 5, 1]


async def test_records_can_be_sorted_too(gateway: Any, peers: Any, record: Any) -> None:
    """By name whatever its case, by start and end with runs that have none last, by age both ways."""
    peers.records = {
        run_id_of(0): record(run_id_of(0), name="b", started_at=BEGAN),
        run_id_of(1): record(run_id_of(1), name="A"),
        run_id_of(2): record(run_id_of(2), name="é", started_at=BEGAN + timedelta(seconds=1)),
        run_id_of(3): record(run_id_of(3), name="a", started_at=BEGAN - timedelta(days=1)),
    }
    for sort, descending, ascending in (
        ("name", [2, 0, 3, 1], [3, 1, 0, 2]),
        ("started", [2, 0, 3, 1], [3, 0, 2, 1]),
        ("ended", [3, 2, 1, 0], [3, 2, 1, 0]),
        ("created", [3, 2, 1, 0], [0, 1, 2, 3]),
        ("steps", [3, 2, 1, 0], [3, 2, 1, 0]),
    ):
        for limit in (1, 3):
            query = {"sort": sort, "limit": limit}
            assert await all_numbers(gateway, **query) == descending, sort
            assert await all_numbers(gateway, order="asc", **query) == ascending, sort


@pytest.mark.parametrize("sort", ["created", "name"])
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_runs_that_come_and_go_between_pages_leave_the_others_alone(
    gateway: Any, peers: Any, record: Any, sort: str, order: str
) -> None:
    """A run that is added before, in or behind what was read, or deleted, makes no other come twice or never."""
    ids = [*range(10, 60, 5)]
    for number in ids:
        peers.records[run_id_of(number)] = record(run_id_of(number), name=f"n{number}")
    query = {"sort": sort, "order": order, "limit": 3}
    seen, cursor = await numbers(gateway, **query)
    changes = iter([(11, seen[-1]), (58, 30), (33, 35), (seen[-1] + 1, 50)])
    while cursor:
        added, deleted = next(changes, (1, 99))
        peers.records[run_id_of(added)] = record(run_id_of(added), name=f"n{added:02d}")
        peers.records.pop(run_id_of(deleted), None)
        more, cursor = await numbers(gateway, cursor=cursor, **query)
        seen += more
    assert len(seen) == len(set(seen))
    assert seen == sorted(seen, reverse=order == "desc")
    assert set(seen) >= {number for number in ids if number not in (30, 35, 50)}


async def test_filters_reach_the_scheduler(gateway: Any, peers: Any, record: Any) -> None:
    """Each filter is passed on as it was asked for, in every order, and deleted runs are shown when asked for."""
    peers.records[run_id_of(1)] = record(run_id_of(1), tags=["a", "b,c"[:1]])
    peers.records[run_id_of(2)] = record(run_id_of(2), deleted_at=BEGAN)
    filters = {
        "state": ["running", "failed"], "worker": ["cleanrl"], "algorithm": ["ppo", "dqn"],
        "environment": ["ALE/Pong-v5"], "kind": ["train"], "tag": ["ä b", "x"], "text": "50% _é",
        "parent": run_id_of(0),
    }  # fmt: skip
    for key in RunSortKey:
        await numbers(gateway, sort=key.value, **filters)
        asked = peers.asked[-1].model_dump()
        assert {name: asked[f"{name}s"] for name in filters if f"{name}s" in asked} == {
            name: filters[name] for name in filters if name not in ("text", "parent")
        }
        assert (asked["text"], asked["parent"], asked["deleted"]) == ("50% _é", run_id_of(0), False)
    assert await all_numbers(gateway) == [1]
    for sort in ("created", "name", "episodes"):
        assert await all_numbers(gateway, deleted="true", sort=sort) == [2]
    assert await all_numbers(gateway, tag=["a", "b"]) == [1]
    assert await all_numbers(gateway, tag=["a", "z"]) == []


def metric_of(run_id: str, name: str, *values: float) -> Message:
    """Values of a metric."""
    head = BatchHead(run_id, 1, "worker", 100, len(values))
    records = [
        encode_record(Metric(100 + place, 0, name, place, value))
        for place, value in enumerate(values)
    ]
    raw = join_batch(head, 0, b"".join(records))
    return Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("best>0", [7, 4, 3, 0]),
        ("best>0 tag:odd", [7, 3]),
        ("tag:odd", [7, 5, 3, 1]),
        ("-best>0", [8, 6, 5, 2, 1]),
        ("lr>=0.4", [5, 4]),
        ("m.entropy>0.5", [0]),
        ("m.entropy.best>=2", [3, 0]),
        ("m.losses/entropy.mean<1", [3]),
        ("steps>4", [7, 6, 4, 3, 2, 1, 0]),
        ("algo:ppo state:running last:5", [7, 3, 0]),
    ],
)
async def test_a_search_finds_runs_by_record_and_store(
    gateway: Any, peers: Any, record: Any, search: str, found: list[int]
) -> None:
    """Terms about returns, steps and metrics are looked up in the store, in every order and page by page."""
    for number in range(9):
        more = {"tags": ["odd"] if number % 2 else [], "defaults": {"learning_rate": number / 10}}
        more["defaults"] = more["defaults"] if number < 6 else {}
        peers.records[run_id_of(number)] = record(run_id_of(number), **more)
    await peers.commit([episode_of(run_id_of(n), value) for n, value in RETURNS.items()])
    await peers.commit([metric_of(run_id_of(0), "losses/entropy", 0.0, 2.0, 1.0)])
    await peers.commit([metric_of(run_id_of(3), "losses/entropy", 2.0, -4.0, math.nan)])
    peers.committed |= {run_id_of(n) for n in RETURNS}
    assert await all_numbers(gateway, q=search) == found
    assert await all_numbers(gateway, q=search, limit=2) == found
    assert await all_numbers(gateway, q=search, order="asc", limit=1) == found[::-1]
    assert sorted(await all_numbers(gateway, q=search, sort="best_return", limit=2)) == found[::-1]


@pytest.mark.parametrize(
    ("search", "start", "end", "words"),
    [
        ("tag:a best>high", 6, 15, "'high' is no number"),
        ("m.nothing>1", 0, 11, "no run has a metric 'nothing'"),
        ("x m.entropy>1", 2, 13, "several metrics end so: eval/entropy, losses/entropy"),
    ],
)
async def test_the_error_of_a_search_points_at_the_word(
    gateway: Any, peers: Any, record: Any, search: str, start: int, end: int, words: str
) -> None:
    peers.records[run_id_of(0)] = record(run_id_of(0))
    await peers.commit([metric_of(run_id_of(0), "losses/entropy", 1.0)])
    await peers.commit([metric_of(run_id_of(1), "eval/entropy", 1.0)])
    reply = await gateway.get("/runs", params={"q": search})
    assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")
    (field,) = reply.json()["fields"]
    assert (field["where"], field["start"], field["end"]) == ("q", start, end)
    assert words in reply.json()["detail"]


async def test_what_makes_no_sense_is_refused(gateway: Any, peers: Any) -> None:
    """Filters out of range and cursors of another order have their codes, and never reach the scheduler."""
    by_name = format_position(position_of(run_id_of(1), "a"), RunSortKey.NAME, Order.ASCENDING)
    for query, code in [
        ({"sort": "speed"}, "request_invalid"),
        ({"order": "up"}, "request_invalid"),
        ({"kind": "walk"}, "request_invalid"),
        ({"worker": "Clean RL"}, "request_invalid"),
        ({"parent": "x"}, "request_invalid"),
        ({"tag": "a,b"}, "request_invalid"),
        ({"text": "x" * 201}, "request_invalid"),
        ({"deleted": "perhaps"}, "request_invalid"),
        ({"states": "running"}, "request_invalid"),
        ({"limit": "501"}, "request_invalid"),
        ({"cursor": "x"}, "cursor_invalid"),
        ({"cursor": by_name}, "cursor_invalid"),
        ({"cursor": by_name, "sort": "name"}, "cursor_invalid"),
        ({"cursor": by_name, "sort": "steps", "order": "asc"}, "cursor_invalid"),
        ({"cursor": run_id_of(1), "sort": "name"}, "cursor_invalid"),
        ({"cursor": "🙂", "sort": "name"}, "cursor_invalid"),
        ({"cursor": "x" * 5000}, "request_invalid"),
    ]:
        reply = await gateway.get("/runs", params=query)
        assert (reply.status_code, reply.json()["code"]) == (422, code), query
    # A sorted page asks for its ids before its cursor is looked at.
    assert all(request.brief for request in peers.asked)


@pytest.mark.parametrize("order", list(Order))
@pytest.mark.parametrize(
    "value", [1.5, 0, -math.inf, 2**53 + 1, None, 5e-324, 1.7976931348623157e308]
)
def test_a_cursor_keeps_its_place_exactly(order: Order, value: float | None) -> None:
    """Values are read back from a cursor as they were, to the last bit."""
    place = position_of(run_id_of(1), value)
    text = format_position(place, RunSortKey.STEPS, order)
    assert parse_position(text, RunSortKey.STEPS, order) == place
    assert text.isascii()
    assert text.replace("-", "").replace("_", "").isalnum()


@given(
    values=st.lists(st.none() | st.floats() | st.sampled_from([0.0, 1.0, -1.0]), max_size=25),
    order=st.sampled_from(Order),
    limit=st.integers(1, 5),
)
def test_pages_put_together_are_the_whole_order(
    values: list[float | None], order: Order, limit: int
) -> None:
    """For any values, going on behind each page's last run gives every run once, in the order of the whole."""
    places = [position_of(run_id_of(number), value) for number, value in enumerate(values)]
    whole = arrange(places, order)
    assert sorted(whole, key=lambda place: place.run_id) == places
    numbers = [place.value for place in whole if isinstance(place.value, float)]
    assert numbers == sorted(numbers, reverse=order is Order.DESCENDING)
    assert all(place.value is None for place in whole[len(numbers) :])
    seen: list[SortPosition] = []
    while rest := [place for place in whole if not seen or is_behind(place, seen[-1], order)]:
        page = rest[:limit]
        seen += [
            *page[:-1],
            parse_position(
                format_position(page[-1], RunSortKey.STEPS, order), RunSortKey.STEPS, order
            ),
        ]
    assert seen == whole


def test_nan_is_no_value() -> None:
    """A run whose value is NaN stands with those that have none."""
    places = [position_of(run_id_of(n), value) for n, value in enumerate([math.nan, 1.0, None])]
    assert [place.run_id for place in arrange(places, Order.ASCENDING)] == [
        run_id_of(1),
        run_id_of(2),
        run_id_of(0),
    ]


async def test_figures_of_metrics_in_many_runs(gateway: Any, peers: Any, record: Any) -> None:
    """Columns of a run list in one answer: whole names and endings, runs without the metric left out."""
    ids = [run_id_of(n) for n in range(4)]
    for run_id in ids:
        peers.records[run_id] = record(run_id)
    await peers.commit([metric_of(ids[0], "losses/entropy", 0.0, 2.0, 1.0)])
    await peers.commit([metric_of(ids[1], "losses/entropy", 2.0, -4.0, math.nan)])
    await peers.commit([metric_of(ids[2], "eval/loss", 1.0), metric_of(ids[3], "losses/loss", 1.0)])
    names = (await gateway.get("/metrics")).json()["names"]
    assert names == ["eval/loss", "losses/entropy", "losses/loss"]
    body = {"names": ["entropy", "loss", "nothing"], "run_ids": [*ids[:2], run_id_of(9)]}
    reply = await gateway.ask("POST", "/metrics/figures", json=body)
    entropy, loss, nothing = reply.json()["columns"]
    assert entropy["names"] == ["losses/entropy"]
    assert entropy["figures"] == {
        ids[0]: {"last": 1.0, "min": 0.0, "max": 2.0, "mean": 1.0},
        ids[1]: {"last": "NaN", "min": -4.0, "max": 2.0, "mean": -1.0},
    }
    assert (loss["names"], loss["figures"]) == (["eval/loss", "losses/loss"], {})
    assert (nothing["names"], nothing["figures"]) == ([], {})
    reply = await gateway.ask("POST", "/metrics/figures", json={"names": [], "run_ids": []})
    assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid")
