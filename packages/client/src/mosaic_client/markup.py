"""What a notebook shows of runs and tables: HTML in which every word of a user or worker is escaped."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_CELL = 'style="text-align:left;vertical-align:top"'


def table_html(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return plain values as an HTML table."""
    head = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{escape(words(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    title = f"<caption {_CELL}>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def words(value: Any) -> str:
    """Return a value as short text; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


_LONGEST = 300
