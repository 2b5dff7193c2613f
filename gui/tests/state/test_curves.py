import numpy as np
from tests.specimen import episodes, metrics, run_id

from mosaic_gui.state.curves import EPISODE_LENGTH, EPISODE_RETURN, RunCurves
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.settings import XAxis


def curves_of(*batches: EventBatch) -> RunCurves:
    """Curves after these batches."""
    curves = RunCurves()
    for batch in batches:
        curves.take(batch)
    return curves


def test_each_axis_has_its_places() -> None:
    """The same points stand at their steps, episode numbers, seconds and times of day."""
    curves = curves_of(episodes(1, [1.0, 2.0, 3.0]))
    places = {axis: curves.x_of(EPISODE_RETURN, axis).tolist() for axis in XAxis}
    assert places == {
        XAxis.STEP: [10, 20, 30],
        XAxis.EPISODE: [1, 2, 3],
        XAxis.RELATIVE: [0, 1, 2],
        XAxis.WALL: [101, 102, 103],
    }


def test_what_has_no_step_takes_that_of_its_moment() -> None:
    """The machine's use is measured by the clock; on the step axis it stands next to what was trained then."""
    machine = {
        "attempt": 1,
        "source": "supervisor",
        "seq": [1],
        "t": [102.0],
        "name": ["system/cpu_percent"],
        "step": [None],
        "value": [50.0],
    }
    curves = curves_of(
        episodes(1, [1.0, 2.0, 3.0]),
        EventBatch(run_id(0), [], {"metric": machine}, "1.supervisor.1"),
    )
    assert curves.x_of("system/cpu_percent", XAxis.STEP).tolist() == [20]


def test_steps_that_fall_do_not_fold_the_line() -> None:
    """A point that a worker reports late is drawn at its own step, and no point is dropped."""
    batch = metrics(1, "m", [1.0, 2.0, 3.0])
    batch.columns["metric"]["step"] = [10, 30, 20]
    curves = curves_of(batch)
    (part,) = curves.parts_of("m", XAxis.STEP)
    assert part.x.tolist() == [10, 20, 30]
    assert curves.series["m"].values[part.places].tolist() == [1, 3, 2]


def test_each_pass_is_at_its_own_steps() -> None:
    """Steps that go back begin another line; against time all of it is one."""
    batch = metrics(1, "m", [float(n) for n in range(10)])
    batch.columns["metric"]["step"] = [0, 400, 800, 1200, 900, 1000, 1100, 1300, 1500, 1700]
    curves = curves_of(batch)
    parts = curves.parts_of("m", XAxis.STEP)
    assert [part.x.tolist() for part in parts] == [
        [0, 400, 800, 1200],
        [900, 1000, 1100, 1300, 1500, 1700],
    ]
    assert len(curves.parts_of("m", XAxis.WALL)) == 1


def test_returns_come_first_and_the_machine_last() -> None:
    """The list of curves begins with what people look at."""
    curves = curves_of(
        metrics(1, "system/rss_bytes", [1.0]), metrics(2, "losses/a", [1.0]), episodes(3, [1.0])
    )
    assert curves.names == [EPISODE_RETURN, EPISODE_LENGTH, "losses/a", "system/rss_bytes"]


def test_numbers_that_json_has_no_sign_for_are_read() -> None:
    """NaN and infinities come as words in JSON frames and are numbers here."""
    batch = metrics(1, "m", [1.0, 2.0])
    batch.columns["metric"]["value"] = ["NaN", "-Infinity"]
    values = curves_of(batch).series["m"].values
    assert np.isnan(values[0])
    assert values[1] == -np.inf
