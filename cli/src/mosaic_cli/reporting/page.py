"""The page of a report, as a tree of elements: whatever a run is called, it is text and never markup."""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement, tostring

from mosaic_cli.reporting.chart import SMOOTHING, RunLook, chart
from mosaic_cli.reporting.curves import SYSTEM, ReportCurve
from mosaic_cli.wording import duration, number
from mosaic_client import light
from mosaic_contracts import VERSION
from mosaic_contracts.curve_set import EPISODE_LENGTH, EPISODE_RETURN
from mosaic_contracts.run_diff import METRICS, SYSTEM_METRICS, DiffRow, value_text

GENERATOR = f"MOSAIC {VERSION}"
_UNSHOWN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML cannot hold."""
_TITLES = {EPISODE_RETURN: "Return of episodes", EPISODE_LENGTH: "Length of episodes"}
_SMOOTH = f"Faint: as recorded. Thick: the mean over 1/{SMOOTHING} of the curve."
_OPEN_CHARTS = 4
"""Charts that are unfolded at first."""
_MOST_DIFFERENT_RUNS = 50
"""Runs whose differences are put next to each other: more columns nobody reads."""
_HEADS = (
    *("Run", "State", "Steps", "Episodes", "Best return", "Mean of last returns"),
    *("Duration", "Started", "Id"),
)
_NONE = "–"


class ReportedRun(NamedTuple):
    """What a report says of one run.

    Attributes:
        run: the run.
        look: how it is drawn, with its name.
        config: data of its config event; empty: it has recorded none.
    """

    run: light.RunFields
    look: RunLook
    config: Mapping[str, object]


class ReportFilm(NamedTuple):
    """A film of an episode.

    Attributes:
        name: name of the run.
        words: which episode it shows.
        mime: media type.
        data: content of the file.
    """

    name: str
    words: str
    mime: str
    data: bytes


class ReportContent(NamedTuple):
    """All that a page shows.

    Attributes:
        title: its heading.
        made_at: time of the report.
        runs: the runs, in order.
        charts: curves by name, in order; those of each run that has one.
        films: films, the best first.
        rows: properties of all runs next to each other.
        notes: what was left out or thinned.
    """

    title: str
    made_at: datetime
    runs: Sequence[ReportedRun]
    charts: Mapping[str, Sequence[tuple[RunLook, ReportCurve]]]
    films: Sequence[ReportFilm]
    rows: Sequence[DiffRow]
    notes: Sequence[str]


def page_html(content: ReportContent) -> bytes:
    """Return the page as a file.

    Args:
        content: what it shows.
    """
    script, style = _resource("report.js"), _resource("report.css")
    root = Element("html", {"lang": "en"})
    _add_head(root, content.title, script, style)
    body = SubElement(root, "body")
    _add_header(body, content)
    _add_results(body, content.runs)
    _add_films(body, content.films)
    _add_charts(body, content)
    if len(content.runs) > 1:
        _add_differences(body, content)
    _add_configuration(body, content)
    _add_footer(body, content)
    SubElement(body, "script").text = script
    _clean(root)
    text = tostring(root, encoding="unicode", method="html")
    return b"<!DOCTYPE html>\n" + text.encode("utf-8")


def _resource(name: str) -> str:
    return (files("mosaic_cli.reporting") / name).read_text("utf-8")


def _add_head(root: Element, title: str, script: str, style: str) -> None:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; img-src data:; media-src data:; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'"
    )
    head = SubElement(root, "head")
    SubElement(head, "meta", {"charset": "utf-8"})
    SubElement(head, "meta", {"http-equiv": "Content-Security-Policy", "content": policy})
    SubElement(head, "meta", {"name": "generator", "content": GENERATOR})
    SubElement(head, "meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"})
    SubElement(head, "title").text = title
    SubElement(head, "style").text = style


def _add_header(body: Element, content: ReportContent) -> None:
    header = SubElement(body, "header")
    row = SubElement(header, "div", {"class": "bar"})
    _text(SubElement(row, "h1"), content.title)
    SubElement(row, "button", {"id": "theme", "type": "button"}).text = "Light or dark"
    count = len(content.runs)
    runs = "1 run" if count == 1 else f"{count} runs"
    when = content.made_at.astimezone().strftime("%Y-%m-%d %H:%M %Z")
    SubElement(header, "p", {"class": "muted"}).text = f"{runs} · {when} · {GENERATOR}"
    if content.notes:
        notes = SubElement(header, "ul", {"class": "notes"})
        for note in content.notes:
            _text(SubElement(notes, "li"), note)


def _add_results(body: Element, runs: Sequence[ReportedRun]) -> None:
    section = _section(body, "Results")
    table = _table(section, _HEADS, numbers=frozenset(range(2, 7)))
    for reported in runs:
        run, summary = reported.run, reported.run.summary
        row = SubElement(table, "tr", {"data-run": str(reported.look.number)})
        name = SubElement(row, "th", {"scope": "row"})
        SubElement(name, "span", {"class": f"swatch {reported.look.classes}"})
        _text(name, reported.look.name)
        state = SubElement(row, "td", {"class": f"state {run.state.value}"})
        state.text = run.state.value.replace("_", " ")
        if run.end is not None and run.end.message:
            state.set("title", run.end.message)
        for value in (
            f"{run.step:,}",
            f"{summary.episodes_played:,}" if summary else _NONE,
            _number(summary.best_return if summary else None),
            _number(summary.mean_return if summary else None),
            duration(run.elapsed_s),
        ):
            SubElement(row, "td", {"class": "n"}).text = value
        started = run.started_at or run.created_at
        SubElement(row, "td", {"class": "t"}).text = started.astimezone().strftime("%Y-%m-%d %H:%M")
        SubElement(SubElement(row, "td"), "code").text = run.run_id
    noted = [reported for reported in runs if reported.run.note.strip()]
    for reported in noted:
        note = SubElement(section, "p", {"class": "note"})
        if len(runs) > 1:
            _text(SubElement(note, "strong"), f"{reported.look.name}: ")
        _text(note, reported.run.note)


def _add_films(body: Element, films: Sequence[ReportFilm]) -> None:
    if not films:
        return
    section = _section(body, "Film" if len(films) == 1 else "Films")
    row = SubElement(section, "div", {"class": "films"})
    for film in films:
        figure = SubElement(row, "figure")
        source = f"data:{film.mime};base64,{base64.b64encode(film.data).decode()}"
        if film.mime.startswith("image/"):
            SubElement(figure, "img", {"src": source, "alt": film.words})
        else:
            SubElement(figure, "video", {"controls": "", "loop": "", "muted": "", "src": source})
        caption = SubElement(figure, "figcaption")
        _text(caption, film.name)
        SubElement(caption, "span", {"class": "muted"}).text = f" {film.words}"


def _add_charts(body: Element, content: ReportContent) -> None:
    section = _section(body, "Curves")
    if not content.charts:
        SubElement(section, "p", {"class": "muted"}).text = "No run has recorded a curve."
        return
    help_text = (
        "Drag over a chart to zoom, double-click to show all of it. A click on a row of the results hides its curve, "
        "with Alt it is shown alone."
    )
    SubElement(section, "p", {"class": "muted script"}).text = help_text
    SubElement(section, "p", {"class": "muted"}).text = _SMOOTH
    for n, (name, curves) in enumerate(content.charts.items()):
        is_open = n < _OPEN_CHARTS and not name.startswith(SYSTEM)
        folded = SubElement(section, "details", {"open": ""} if is_open else {})
        summary = SubElement(folded, "summary")
        _text(summary, _TITLES.get(name, name))
        SubElement(summary, "span", {"class": "muted"}).text = _about(curves)
        figure = SubElement(folded, "figure", {"class": "figure"})
        figure.append(chart(_TITLES.get(name, name), curves))
        SubElement(figure, "output", {"class": "readout"})


def _about(curves: Sequence[tuple[RunLook, ReportCurve]]) -> str:
    """What is not as it was recorded."""
    thinned = [curve for _, curve in curves if curve.thinned]
    words = []
    if thinned:
        points = sum(curve.points for curve in thinned)
        words.append(f" · {points:,} points as means, the band from lowest to highest")
    odd = sum(curve.odd for _, curve in curves)
    if odd:
        words.append(f" · {odd:,} values are NaN or infinite and not drawn")
    return "".join(words)


def _add_differences(body: Element, content: ReportContent) -> None:
    section = _section(body, "Differences")
    runs = content.runs[:_MOST_DIFFERENT_RUNS]
    if len(content.runs) > len(runs):
        words = f"The first {len(runs)} runs are compared. `./mosaic diff RUN RUN` compares others."
        SubElement(section, "p", {"class": "muted"}).text = words
    different = [row for row in content.rows if _differs(row, len(runs))]
    if not different:
        SubElement(section, "p", {"class": "muted"}).text = "Nothing that is recorded differs."
        return
    _add_rows(section, [reported.look for reported in runs], different)


def _differs(row: DiffRow, count: int) -> bool:
    if row.name.startswith(SYSTEM_METRICS):
        return False
    return len({value_text(value) for value in row.values[:count]}) > 1


def _add_rows(section: Element, looks: Sequence[RunLook], rows: Sequence[DiffRow]) -> None:
    table = _table(section, ("", *(look.name for look in looks)))
    for title, members in groupby(rows, key=lambda row: row.section):
        head = SubElement(table, "tr", {"class": "group"})
        SubElement(head, "th", {"colspan": str(len(looks) + 1)}).text = title
        for member in members:
            row = SubElement(table, "tr")
            _text(SubElement(row, "th", {"scope": "row"}), member.name)
            for value in member.values[: len(looks)]:
                cell = SubElement(row, "td")
                _text(cell, _NONE if value is None else value_text(value))


def _add_configuration(body: Element, content: ReportContent) -> None:
    """What one run has, or what all have in common."""
    is_one = len(content.runs) == 1
    same = [row for row in content.rows if row.equal and not row.name.startswith(SYSTEM_METRICS)]
    rows = content.rows if is_one else same
    if not rows:
        return
    section = _section(body, "Configuration" if is_one else "Equal in all runs")
    parent = section
    if not is_one:
        parent = SubElement(section, "details")
        count = Counter(row.section for row in rows)
        words = ", ".join(f"{n} of {title.lower()}" for title, n in count.items())
        SubElement(parent, "summary").text = words
    table = _table(parent, ("", ""))
    for title, members in groupby(rows, key=lambda row: row.section):
        head = SubElement(table, "tr", {"class": "group"})
        SubElement(head, "th", {"colspan": "2"}).text = (
            "Final metrics" if title == METRICS else title
        )
        for member in members:
            row = SubElement(table, "tr")
            _text(SubElement(row, "th", {"scope": "row"}), member.name)
            value = member.values[0]
            _text(SubElement(row, "td"), _NONE if value is None else value_text(value))


def _add_footer(body: Element, content: ReportContent) -> None:
    footer = SubElement(body, "footer", {"class": "muted"})
    ids = " ".join(reported.run.run_id for reported in content.runs[:3])
    more = " ..." if len(content.runs) > 3 else ""
    words = SubElement(footer, "p")
    words.text = "This page loads nothing from anywhere. Everything of these runs: "
    SubElement(words, "code").text = f"./mosaic archive {ids}{more}"


def _section(body: Element, title: str) -> Element:
    section = SubElement(body, "section")
    SubElement(section, "h2").text = title
    return section


def _table(parent: Element, heads: Iterable[str], numbers: frozenset[int] = frozenset()) -> Element:
    """Add a table and return its body."""
    table = SubElement(SubElement(parent, "div", {"class": "scroll"}), "table")
    row = SubElement(SubElement(table, "thead"), "tr")
    for n, head in enumerate(heads):
        attributes = {"scope": "col"} | ({"class": "n"} if n in numbers else {})
        _text(SubElement(row, "th", attributes), head)
    return SubElement(table, "tbody")


def _text(parent: Element, text: str) -> None:
    """Add a text of a user. Its direction does not change that of what is around it."""
    SubElement(parent, "bdi").text = text


def _number(value: float | None) -> str:
    return _NONE if value is None else number(value)


def _clean(root: Element) -> None:
    """Replace characters that HTML cannot hold."""
    for element in root.iter():
        if element.text:
            element.text = _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", element.text)
        for name, value in element.items():
            element.set(name, _UNSHOWN.sub("\N{REPLACEMENT CHARACTER}", value))
