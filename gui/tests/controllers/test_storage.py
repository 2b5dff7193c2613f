"""Requests of the page `Storage`: what is read and when, removals in steps, undo and pins."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest
from tests.controllers.test_sweeps import Session
from tests.specimen import run, run_id
from tests.storage_specimen import plan, report, trash_item

from mosaic_contracts.states import RunState
from mosaic_contracts.storage import StorageProfiles
from mosaic_contracts.storage_reports import PruneResult, StorageProfileList, UndoResult
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.storage import StorageController
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.storage import MOST_ROWS
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.storage import StorageModel


class StorageBench:
    """A shown page, whose requests the test answers."""

    def __init__(self) -> None:
        self.session = Session()
        self.notices: list[tuple[str, str, Callable[[], None] | None]] = []
        self.model = StorageModel(self.session.store)
        self.controller = StorageController(self.model, lambda *notice: self.notices.append(notice))
        self.controller.attach(cast(StreamSession, self.session))

    @property
    def asked(self) -> list[tuple[str, tuple[Any, ...]]]:
        """All requests."""
        return self.session.api.asked

    def progress(self) -> tuple[int, int] | None:
        """Files that are done, and all."""
        return None if self.model.progress is None else self.model.progress[1:]

    @property
    def newest(self) -> str:
        """The newest request."""
        return self.asked[-1][0]

    def answer(self, value: object) -> None:
        """Answer the newest request."""
        self.session.api.replies[-1].succeed(value)

    def read(self, **fields: Any) -> None:
        """Answer the requests for report and plan."""
        assert self.asked[-1][0] == "storage"
        self.answer(report(**fields))
        assert self.asked[-1][0] == "plan_prune"
        self.answer(plan())


@pytest.fixture
def bench() -> Iterator[StorageBench]:
    """A page that has read report and plan."""
    made = StorageBench()
    made.model.set_shown(True)
    made.read()
    yield made
    made.model.set_shown(False)
    made.controller.detach()


def test_a_hidden_page_reads_nothing() -> None:
    """What fills the disks is counted for somebody who looks."""
    bench = StorageBench()
    bench.controller.consume(Changes(removed=frozenset({run_id(0)})))
    bench.session.stream.joined.emit()
    assert bench.asked == []
    assert not bench.controller._again.isActive()


def test_report_and_plan_are_read_when_the_page_is_shown(bench: StorageBench) -> None:
    """The plan is the preview of what `Remove now` does."""
    assert [name for name, _ in bench.asked] == ["storage", "plan_prune"]
    assert bench.asked[1][1] == ({"limit": MOST_ROWS},)
    assert bench.model.may_prune
    assert bench.controller._again.isActive()


def test_the_end_of_a_run_is_read_after_a_while(bench: StorageBench) -> None:
    """Many ends cause one request."""
    bench.controller.consume(bench.session.store.take_runs([run(0)]))
    assert not bench.controller._settle.isActive()
    for n in range(3):
        ended = run(n, RunState.SUCCEEDED, revision=2)
        bench.controller.consume(bench.session.store.take_runs([ended]))
    assert bench.controller._settle.isActive()
    assert len(bench.asked) == 2


def test_a_removal_repeats_bounded_steps_and_undo_brings_exactly_it_back(
    bench: StorageBench,
) -> None:
    """What was in the trash before stays there."""
    bench.model.prune()
    assert bench.asked[-1] == ("prune", ({},))
    bench.answer(PruneResult(files=2, bytes=10, left=1))
    assert bench.progress() == (2, 3)
    bench.answer(PruneResult(files=1, bytes=10))
    assert bench.progress() is None
    bench.read(trash={"files": 5, "bytes": 1, "items": [trash_item(n) for n in (9, 8, 7, 5, 4)]})
    words, act, undo = bench.notices[-1]
    assert (words, act) == ("3 files removed: 20 B", "Undo")
    assert undo is not None
    undo()
    assert bench.asked[-1] == ("undo_prune", ({"items": [9, 8, 7]},))
    bench.answer(UndoResult(files=3, bytes=20))
    assert bench.notices[-1][0] == "3 files are back: 20 B"


def test_a_step_that_removes_nothing_ends_the_removal(bench: StorageBench) -> None:
    """What could not be removed is said, and nothing is asked for ever."""
    bench.model.prune([run_id(3)])
    assert bench.asked[-1] == ("prune", ({"run_ids": [run_id(3)]},))
    bench.answer(PruneResult(files=0, left=4))
    bench.read()
    words, act, _ = bench.notices[-1]
    assert ("4 could not be removed now" in words, act) == (True, "")


def test_a_failure_in_between_is_said_and_the_page_is_read_again(bench: StorageBench) -> None:
    """Files that were removed before it are in the trash."""
    bench.model.prune()
    bench.session.api.replies[-1].fail(ApiProblem("The scheduler is away."))
    assert bench.notices[-1][0] == "The scheduler is away."
    assert bench.model.progress is None
    assert bench.asked[-1][0] == "storage"


def test_selected_files_of_the_trash_are_brought_back(bench: StorageBench) -> None:
    """By their numbers; why one could not be is said."""
    bench.model.undo([1])
    assert bench.asked[-1] == ("undo_prune", ({"items": [4]},))
    bench.answer(UndoResult(files=0, refused=["old.mp4: another file has its place."]))
    assert "another file has its place" in bench.notices[-1][0]
    bench.read()
    bench.model.undo()
    assert bench.asked[-1] == ("undo_prune", ({},))


def test_a_pin_is_a_change_of_the_run(bench: StorageBench) -> None:
    """The run in the list has it at once, and the report is read again."""
    bench.model.choose(next(one for one in bench.model.tiles.tiles if one.run_id == run_id(0)))
    bench.model.toggle_pin()
    assert bench.asked[-1] == ("patch_run", (run_id(0), {"pinned": True}))
    bench.answer(run(0, pinned=True))
    assert bench.session.store.runs[run_id(0)].pinned
    assert bench.newest == "storage"


def test_a_problem_leaves_what_was_read(bench: StorageBench) -> None:
    """The page says why nothing newer is there."""
    bench.model.wanted.emit()
    bench.session.api.replies[-1].fail(ApiProblem("No stack answers."))
    assert bench.model.problem == "No stack answers."
    assert bench.model.report is not None


def test_another_stack_has_its_own_disks(bench: StorageBench) -> None:
    """Nothing of the stack before is shown."""
    bench.controller.detach()
    assert bench.model.report is None
    assert bench.model.tiles.rowCount() == 0


def test_another_profile_is_chosen_from_those_in_force(bench: StorageBench) -> None:
    """The default one comes first, and is no name in the run's record."""
    offered: list[list[str]] = []
    bench.model.profiles_known.connect(offered.append)
    bench.model.want_profiles()
    assert bench.newest != "storage_profiles"
    bench.model.chosen = run_id(0)
    bench.model.want_profiles()
    assert bench.newest == "storage_profiles"
    content = StorageProfiles(profiles={"z": {}, "a": {}, "mine": {}}, default="mine")
    bench.answer(StorageProfileList(path="x", exists=True, content=content))
    assert offered == [["mine", "a", "default", "keep_all", "lean", "z"]]
    bench.model.choose_profile("a")
    assert bench.asked[-1][1] == (run_id(0), {"storage_profile": "a"})
    bench.answer(run(0, storage_profile="a"))
    assert bench.newest == "storage"
    bench.read()
    bench.model.choose_profile(None)
    assert bench.asked[-1][1][1] == {"storage_profile": None}
