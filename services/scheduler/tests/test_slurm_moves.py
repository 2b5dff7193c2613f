"""What is asked of Slurm when a user holds, releases and reorders runs that wait there; no Slurm is needed."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.records import make_record
from tests.test_slurm_faults import LIMIT, OTHER, REF, FakeSlurm

from mosaic_contracts.spec import RunKind, RunSpec
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.cluster_jobs import JobNames
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.executors.slurm import SlurmExecutor, SlurmOptions
from mosaic_scheduler.executors.slurm_moves import SlurmMoves

THIRD = AttemptRef("01ARZ3NDEKTSV4RRFFQ69G5FAX", 1)


class Waiting:
    """A cluster in whose queue runs wait."""

    def __init__(self, folder: Path) -> None:
        self.slurm = FakeSlurm()
        self.executor = SlurmExecutor(folder, SlurmOptions(poll_s=3600.0), self.slurm)
        self._names = JobNames(folder)
        self.moves: SlurmMoves = self.executor.moves

    def show(self, **lines: str) -> None:
        """Let `squeue` list jobs: by id, state, nice and reason of each."""
        refs = {"1": REF, "2": OTHER, "3": THIRD}
        jobs = {name.removeprefix("job"): line.split() for name, line in lines.items()}
        text = "".join(
            f"{number}|{state}||N/A|{nice}|{self._names.of(refs[number])}|{reason}\n"
            for number, (state, nice, reason) in jobs.items()
        )
        self.slurm.answers["squeue"] = lambda: text

    def changes(self) -> list[tuple[str, ...]]:
        """What was asked of `scontrol`."""
        return [argv for argv in self.slurm.asked if argv[0] == "scontrol" and argv[1] != "show"]


@pytest.fixture
def waiting(tmp_path: Path) -> Waiting:
    """One with a job that waits."""
    made = Waiting(tmp_path)
    made.show(job1="PENDING 0 Priority")
    return made


async def test_the_first_keep_their_place_and_the_others_are_lowered(waiting: Waiting) -> None:
    """Slurm permits no more to a user; what is as it should be is not set again."""
    waiting.show(job1="PENDING 0 Priority", job2="PENDING 0 Priority", job3="RUNNING 0 None")
    await waiting.moves.order({REF: 0, OTHER: 0, THIRD: 9})
    assert waiting.changes() == []
    for _ in range(2):
        await waiting.moves.order({REF: 0, OTHER: 5})
    assert waiting.changes() == [("scontrol", "update", "JobId=1", "Nice=5")]
    await waiting.moves.order({REF: -3, OTHER: -3})
    assert waiting.changes()[1:] == [("scontrol", "update", "JobId=1", "Nice=0")]
    waiting.executor.close()


async def test_a_held_job_and_one_lowered_by_hand_stay_as_they_are(waiting: Waiting) -> None:
    """Its owner may do so with Slurm's own commands."""
    waiting.show(job1="PENDING 0 JobHeldUser", job2="PENDING 0 Priority", job3="PENDING 7 Priority")
    await waiting.moves.order({REF: -1, OTHER: 0, THIRD: -7})
    assert waiting.changes() == []
    waiting.executor.close()


async def test_a_job_that_has_begun_is_not_held(waiting: Waiting) -> None:
    """The user reads so."""
    await waiting.moves.hold(REF, True)
    await waiting.moves.hold(REF, False)
    assert waiting.changes() == [("scontrol", "uhold", "1"), ("scontrol", "release", "1")]
    begun = Waiting(waiting.executor.folder(REF))
    begun.show(job1="RUNNING 0 None")
    with pytest.raises(LaunchFailed, match="has started its job 1"):
        await begun.moves.hold(REF, True)
    for each in (waiting, begun):
        each.executor.close()


@pytest.mark.parametrize(
    ("said", "words", "never", "waits"),
    [
        ("allocation failure: Invalid feature specification", "refuse it: Inv", True, False),
        (
            "allocation failure: Requested node configuration is not available",
            "is now",
            False,
            True,
        ),
        (LIMIT, "as many jobs", False, False),
    ],
)
async def test_what_slurm_says_against_a_run(
    waiting: Waiting, said: str, words: str, never: bool, waits: bool
) -> None:
    """What it can never start, what it cannot start now, and what waits for other jobs of the user."""
    waiting.slurm.refuse("sbatch", said)
    forecast = await waiting.moves.forecast(make_record().spec)
    assert forecast is not None
    assert (forecast.never, forecast.waits) == (never, waits)
    assert words in forecast.words


@pytest.mark.parametrize(
    ("hours", "words"), [(0.0, "at once"), (5.0, "starts it about 20"), (8760.0, "cannot say when")]
)
async def test_when_slurm_would_start_a_run(waiting: Waiting, hours: float, words: str) -> None:
    """It answers on stderr, in local time."""
    starts_at = datetime.now().astimezone() + timedelta(hours=hours)
    line = (
        f"sbatch: Job 15 to start at {starts_at:%Y-%m-%dT%H:%M:%S} using 4 processors on nodes n1"
    )
    waiting.slurm.answers["sbatch"] = lambda: line
    forecast = await waiting.moves.forecast(make_record().spec)
    assert forecast is not None
    assert words in forecast.words


async def test_more_time_than_the_partition_gives(waiting: Waiting) -> None:
    """Slurm would take the job and let it wait for ever; a run that is no job is not asked for."""
    spec = RunSpec(worker="w", algorithm="a", environment="e", wall_time_s=3600)
    forecast = await waiting.moves.forecast(spec)
    assert forecast is not None
    assert forecast.never
    assert "the partition gives 60" in forecast.words
    assert waiting.slurm.count("sbatch") == 0
    play = spec.model_copy(update={"kind": RunKind.PLAY})
    assert await waiting.moves.forecast(play) is None
