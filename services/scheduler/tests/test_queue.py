"""Order of starts: promises that hold for every queue, and the words that say why a run waits."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic_scheduler.gpus.offer import MIB, Devices, Offer, Share
from mosaic_scheduler.queue.forecast import Busy, expected_starts
from mosaic_scheduler.queue.plan import QueueEntry, QueuePlace, queue_places

SIZE_MB = 1000
CORES = 8


def machine(count: int, share_limit: int = 3, **changes: object) -> Devices:
    """So many equal GPUs."""
    offers = [Offer(f"GPU-{n}", f"GPU {n}", SIZE_MB * MIB) for n in range(count)]
    return replace(Devices(tuple(offers), share_limit), **changes)  # type: ignore[arg-type]


def changed(devices: Devices, number: int, **changes: object) -> Devices:
    """The same with another state of one device."""
    offers = list(devices.offers)
    offers[number] = replace(offers[number], **changes)  # type: ignore[arg-type]
    return replace(devices, offers=tuple(offers))


def started(places: Sequence[QueuePlace]) -> list[str]:
    """Runs that start."""
    return [place.run_id for place in places if place.starts]


def given_away(
    devices: Devices, claims: Sequence[QueueEntry], places: Sequence[QueuePlace]
) -> Devices:
    """The devices once those that start are on them."""
    offers = {offer.uuid: offer for offer in devices.offers}
    for claim, place in zip(claims, places, strict=True):
        for uuid in place.devices:
            share = Share(claim.run_id, claim.gpu_memory_mb)
            offers[uuid] = offers[uuid].with_share(share)
    return replace(devices, offers=tuple(offers.values()))


claims_of_any_kind = st.lists(
    st.builds(
        QueueEntry,
        run_id=st.uuids().map(str),
        cpus=st.integers(1, CORES),
        gpus=st.integers(0, 5),
        gpu_memory_mb=st.none() | st.integers(64, SIZE_MB),
        held=st.booleans(),
        ends_within_s=st.none() | st.floats(1, 1000),
    ),
    max_size=12,
)
devices_of_any_state = st.lists(
    st.builds(
        Offer,
        uuid=st.uuids().map(str),
        label=st.just("GPU"),
        memory_bytes=st.none() | st.just(SIZE_MB * MIB),
        shares=st.lists(
            st.builds(Share, st.uuids().map(str), st.integers(64, 300)), max_size=2
        ).map(tuple),
        foreign=st.sampled_from([(), ("Xorg",)]),
        foreign_bytes=st.just(0),
        lost=st.sampled_from(["", "", "gone"]),
    ),
    max_size=4,
).map(lambda offers: Devices(tuple(offers), share_limit=3))


@settings(max_examples=300, deadline=None)
@given(claims=claims_of_any_kind, devices=devices_of_any_state, data=st.data())
def test_never_more_than_there_is(
    claims: list[QueueEntry], devices: Devices, data: st.DataObject
) -> None:
    """Cores, devices, memory and runs on a device stay within what there is, and a run gets all it asked for."""
    in_use = data.draw(st.integers(0, CORES))
    overdue = {claim.run_id for claim in claims if data.draw(st.booleans())}
    places = queue_places(claims, in_use, CORES, devices, overdue)
    assert [place.run_id for place in places] == [claim.run_id for claim in claims]
    by_id = {claim.run_id: claim for claim in claims}
    starting = [by_id[run_id] for run_id in started(places)]
    assert in_use + sum(claim.cpus for claim in starting) <= max(CORES, in_use)
    before = {offer.uuid: offer for offer in devices.offers}
    after = given_away(devices, claims, places)
    for offer in after.offers:
        new = offer.shares[len(before[offer.uuid].shares) :]
        if not new:
            continue
        assert not offer.lost
        if any(share.memory_mb is None for share in offer.shares):
            assert len(offer.shares) == 1
            assert not offer.foreign
        if len(offer.shares) > 1:
            assert len(offer.shares) <= devices.share_limit
            assert offer.memory_bytes is not None
            assert sum(share.memory_mb or 0 for share in offer.shares) * MIB <= offer.memory_bytes
    for claim, place in zip(claims, places, strict=True):
        assert len(set(place.devices)) == (claim.gpus if place.starts else 0)
        assert place.starts == (place.position is None and not claim.held)
        assert place.starts == (place.reason is None)


@settings(max_examples=200, deadline=None)
@given(claims=claims_of_any_kind, devices=devices_of_any_state)
def test_runs_on_the_cpu_never_wait_for_gpus(claims: list[QueueEntry], devices: Devices) -> None:
    """Whatever waits for GPUs before them, runs without GPUs start exactly as if it were not there."""
    places = queue_places(claims, 0, CORES, devices, {claim.run_id for claim in claims})
    lacking = {place.run_id for place in places if place.lacks_gpus}
    others = [claim for claim in claims if claim.run_id not in lacking]
    alone = queue_places(others, 0, CORES, devices)
    cpu_only = {claim.run_id for claim in claims if claim.gpus == 0}
    assert set(started(places)) & cpu_only == set(started(alone)) & cpu_only


@settings(max_examples=100, deadline=None)
@given(
    gpus=st.integers(2, 4),
    wants=st.integers(2, 4),
    lasts=st.lists(st.integers(1, 4), min_size=40, max_size=40),
    memory_mb=st.none() | st.integers(100, 400),
)
def test_a_large_run_is_not_starved_by_a_stream_of_small_ones(
    gpus: int, wants: int, lasts: list[int], memory_mb: int | None
) -> None:
    """Once it is overdue it starts as soon as what runs then has ended, however many 1-GPU runs come."""
    wants = min(wants, gpus)
    large = QueueEntry("large", 1, gpus=wants)
    devices = machine(gpus)
    ends: dict[str, int] = {}
    for moment, last in enumerate(lasts):
        over = {run_id for run_id, end in ends.items() if end <= moment}
        offers = devices.offers
        for run_id in over:
            offers = tuple(offer.without(run_id) for offer in offers)
            del ends[run_id]
        devices = replace(devices, offers=offers)
        small = [
            QueueEntry(f"s{moment}-{n}", 1, gpus=1, gpu_memory_mb=memory_mb) for n in range(gpus)
        ]
        claims = [*small, large] if moment < 5 else [large, *small]
        places = queue_places(claims, 0, 1000, devices, {"large"} if moment >= 8 else ())
        devices = given_away(devices, claims, places)
        if "large" in started(places):
            return
        ends |= dict.fromkeys(started(places), moment + last)
        assert moment < 8 + max(lasts)
    pytest.fail("it never started")


def test_what_an_overdue_run_does_not_need_is_given_away() -> None:
    """Only as many devices as it needs are kept, those that it will have first."""
    devices = changed(machine(4), 0, shares=(Share("a", None),))
    devices = replace(devices, free_in_s={"GPU-0": 5.0})
    claims = [QueueEntry("large", 1, gpus=4), QueueEntry("small", 1, gpus=1)]
    assert started(queue_places(claims, 0, CORES, devices, {"large"})) == []
    claims[0] = QueueEntry("large", CORES + 1, gpus=3)
    assert started(queue_places(claims, 0, CORES, devices, {"large"})) == []
    claims = [QueueEntry("two", 1, gpus=2), QueueEntry("small", 1, gpus=1)]
    devices = changed(changed(devices, 1, shares=(Share("b", None),)), 2, lost="gone")
    places = queue_places(claims, 0, CORES, devices, {"two"})
    assert started(places) == []
    assert "1 kept for run two, which waits longer" in (places[1].reason or "")


def test_nothing_is_kept_for_who_waits_for_somebody_outside() -> None:
    """Nobody knows how long the desktop stays, and the other device would lie idle meanwhile."""
    devices = changed(machine(2), 0, foreign=("Xorg",))
    claims = [QueueEntry("two", 1, gpus=2), QueueEntry("small", 1, gpus=1)]
    places = queue_places(claims, 0, CORES, devices, {"two"})
    assert started(places) == ["small"]
    assert places[0].reason == "needs 2 GPUs; 1 of 2 free; GPU 0 is used by Xorg"


@pytest.mark.parametrize(("ends_within_s", "starts"), [(50.0, True), (150.0, False), (None, False)])
def test_a_run_that_ends_in_time_may_fill_the_gap(
    ends_within_s: float | None, starts: bool
) -> None:
    """On a device that is kept for another one only what is bound to end before that one could start."""
    devices = changed(machine(2), 0, shares=(Share("a", None),))
    devices = replace(devices, free_in_s={"GPU-0": 100.0})
    claims = [
        QueueEntry("large", 1, gpus=2),
        QueueEntry("small", 1, gpus=1, ends_within_s=ends_within_s),
    ]
    places = queue_places(claims, 0, CORES, devices, {"large"})
    assert started(places) == (["small"] if starts else [])
    unknown = replace(devices, free_in_s={})
    assert started(queue_places(claims, 0, CORES, unknown, {"large"})) == []


def test_runs_that_name_their_memory_share_a_device() -> None:
    """As many as fit and as the limit allows, together on one; a run that names none has a device to itself."""
    small = [QueueEntry(f"s{n}", 1, gpus=1, gpu_memory_mb=300) for n in range(5)]
    claims = [*small, QueueEntry("whole", 1, gpus=1)]
    places = queue_places(claims, 0, CORES, machine(2))
    assert [place.devices for place in places[:3]] == [("GPU-0",)] * 3
    assert [place.devices for place in places[3:5]] == [("GPU-1",)] * 2
    assert "0 of 2 free" in (places[5].reason or "")
    tight = [replace(claim, gpu_memory_mb=600) for claim in small[:2]]
    assert [p.devices for p in queue_places(tight, 0, CORES, machine(2))] == [
        ("GPU-0",),
        ("GPU-1",),
    ]


def test_somebody_else_on_a_device_is_named_and_left_alone() -> None:
    """A run that wants it whole waits and says for whom; one that names its memory takes what is left of it."""
    devices = changed(
        machine(1),
        0,
        foreign=("Xorg (pid 7, root, the desktop, 400 MiB)",),
        foreign_bytes=400 * MIB,
    )
    (whole,) = queue_places([QueueEntry("w", 1, gpus=1)], 0, CORES, devices)
    assert whole.reason == (
        "needs 1 GPU; 0 of 1 free; GPU 0 is used by Xorg (pid 7, root, the desktop, 400 MiB)"
    )
    fits, too_large = (QueueEntry("s", 1, gpus=1, gpu_memory_mb=mb) for mb in (600, 601))
    assert started(queue_places([fits], 0, CORES, devices)) == ["s"]
    (place,) = queue_places([too_large], 0, CORES, devices)
    assert "needs 1 GPU with 601 MiB" in (place.reason or "")


def test_a_silent_driver_holds_back_gpu_runs_only() -> None:
    """With the reason; runs on the CPU go past them."""
    devices = machine(2, problem="the GPU driver does not answer")
    places = queue_places(
        [QueueEntry("g", 1, gpus=1), QueueEntry("c", 1)], 0, CORES, devices, {"g"}
    )
    assert started(places) == ["c"]
    assert places[0].reason == "needs 1 GPU; the GPU driver does not answer"


def test_cores_are_given_in_the_order_of_the_queue() -> None:
    """A GPU run that has its devices and lacks cores is not overtaken for cores."""
    claims = [QueueEntry("g", 4, gpus=1), QueueEntry("c", 1)]
    places = queue_places(claims, CORES - 2, CORES, machine(1))
    assert [(place.starts, place.reason) for place in places] == [
        (False, "needs 4 cores; 2 of 8 free"),
        (False, "behind 1 run in the queue"),
    ]


def test_starts_are_foretold_from_what_is_known() -> None:
    """The queue is played forward; what depends on a run of which nobody knows the end is not foretold."""
    devices = changed(machine(2), 0, shares=(Share("a", None),))
    devices = changed(devices, 1, shares=(Share("b", None),))
    running = [Busy("a", 1, 10.0), Busy("b", 1, 30.0)]
    claims = [
        QueueEntry("one", 1, gpus=1),
        QueueEntry("two", 1, gpus=2),
        QueueEntry("cpu", 1),
        QueueEntry("held", 1, held=True),
        QueueEntry("last", 1, gpus=1),
    ]
    lasts_s = {"one": 100.0, "two": 50.0}
    starts = expected_starts(claims, running, CORES, devices, lasts_s, 60.0)
    assert starts == {"cpu": 0.0, "one": 10.0, "last": 30.0}
    starts = expected_starts(claims[:2], running, CORES, devices, lasts_s, 60.0)
    assert starts == {"one": 10.0, "two": 110.0}
    starts = expected_starts(claims, running, CORES, devices, lasts_s, 0.0)
    assert starts == {"cpu": 0.0, "one": 10.0, "two": 110.0, "last": 160.0}
    assert expected_starts(claims, running, CORES, devices, lasts_s, 60.0, {"two"}) == starts
    unknown = [Busy("a", 1, None), Busy("b", 1, None)]
    assert expected_starts(claims[:2], unknown, CORES, devices, lasts_s, 60.0) == {}
