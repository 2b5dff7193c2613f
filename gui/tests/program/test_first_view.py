"""The run or the episode of the command line is opened once the list of runs is here."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.location import StackLocation
from mosaic_gui.program.arguments import Arguments
from mosaic_gui.program.first_view import FirstView
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.views.main_window import REPLAY, RUNS, WATCH

RUN = run_id(0)


class Bench:
    """A client whose stack has one run, and the notices that it showed."""

    def __init__(self, home: Path) -> None:
        self.client = DesktopClient(home)
        self.notices: list[str] = []
        self.client.said.connect(lambda *notice: self.notices.append(str(notice[0])))
        location = StackLocation("http://127.0.0.1:1", "secret")
        self.session = StreamSession(location, self.client.store, self.client.clock, self.client)

    def start(self, **arguments: object) -> None:
        """Connect, until the list is here."""
        FirstView(self.client, Arguments(**arguments))  # type: ignore[arg-type]
        self.client._on_opened(self.session)
        self.client.stack.opened.emit(self.session)
        self.client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
        self.client.store.replace_runs([run(0, RunState.SUCCEEDED)])
        self.session.runs_read.emit()

    def close(self) -> None:
        """End all of it."""
        self.client._on_closing()
        self.session.close()
        self.session.deleteLater()
        self.client.close()
        self.client.launch._settle.stop()
        self.client.window.deleteLater()


@pytest.fixture
def bench(qtbot: QtBot, tmp_path: Path) -> Iterator[Bench]:
    """A client that is not connected yet."""
    made = Bench(tmp_path)
    yield made
    made.close()


def test_without_arguments_the_list_is_shown(bench: Bench) -> None:
    """As always."""
    bench.start()
    assert bench.client.window.page == RUNS


def test_a_run_is_opened(bench: Bench) -> None:
    """Its page, with curves."""
    bench.start(run=RUN)
    assert (bench.client.window.page, bench.client.watch.run_id) == (WATCH, RUN)
    assert not bench.client.window.watch.stage.is_large


def test_another_environment_is_watched_once_it_is_known(bench: Bench) -> None:
    """`--env 2` waits until the run has said that it has so many, and is asked for once."""
    bench.start(run=RUN, watch=True, env=2)
    stage = bench.client.stage
    assert stage.env == 0
    bench.client.store.followed[RUN].config = {"num_envs": 4}
    stage.changed.emit()
    assert stage.env == 2
    stage.set_env(1)
    stage.changed.emit()
    assert stage.env == 1


def test_a_watched_run_has_a_large_environment(bench: Bench) -> None:
    """Watching is on."""
    bench.client.stage.set_on(False)
    bench.start(run=RUN, watch=True)
    assert bench.client.window.watch.stage.is_large
    assert bench.client.stage.is_on


def test_an_episode_is_replayed(bench: Bench) -> None:
    """On the replay page, with the list of its run."""
    address = EpisodeAddress(RUN, 1, 0, 4)
    bench.start(replay=address)
    assert bench.client.window.page == REPLAY
    assert bench.client.player.addresses == [address]
    assert bench.client.episodes.run_id == RUN


def test_an_unknown_run_is_said(bench: Bench) -> None:
    """The list is shown instead."""
    bench.start(run=run_id(7))
    assert bench.client.window.page == RUNS
    assert bench.notices[-1] == f"This stack has no run {run_id(7)}."


def test_a_later_list_leaves_the_window_as_it_is(bench: Bench) -> None:
    """After a lost connection the list comes again."""
    bench.start(run=RUN)
    bench.client.window.show_page(RUNS)
    bench.session.runs_read.emit()
    assert bench.client.window.page == RUNS
