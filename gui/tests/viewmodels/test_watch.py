import numpy as np
import pytest
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from tests.specimen import episodes, metrics, run, run_id, summary

from mosaic_contracts.runs import ArtifactRow, EpisodeRow
from mosaic_contracts.states import RunState
from mosaic_gui.state.curves import EPISODE_LENGTH, EPISODE_RETURN
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.curves import first_charts
from mosaic_gui.viewmodels.watch import WatchModel


@pytest.fixture
def store() -> Store:
    """Two runs that are followed, with episodes each."""
    made = Store()
    made.replace_runs([run(0, summary=summary(0)), run(1)])
    for n, returns in enumerate(([1.0, 2.0, 4.0], [10.0, 20.0])):
        made.follow(run_id(n))
        made.apply(episodes(1, returns, n))
    return made


@pytest.fixture
def model(store: Store) -> WatchModel:
    """The first run is watched."""
    made = WatchModel(store)
    made.watch(run_id(0))
    return made


def test_the_first_charts_are_what_people_look_at() -> None:
    """Return, length, a loss and the speed; a worker's own double of the return is left to the user."""
    names = [
        EPISODE_RETURN,
        EPISODE_LENGTH,
        "charts/SPS",
        "charts/episodic_return",
        "losses/value_loss",
        "losses/entropy",
        "system/cpu_percent",
    ]
    chosen = first_charts(names)
    assert chosen == [EPISODE_RETURN, EPISODE_LENGTH, "charts/SPS", "losses/value_loss"]


def test_curves_that_come_later_are_offered(model: WatchModel, store: Store) -> None:
    """A metric that a run begins to tell appears by itself, until the user has chosen."""
    changes = store.apply(metrics(10, "losses/td_loss", [1.0]))
    model.consume(changes)
    assert model.charts == [EPISODE_RETURN, EPISODE_LENGTH, "losses/td_loss"]
    model.set_chart(EPISODE_LENGTH, False)
    model.consume(store.apply(metrics(11, "losses/new", [1.0])))
    assert model.charts == [EPISODE_RETURN, "losses/td_loss"]
    assert "losses/new" in model.names


def test_runs_are_laid_over_each_other(store: Store) -> None:
    """Each run has its own colour and label, and the axis reaches over all."""
    model = WatchModel(store)
    model.watch(run_id(0), [run_id(1)])
    model.set_grouping(False)
    drawn = model.drawn(EPISODE_RETURN, 0, 100, 50)
    assert [(d.colour, d.last) for d in drawn] == [(0, 4.0), (1, 20.0)]
    assert model.extent(EPISODE_RETURN) == (10.0, 30.0)
    assert [label for label, _ in model.legend] == [
        "ppo · seed 1",
        "ppo · seed 2",
    ]


def test_equal_runs_are_distinguished_by_their_ids(store: Store) -> None:
    """Two runs of the same words have two labels."""
    store.replace_runs([run(0), run(1, spec={"seed": 1})])
    model = WatchModel(store)
    model.watch(run_id(0), [run_id(1)])
    model.set_grouping(False)
    assert [label for label, _ in model.legend] == [f"ppo · {run_id(n)}" for n in (0, 1)]


def test_seeds_are_drawn_as_one(store: Store) -> None:
    """Each seed lies faintly beneath their mean with its band; colour, label and crosshair are the group's."""
    model = WatchModel(store)
    model.watch(run_id(0), [run_id(1)])
    assert model.legend == [("ppo · 2 seeds", 0)]
    first, second, mean = model.drawn(EPISODE_RETURN, 0, 100, 50)
    assert (first.is_faint, second.is_faint, mean.is_faint) == (True, True, False)
    assert {first.colour, second.colour, mean.colour} == {0}
    assert mean.band is not None
    assert mean.smooth is not None
    assert mean.smooth.y[0] == pytest.approx(5.5)
    assert mean.band.high[0] == pytest.approx(10.0)
    model.set_smoothing(0)
    model.drawn(EPISODE_RETURN, 0, 100, 50)
    reading = model.nearest(EPISODE_RETURN, 20.0)[0]
    assert reading[3:5] == pytest.approx((11, 9))
    store.replace_runs([run(0), run(1, spec={"environment": "Acrobot-v1"})])
    assert not model.has_seeds
    assert len(model.legend) == 2


def test_the_raw_line_stays_below_the_smooth_one(model: WatchModel) -> None:
    """Smoothing never hides what was measured; without it there is one line."""
    model.set_smoothing(0.9)
    drawn = model.drawn(EPISODE_RETURN, 0, 100, 50)[0]
    assert drawn.raw.y.tolist() == [1.0, 2.0, 4.0]
    assert drawn.smooth is not None
    assert drawn.smooth.y[0] == 1.0
    model.set_smoothing(0)
    assert model.drawn(EPISODE_RETURN, 0, 100, 50)[0].smooth is None


def test_a_logarithmic_scale_has_gaps_where_it_ends(model: WatchModel, store: Store) -> None:
    """Zero and below have no place on a logarithmic scale: a gap, never a wrong value."""
    store.apply(metrics(10, "m", [100.0, 0.0, 10.0]))
    model.set_log_scale(True)
    drawn = model.drawn("m", 0, 1e9, 50)[0]
    assert drawn.raw.y.tolist() == [2.0, 1.0]
    assert drawn.raw.gaps_x.tolist() == [110]


def test_the_nearest_point_is_read_off(model: WatchModel) -> None:
    """The crosshair shows the value of the point that is nearest, on whatever axis."""
    model.set_smoothing(0.5)
    reading = model.nearest(EPISODE_RETURN, 24.0)[0]
    assert (reading.x, reading.raw) == (20.0, 2.0)
    assert reading.value == pytest.approx(5 / 3)
    model.set_smoothing(0)
    assert model.nearest(EPISODE_RETURN, 24.0)[0][2:] == (20.0, 2.0, None, None)
    assert model.nearest(EPISODE_RETURN, 1e9)[0][2:4] == (30.0, 4.0)
    model.set_axis(XAxis.EPISODE)
    assert model.nearest(EPISODE_RETURN, 0.9)[0][2:4] == (1.0, 1.0)


def test_an_export_has_every_point(model: WatchModel, store: Store) -> None:
    """A table holds what was measured, not what is drawn."""
    store.apply(metrics(10, "m", np.arange(5_000.0).tolist()))
    assert len(model.drawn("m", 0, 1e9, 100)[0].raw.x) < 400
    assert [value for _, _, value in model.points_table("m").runs[0].points] == list(range(5_000))


def test_it_emits_only_changes_of_its_run(model: WatchModel) -> None:
    """Changes of runs that are not shown disturb nobody."""
    grown, changed = QSignalSpy(model.curves_grown), QSignalSpy(model.run_changed)
    model.consume(Changes(runs=frozenset({run_id(5)}), curves=frozenset({run_id(5)})))
    assert len(grown) == len(changed) == 0
    model.consume(Changes(runs=frozenset({run_id(0)}), curves=frozenset({run_id(0)})))
    assert len(grown) == len(changed) == 1


def test_side_tables_hold_the_contract_of_models(model: WatchModel) -> None:
    """Episodes and files are tables that Qt's own tester finds no fault with."""
    testers = [
        QAbstractItemModelTester(rows, QAbstractItemModelTester.FailureReportingMode.Fatal)
        for rows in (model.episodes, model.files, model.details)
    ]
    model.take_episodes([EpisodeRow(attempt=1, env=0, episode=3, length=None)])
    model.take_files(
        [
            ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=2048, step=10),
            ArtifactRow(path="gone.pt", kind="checkpoint", bytes=1, exists=False),
        ]
    )
    assert model.episodes.index(0, 4).data() == "goes on"
    assert model.files.rowCount() == 1
    assert model.files.index(0, 2).data() == "2.0 KiB"
    assert len(testers) == 3


def test_open_episode_is_cut_off_when_the_run_ends(model: WatchModel, store: Store) -> None:
    """The table changes with the run, without being read again."""
    model.take_episodes([EpisodeRow(attempt=1, env=0, episode=3)])
    assert model.episodes.index(0, 4).data() == "goes on"
    model.consume(store.take_runs([run(0, RunState.CANCELLED, revision=2)]))
    assert model.episodes.index(0, 4).data() == "cut off by the run's end"


def test_the_card_comes_with_the_end(model: WatchModel, store: Store) -> None:
    """While a run goes on there is no card; when it failed there is one."""
    assert model.card is None
    store.take_runs([run(0, RunState.FAILED, revision=2)])
    assert model.card is not None


def passes(n: int = 0) -> EventBatch:
    """Steps 0 to 1,200 with values of 1, then 900 to 1,700 with values of 5."""
    steps = [*range(0, 1201, 10), *range(900, 1701, 10)]
    batch = metrics(100, "m", [1.0] * 121 + [5.0] * 81, n)
    batch.columns["metric"]["step"] = steps
    return batch


def test_steps_that_go_back_are_a_pass_of_their_own(model: WatchModel) -> None:
    """Each pass is drawn at its own steps with its own values, and can be distinguished from the others."""
    model._store.apply(passes())
    older, newest = model.drawn("m", 0, 1e9, 2_000)
    assert (older.is_older, newest.is_older) == (True, False)
    assert (older.last, newest.last) == (None, 5.0)
    for drawn, first, last, value in ((older, 0, 1200, 1.0), (newest, 900, 1700, 5.0)):
        for line in (drawn.raw, drawn.smooth):
            assert line is not None
            assert (line.x[0], line.x[-1]) == (first, last)
            assert line.y == pytest.approx(value)
            assert line.connect[:-1].all()
    assert model.extent("m") == (0, 1700)
    assert [(r.label[-11:], r.raw) for r in model.nearest("m", 1000)] == [
        ("pass 2 of 2", 5.0),
        ("pass 1 of 2", 1.0),
    ]
    assert [r.value for r in model.nearest("m", 500)] == [5.0, 1.0]
    assert [r.value for r in model.nearest("m", 1600)] == [5.0]


def test_many_passes_are_drawn_as_two_curves(model: WatchModel) -> None:
    """However often a program goes through its steps, the earlier passes are one curve of a bounded size."""
    steps = [step for _ in range(400) for step in range(100)]
    batch = metrics(100, "m", [float(n % 7) for n in range(len(steps))])
    batch.columns["metric"]["step"] = steps
    model._store.apply(batch)
    older, newest = model.drawn("m", 0, 1e9, 800)
    assert newest.raw.x.tolist() == list(range(100))
    assert np.count_nonzero(older.raw.connect == 0) == 399
    assert len(older.raw.x) < 20_000


def test_a_mean_takes_the_history_that_holds(model: WatchModel) -> None:
    """The mean over a seed that went back has the later pass's steps, and before them those of the earlier pass."""
    store = model._store
    store.replace_runs([run(0), run(1)])
    store.follow(run_id(1))
    for n in range(2):
        store.apply(passes(n))
    model.watch(run_id(0), [run_id(1)])
    model.set_smoothing(0)
    mean = next(d for d in model.drawn("m", 0, 1e9, 800) if d.band is not None)
    assert mean.smooth is not None
    assert mean.smooth.y[mean.smooth.x < 880] == pytest.approx(1.0)
    assert mean.smooth.y[mean.smooth.x > 920] == pytest.approx(5.0)
    assert mean.smooth.x[-1] == 1700


def test_use_of_the_machine_is_no_first_chart() -> None:
    """It is known before the first return, and waits for being chosen."""
    assert first_charts(["system/cpu_percent", "system/rss_bytes"]) == []
    assert first_charts(["system/cpu_percent", "losses/entropy"]) == ["losses/entropy"]
