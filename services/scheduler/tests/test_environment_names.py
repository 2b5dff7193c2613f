"""A run whose program chooses its environment has it in its spec once its config is stored."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.records import RUN_ID, make_record

from mosaic_contracts.choices import UNKNOWN_ENVIRONMENT
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database
from mosaic_scheduler.events import environment_names
from mosaic_scheduler.events.environment_names import EnvironmentNames
from mosaic_scheduler.runs.store import RunStore

WAIT_S = 30.0


class _Recorder:
    """Takes the place of RecordedEpisodes: the answers in order, the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)

    async def config(self, _run_id: str, _attempt: int) -> dict[str, Any] | None:
        """Answer, or raise."""
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, ProblemError):
            raise answer
        return None if answer is None else {"type": "config", "data": answer}


class _Announcer:
    """Takes the place of RunAnnouncer."""

    def __init__(self) -> None:
        self.announced: asyncio.Queue[RunRecord] = asyncio.Queue()

    async def announce(self, record: RunRecord) -> None:
        """Keep it."""
        self.announced.put_nowait(record)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RunStore]:
    """One run, whose environment is not known."""
    database = Database(tmp_path / "scheduler.sqlite3")
    runs = RunStore(database)
    spec = make_record().spec.model_copy(update={"environment": UNKNOWN_ENVIRONMENT})
    await runs.insert(make_record(spec=spec), "nonce")
    yield runs
    await database.close()


async def test_the_environment_is_noted(store: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for when something is stored, again after the recorder was away, and then no more."""
    monkeypatch.setattr(environment_names, "RETRY_S", 0.01)
    away = problem.run_unknown(RUN_ID)
    recorder: Any = _Recorder(away, {"environment": "CartPole-v1"})
    announcer: Any = _Announcer()
    names = EnvironmentNames(store, recorder, announcer)
    loop = asyncio.create_task(names.run())
    names.note_stored(RUN_ID)
    record = await asyncio.wait_for(announcer.announced.get(), WAIT_S)
    loop.cancel()
    assert record.spec.environment == "CartPole-v1"
    assert await store.require(RUN_ID) == record


@pytest.mark.parametrize("said", [{"environment": UNKNOWN_ENVIRONMENT}, {"environment": 5}, {}])
async def test_nothing_is_noted_where_nothing_is_known(
    store: RunStore, said: dict[str, Any]
) -> None:
    """A config without an environment, or with no name, changes nothing."""
    recorder: Any = _Recorder(said)
    announcer: Any = _Announcer()
    names = EnvironmentNames(store, recorder, announcer)
    names.note_stored(RUN_ID)
    await names.look()
    assert announcer.announced.empty()
    assert (await store.require(RUN_ID)).spec.environment == UNKNOWN_ENVIRONMENT
