"""What a run will need of the disk, from runs of its kind before it."""

from pathlib import Path

import pytest
from tests.stack import SPEC, Stack

from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import SubmitRequest
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.admission.context import DiskSpace
from mosaic_scheduler.admission.past_sizes import PastSize, SpaceNeed, space_need
from mosaic_scheduler.admission.space import check_disk

MIB = 2**20


@pytest.mark.parametrize(
    ("past", "steps", "need"),
    [
        ([], 100, None),
        ([PastSize(0, 10)], 100, None),
        ([PastSize(50, 10)], 100, SpaceNeed(500, 500, 1, 100)),
        (
            [PastSize(50, 10), PastSize(10, 10), PastSize(90, 10)],
            100,
            SpaceNeed(500, 100, 3, 100),
        ),
        ([PastSize(50, None), PastSize(30, None)], 100, SpaceNeed(40, 30, 2, None)),
        ([PastSize(50, 10), PastSize(30, None)], None, SpaceNeed(40, 30, 2, None)),
        ([PastSize(50, 10), PastSize(30, None)], 20, SpaceNeed(100, 100, 1, 20)),
    ],
)
def test_the_need_follows_from_past_runs(
    past: list[PastSize], steps: int | None, need: SpaceNeed | None
) -> None:
    """Bytes for each step, times the steps; without steps, bytes as they were."""
    assert space_need(past, steps) == need


TRAIN = RunSpec.model_validate({**SPEC, "outbox_bytes": 64 * MIB})
REPLAYED = TRAIN.model_copy(update={"kind": "replay"})


def _disk(free_mib: int, waits: str | None = None) -> DiskSpace:
    return DiskSpace(Path("/home"), free_mib * MIB, 100 * MIB, None, 200 * MIB, waits)


def _need(median_mib: int, least_mib: int, runs: int = 3) -> SpaceNeed:
    return SpaceNeed(median_mib * MIB, least_mib * MIB, runs, 1000)


@pytest.mark.parametrize(
    ("disk", "need", "level", "says"),
    [
        (_disk(1000), None, "ok", "not known"),
        (_disk(1000), _need(300, 200), "ok", "about 300 MiB"),
        (_disk(1000), _need(900, 700), "warning", "Runs can use 800 MiB"),
        (_disk(1000), _need(900, 801), "blocking", "about 900 MiB"),
        (_disk(1000), _need(900, 801, runs=2), "warning", "2 past runs"),
        (_disk(99), None, "blocking", "MOSAIC_DISK_RESERVE_BYTES"),
        (_disk(150, "disk low"), _need(1, 1), "blocking", "Runs can use 0 B"),
        (_disk(250, "disk low"), _need(1, 1), "warning", "would wait"),
        (_disk(160), None, "warning", "outbox"),
    ],
)
def test_a_disk_is_checked_for_what_a_run_needs(
    disk: DiskSpace, need: SpaceNeed | None, level: str, says: str
) -> None:
    """A run is refused if not even the smallest of several past runs would fit, and warned of before that."""
    check = check_disk(disk, TRAIN, need)
    assert check.level == level
    assert says in check.message
    assert bool(check.todo) is (level != "ok")


def test_a_replay_needs_no_space() -> None:
    """Only what writes is checked for it."""
    assert check_disk(_disk(150, "disk low"), REPLAYED).level == "ok"


async def _done(stack: Stack) -> RunRecord:
    run = await stack.submit(steps=1000, parameters={"rate": 0.0})
    return await stack.wait(run.run_id, lambda r: r.state.is_final and not r.telemetry_pending)


@pytest.mark.broker
async def test_a_run_that_cannot_fit_is_refused(stack: Stack) -> None:
    """Past runs of a kind say what the next one needs; preflight and submit refuse what would fill the disk."""
    stack.recorder.run_bytes = 2**62
    for _ in range(3):
        await _done(stack)
    request = SubmitRequest(spec={**SPEC, "steps": 2000})
    with pytest.raises(ProblemError) as caught:
        await stack.bus.request("scheduler", "submit", request, RunRecord, timeout_s=20)
    assert caught.value.problem.code == ProblemCode.DISK_LOW
    assert "median of 3 past runs of its kind, for 2,000 steps" in caught.value.problem.detail
    report = await stack.bus.request(
        "scheduler", "preflight", request, PreflightReport, timeout_s=20
    )
    (line,) = [line for line in report.lines if line.id == "disk"]
    assert (line.level, report.ok) == ("blocking", False)
    other = SubmitRequest(spec={**SPEC, "steps": 20, "record": "episodes"})
    await stack.bus.request("scheduler", "submit", other, RunRecord, timeout_s=20)
