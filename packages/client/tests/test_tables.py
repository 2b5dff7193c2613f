"""What a run recorded as arrays and data frames, and what a notebook shows."""

import math
import sys
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pytest

from mosaic_client import (
    AsyncClient,
    Client,
    Location,
    NotebookMissing,
    Run,
    RunList,
    Table,
    comparison,
)

LOCATION = Location("http://127.0.0.1:9", "secret")
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ORIGIN = {"attempt": 1, "source": "worker", "episode": 7}
STEP: dict[str, Any] = ORIGIN | {"type": "step", "env": 0, "hash": "00", "actor": 0}
CURVE = {
    "run_id": RUN_ID,
    "name": "losses/value_loss",
    "points": 5,
    "steps": [10, None, 30],
    "values": [1.5, "NaN", "-Infinity"],
    "t": [100.0, 100.5, 101.0],
}
STEPS = {
    "events": [
        ORIGIN | {"type": "episode_start", "seq": 1, "reset": {"way": "seed", "seed": 3}},
        STEP | {"seq": 2, "step": 0, "t": 1.0, "action": 1, "reward": 1.0, "flags": 0, "observation": [0.5, "NaN"]},
        STEP | {"seq": 3, "step": 1, "t": 1.1, "action": 0, "reward": "Infinity", "flags": 3, "observation": [1, 2]},
    ],
    "cursor": "1.worker.3",
    "has_more": False,
}  # fmt: skip
BEGUN = {"attempt": 1, "env": 0, "episode": 1}
FINISHED = {"length": 9, "return": 9.0, "terminated": True, "truncated": False}
EPISODES = {
    None: {"episodes": [BEGUN | {"episode": 0} | FINISHED], "next_cursor": "x"},
    "x": {"episodes": [BEGUN], "next_cursor": None},
}
METRICS = {
    "events": [
        {"type": "metric", "seq": 1, "name": "a", "step": 1, "value": 2.0, "t": 5.0},
        {"type": "metric", "seq": 2, "name": "b", "step": None, "value": "NaN", "t": 6.0},
    ],
    "cursor": "1.worker.2",
    "has_more": False,
}


def view(**fields: Any) -> dict[str, Any]:
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    return {
        "run_id": RUN_ID,
        "name": "a run",
        "spec": spec | fields.pop("spec", {}),
        "state": "queued",
        "revision": 1,
        "created_at": "2026-01-01T00:00:00Z",
        "run_dir": f"runs/{RUN_ID}",
    } | fields


def answer(request: httpx.Request) -> httpx.Response:
    """A gateway with one run."""
    kind = request.url.path.rpartition("/")[2]
    if kind == "curve":
        assert request.url.params["last"] == "100000"
    pages = EPISODES.get(request.url.params.get("cursor"))
    given = {"curve": CURVE, "steps": STEPS, "episodes": pages, "events": METRICS}.get(kind, view())
    return httpx.Response(200, json=given)


@pytest.fixture
def client() -> Client:
    return Client(LOCATION, transport=httpx.MockTransport(answer))


def test_a_metric_comes_as_three_arrays(client: Client) -> None:
    """Steps, values and times are numpy arrays of one length; what is not finite or missing stays so."""
    series = client.series(RUN_ID, "losses/value_loss")
    np.testing.assert_array_equal(series.steps, [10, math.nan, 30])
    np.testing.assert_array_equal(series.values, [1.5, math.nan, -math.inf])
    np.testing.assert_array_equal(series.times, [100.0, 100.5, 101.0])
    assert series.left_out == 2
    assert "2 older points left out" in repr(series)


def test_steps_of_an_episode_are_arrays(client: Client) -> None:
    """Actions, rewards, flags and observations of an episode have a row a step, observations a matrix."""
    steps = client.step_table(RUN_ID, episode=7)
    assert steps["action"].dtype == np.int64
    np.testing.assert_array_equal(steps["reward"], [1.0, math.inf])
    np.testing.assert_array_equal(steps["observation"], [[0.5, math.nan], [1, 2]])
    assert steps["terminated"].tolist() == steps["truncated"].tolist() == [False, True]
    assert steps.start["reset"] == {"way": "seed", "seed": 3}


def test_all_episodes_become_a_data_frame(client: Client) -> None:
    """The frame has every page's episodes; one that goes on has no length and return yet."""
    frame = client.episode_table(RUN_ID).to_pandas()
    assert frame["episode"].tolist() == [0, 1]
    assert frame["return"].tolist()[0] == 9.0
    assert pd.isna(frame["length"][1])
    steps = client.step_table(RUN_ID, episode=7).to_pandas()
    assert steps["observation"][1] == [1, 2]


def test_all_metrics_become_a_data_frame(client: Client) -> None:
    """Each point of each metric is a row, with numbers where JSON has words."""
    frame = client.metric_table(RUN_ID).to_pandas()
    assert frame["name"].tolist() == ["a", "b"]
    assert frame["value"].dtype == np.float64
    assert math.isnan(frame["value"][1])


async def test_the_async_client_gives_the_same_tables(client: Client) -> None:
    """Awaited or not, the columns are equal."""
    async with AsyncClient(LOCATION, transport=httpx.MockTransport(answer)) as other:
        for mine, theirs in [
            (client.series(RUN_ID, "losses/value_loss"), await other.series(RUN_ID, "losses/value_loss")),
            (client.step_table(RUN_ID, 7), await other.step_table(RUN_ID, 7)),
            (client.episode_table(RUN_ID), await other.episode_table(RUN_ID)),
            (client.metric_table(RUN_ID), await other.metric_table(RUN_ID)),
            (client.compare([RUN_ID]), await other.compare([RUN_ID])),
        ]:  # fmt: skip
            assert repr(mine.columns) == repr(theirs.columns)


def test_runs_are_compared_by_parameters_and_results() -> None:
    """A parameter that one run sets is a column for all; results are there once there are some."""
    runs = [
        Run.model_validate(view(spec={"seed": 1, "parameters": {"gamma": 0.9}})),
        Run.model_validate(
            view(
                spec={"seed": 2},
                defaults={"gamma": 0.99},
                summary={"run_id": RUN_ID, "episodes": 4, "mean_return": 20.5},
                started_at="2026-01-01T00:00:00Z",
                ended_at="2026-01-01T00:01:00Z",
            )
        ),
    ]
    table = comparison(runs)
    assert table.columns["seed"] == [1, 2]
    assert table.columns["parameters.gamma"] == [0.9, 0.99]
    assert [what.partition(" gamma")[2] for what in table.columns["what"]] == [
        "=0.9 · seed 1",
        "=0.99 · seed 2",
    ]
    assert table.columns["mean_return"] == [None, 20.5]
    assert table.columns["duration_s"] == [None, 60.0]
    assert table.to_pandas().shape[0] == 2


def test_durations_are_by_the_stacks_monotonic_clock() -> None:
    """Where the stack says how long a run took, its wall times are not subtracted; no duration is negative."""
    times = {"started_at": "2026-01-01T01:00:00Z", "ended_at": "2026-01-01T00:20:25Z"}
    runs = [Run.model_validate(view(**times, **more)) for more in ({"elapsed_s": 25.0}, {})]
    assert comparison(runs).columns["duration_s"] == [25.0, None]


@pytest.mark.parametrize("package", ["numpy", "pandas"])
def test_without_the_extra_the_error_says_what_to_install(
    client: Client, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """Lists work without numpy and pandas; a caller that asks for an array or a frame learns what to install."""
    monkeypatch.setitem(sys.modules, package, None)
    table = client.episode_table(RUN_ID)
    assert table.columns["return"] == [9.0, None]
    assert "9" in table._repr_html_()
    with pytest.raises(NotebookMissing, match=rf"{package} is not installed.*\[notebook\]"):
        table["return"] if package == "numpy" else table.to_pandas()


def test_what_a_notebook_shows_is_escaped() -> None:
    """Names, notes and parameters of a user and strings of a worker are words in the page, never its code."""
    evil = "<script>alert('1')</script>"
    spec = {"environment": evil, "parameters": {"x": evil}}
    run = view(name=evil, note=evil, tags=[evil], spec=spec, waiting_reason=evil, notes=[evil])
    shown = [
        Run.model_validate(run)._repr_html_(),
        RunList.model_validate({"runs": [run]})._repr_html_(),
        Table({evil: [evil, [evil]]}, evil)._repr_html_(),
        comparison([Run.model_validate(run)])._repr_html_(),
    ]
    for html in shown:
        assert "<script" not in html
        assert "&lt;script&gt;" in html


def test_a_long_table_is_shown_in_part() -> None:
    """A notebook is not filled with a million rows; the caption says how many there are."""
    html = Table({"n": list(range(1000))}, "numbers")._repr_html_()
    assert html.count("<tr>") == 21
    assert "1000 rows, the first 20 shown" in html


@pytest.mark.parametrize(
    ("cells", "kind", "shape"),
    [
        ([], "f", (0,)),
        ([1, 2], "i", (2,)),
        ([1, 2.5], "f", (2,)),
        ([1, None], "f", (2,)),
        ([True, False], "b", (2,)),
        ([True, None], "O", (2,)),
        (["a", "b"], "U", (2,)),
        (["a", None], "O", (2,)),
        ([[1, 2], [3, 4]], "i", (2, 2)),
        ([[1], [2, 3]], "O", (2,)),
        ([[1, 2], None], "O", (2,)),
        ([{"x": 1}, {"x": 2}], "O", (2,)),
        ([2**70, 1], "O", (2,)),
    ],
)
def test_a_column_becomes_the_array_that_fits(cells: list[Any], kind: str, shape: Any) -> None:
    """Numbers make numeric arrays, a missing number is NaN, vectors make matrices, the rest stays as objects."""
    array = Table({"x": cells})["x"]
    assert (array.dtype.kind, array.shape) == (kind, shape)


def test_an_unknown_column_names_those_that_there_are() -> None:
    """A misspelt column is answered with the right ones."""
    with pytest.raises(KeyError, match="there are step, value"):
        Table({"step": [], "value": []})["valeur"]
