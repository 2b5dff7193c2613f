"""Reports: what a page holds, what it never does, and how long curves are thinned."""

import base64
import hashlib
import json
import math
import re
import struct
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from mosaic_cli.errors import FileProblem
from mosaic_cli.reporting.chart import RunLook, chart, smoothed
from mosaic_cli.reporting.curves import CurvePart, ReportCurve, _SentCurve, in_order, thin_curve
from mosaic_cli.reporting.page import ReportContent, ReportFilm, page_html
from mosaic_cli.reporting.scale import Span, span_of, tick_text, ticks
from mosaic_cli.reporting.writing import (
    FEWEST_BUCKETS,
    MAX_CURVES,
    MOST_BUCKETS,
    _looks,
    _target,
    chosen_names,
    points_of_a_curve,
)
from mosaic_client import light
from mosaic_contracts.curve_set import EPISODE_RETURN
from mosaic_contracts.run_diff import DiffSide, compare_runs

EVIL = "<script>alert('\"&</style>\x00\u202e"
BEGAN = "2026-01-02T12:00:00Z"


def run_fields(n: int = 0, name: str = "", **spec: Any) -> light.RunFields:
    """An ended run of PPO."""
    run_id = f"01M8GP{n:020d}"
    known = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", "seed": 1}
    known_run = {
        "run_id": run_id,
        "name": name or f"CartPole-v1__ppo__{spec.get('seed', 1)}__{n}",
        "spec": known | ({"name": name} if name else {}) | spec,
        "state": "succeeded",
        "created_at": BEGAN,
        "run_dir": f"runs/{run_id}",
        "note": name,
        "tags": [name] if name else [],
    }
    return light.RunFields.read(json.dumps(known_run).encode())


def sent(
    values: Sequence[float], steps: Sequence[float] | None = None, name: str = EPISODE_RETURN
) -> _SentCurve:
    """A whole curve as the stack sends it."""
    steps = steps if steps is not None else [float(n) for n in range(len(values))]
    columns = {"step": steps, "t": steps, "value": values}
    packed = {key: struct.pack(f"<{len(column)}d", *column) for key, column in columns.items()}
    return _SentCurve(name, len(values), False, packed)


class Parsed(HTMLParser):
    """Tags with their attributes, and the texts of scripts."""

    def __init__(self, page: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.texts: list[str] = []
        self._open = ""
        self.feed(page.decode("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self._open = ""

    def handle_data(self, data: str) -> None:
        (self.scripts if self._open == "script" else self.texts).append(data)


def page_of(runs: Sequence[light.RunFields], **changes: Any) -> Parsed:
    """A page of runs with one chart."""
    reported = _looks(runs)
    curves = [(one.look, thin_curve(sent([1.0, 3.0, 2.0]), 100)) for one in reported]
    sides = [DiffSide(run.plain(), {"arguments": {"lr": n}}, {}) for n, run in enumerate(runs)]
    known: dict[str, Any] = {
        "title": runs[0].name,
        "made_at": datetime(2026, 1, 3, tzinfo=UTC),
        "runs": reported,
        "charts": {runs[0].name: curves},
        "films": [ReportFilm(runs[0].name, "episode 3", "video/mp4", b"\0\1")],
        "rows": compare_runs(sides),
        "notes": [],
    }
    return Parsed(page_html(ReportContent(**(known | changes))))


def test_names_that_are_markup_stay_text() -> None:
    """A run called like a script makes no tag: the page has the tags of one with a harmless name."""
    plain = page_of([run_fields(name="harmless"), run_fields(1, "other")])
    evil = page_of([run_fields(name=EVIL), run_fields(1, EVIL + "2")])
    assert [tag for tag, _ in evil.tags] == [tag for tag, _ in plain.tags]
    assert len(evil.scripts) == 1
    assert any("<script>alert('\"&</style>" in text for text in evil.texts)
    assert not any("\x00" in text for text in evil.texts)


def test_a_page_loads_nothing_and_runs_its_own_script_alone() -> None:
    """No address of a host; a policy that allows one script, by its digest."""
    page = page_of([run_fields(), run_fields(1, seed=2)])
    links = [
        value
        for _, attributes in page.tags
        for name, value in attributes.items()
        if name in ("src", "href", "xlink:href", "action", "poster", "data")
    ]
    assert links == ["data:video/mp4;base64,AAE="]
    assert not any(tag in ("link", "iframe", "object", "base") for tag, _ in page.tags)
    (policy,) = [a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a]
    (script,) = page.scripts
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in str(policy)
    assert "default-src 'none'" in str(policy)


def test_runs_are_named_by_what_differs_and_seeds_look_alike() -> None:
    """Runs with other parameters have other colours; a name has the seed, too."""
    runs = [
        run_fields(n, parameters={"learning_rate": rate}, seed=seed)
        for n, (rate, seed) in enumerate([(0.1, 1), (0.1, 2), (0.2, 1)])
    ]
    looks = [one.look for one in _looks(runs)]
    assert [look.name for look in looks] == [
        "ppo lr=0.1 · seed 1",
        "ppo lr=0.1 · seed 2",
        "ppo lr=0.2 · seed 1",
    ]
    assert looks[0].look == looks[1].look != looks[2].look
    texts = page_of(runs).texts
    assert "Differences" in texts
    assert "Equal in all runs" in texts


def test_one_run_has_its_configuration_and_no_differences() -> None:
    """There is nothing to compare."""
    texts = page_of([run_fields()]).texts
    assert "Configuration" in texts
    assert "Differences" not in texts


def test_a_long_curve_keeps_its_spike_in_the_band() -> None:
    """A single high value among 10,000 is in the band of its bucket, and the count says what was thinned."""
    values = [0.0] * 10_000
    values[7_000] = 99.0
    curve = thin_curve(sent(values), 100)
    (part,) = curve.parts
    assert curve.thinned
    assert curve.points == 10_000
    assert len(part.x) <= 101
    assert max(part.high) == 99.0
    assert max(part.y) < 2.0


def test_a_short_curve_is_drawn_as_it_was_recorded() -> None:
    """Every point, no band; values that no line can show are counted."""
    curve = thin_curve(sent([1.0, math.nan, 3.0, math.inf]), 100)
    assert curve == ReportCurve(
        EPISODE_RETURN, 4, False, 2, [CurvePart([0.0, 2.0], [1.0, 3.0], [], [])]
    )


def test_steps_that_go_back_begin_a_new_line() -> None:
    """A resumed run is not drawn as a line back to its beginning."""
    curve = thin_curve(sent([1.0, 2.0, 3.0], [0.0, 10.0, 5.0]), 100)
    assert [part.x for part in curve.parts] == [[0.0, 10.0], [5.0]]


def test_points_without_steps_are_drawn_by_their_number() -> None:
    """A metric without steps has a line, too."""
    curve = thin_curve(sent([1.0, 2.0], [math.nan, math.nan]), 100)
    assert curve.parts[0].x == [0.0, 1.0]


def test_buckets_of_the_stack_are_drawn_with_their_band() -> None:
    """A curve that the stack has thinned keeps lowest and highest values."""
    columns = {
        "step0": [0.0, 10.0, 0.0],
        "step1": [9.0, 19.0, 4.0],
        "min": [1.0, math.nan, 5.0],
        "max": [3.0, math.nan, 7.0],
        "mean": [2.0, math.nan, 6.0],
        "odd": [0.0, 4.0, 0.0],
    }
    packed = {key: struct.pack("<3d", *column) for key, column in columns.items()}
    curve = thin_curve(_SentCurve("loss", 1_000_000, True, packed, [0, 2]), 100)
    assert (curve.points, curve.thinned, curve.odd) == (1_000_000, True, 4)
    assert curve.parts == [
        CurvePart([4.5], [2.0], [1.0], [3.0]),
        CurvePart([2.0], [6.0], [5.0], [7.0]),
    ]


@pytest.mark.parametrize(
    ("curves", "points"), [(1, MOST_BUCKETS), (500, 300), (MAX_CURVES, 75), (10**6, FEWEST_BUCKETS)]
)
def test_more_curves_have_fewer_points_each(curves: int, points: int) -> None:
    """The page stays small; a curve is still one."""
    assert points_of_a_curve(curves) == points


def test_metrics_of_the_machine_are_left_out_first() -> None:
    """Returns come first, and what does not fit is what says least."""
    counts = Counter({"system/cpu": 900, "charts/SPS": 900, EPISODE_RETURN: 900, "loss": 900})
    assert chosen_names(counts) == [EPISODE_RETURN, "charts/SPS"]
    assert in_order(list(counts), counts)[-1] == "system/cpu"
    assert chosen_names(Counter({EPISODE_RETURN: 5_000})) == [EPISODE_RETURN]


def test_a_chart_has_a_line_for_each_run_and_a_dot_for_one_point() -> None:
    """One point is seen, as a dot."""
    look = RunLook(0, "one", 0)
    svg = chart("loss", [(look, thin_curve(sent([5.0]), 10))])
    assert _classes(svg, "path")[-1] == "line dot"
    svg = chart("loss", [(look, thin_curve(sent([float(n) for n in range(400)]), 100))])
    assert _classes(svg, "path")[-3:] == ["band", "line raw", "line mean"]


def _classes(svg: Element, tag: str) -> list[str]:
    return [element.get("class", "") for element in svg.iter(tag)]


def test_smoothing_keeps_length_and_level() -> None:
    """The mean of a constant is the constant, at both ends, too."""
    assert smoothed([2.0] * 200) == pytest.approx([2.0] * 200)
    assert smoothed([1.0, 2.0, 3.0]) is None


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        (Span(0, 500), [0, 100, 200, 300, 400, 500]),
        (Span(-0.03, 0.04), [-0.02, 0.0, 0.02, 0.04]),
        (Span(9_999, 10_001), [9_999, 9_999.5, 10_000, 10_000.5, 10_001]),
    ],
)
def test_ticks_are_round_numbers(span: Span, expected: list[float]) -> None:
    """As many as fit."""
    assert ticks(span, 5) == pytest.approx(expected)


def test_an_axis_is_never_empty() -> None:
    """A constant curve has a height."""
    assert span_of([3.0, 3.0]).width > 0
    assert span_of([]).width > 0
    assert [tick_text(value) for value in (0.0, 12_500.0, 2e6, 0.001)] == [
        "0",
        "12.5k",
        "2M",
        "0.001",
    ]


def test_a_file_that_is_no_report_is_not_replaced(tmp_path: Path) -> None:
    """A report may be written again; a user's other file is left alone."""
    other = tmp_path / "thesis.html"
    other.write_text("<h1>mine</h1>")
    with pytest.raises(FileProblem, match="is no report"):
        _target(other)
    older = tmp_path / "report.html"
    runs = [run_fields()]
    content = ReportContent("t", datetime.now(UTC), _looks(runs), {}, [], [], [])
    older.write_bytes(page_html(content))
    assert _target(older) == older
    with pytest.raises(FileProblem, match="folder"):
        _target(tmp_path)
    with pytest.raises(FileProblem, match="folder does not exist"):
        _target(tmp_path / "nowhere" / "a.html")


def test_a_page_has_no_trace_of_this_machine() -> None:
    """No path and no address, but those that runs have recorded."""
    page = page_html(ReportContent("t", datetime.now(UTC), _looks([run_fields()]), {}, [], [], []))
    assert not re.search(rb"https?://(?!www\.w3\.org)", page)
