"""Run ids."""

from concurrent.futures import ThreadPoolExecutor

from mosaic_contracts.ids import parse_run_id
from mosaic_servicekit.ulid import RunIdSource


def test_ids_of_one_millisecond_are_unique_and_grow() -> None:
    """Many ids made at once, by several threads, are all different and valid."""
    source = RunIdSource(lambda: 1_700_000_000_000)
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda _: source.next(), range(2000)))
    assert len(set(ids)) == 2000
    assert all(parse_run_id(run_id) for run_id in ids)
    assert source.next() > max(ids)


def test_ids_grow_when_the_clock_steps_back() -> None:
    """An id made after the wall clock went back is still greater."""
    clock = iter([2_000, 1_000])
    source = RunIdSource(lambda: next(clock))
    assert source.next() < source.next()
