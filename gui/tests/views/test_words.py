import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

VIEWS = Path(__file__).resolve().parents[2] / "src" / "mosaic_gui" / "views"
SHOWN_BY = {
    "Badge": 0,
    "QAction": 0,
    "QCheckBox": 0,
    "Segments": 0,
    "addAction": 0,
    "addMenu": 0,
    "addTab": 1,
    "button": 0,
    "label": 0,
    "setAccessibleName": 0,
    "setPlaceholderText": 0,
    "setText": 0,
    "setToolTip": 0,
    "setWindowTitle": 0,
    "set_whole": 0,
}
"""Calls that put a text on the screen, and which argument it is."""
NAMES = {"MOSAIC"}
KEYS = re.compile(r"((Ctrl|Alt|Shift)\+)+\w?")


def literals(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and text of each literal that is shown as it stands."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        place = SHOWN_BY.get(name)
        if place is None or len(node.args) <= place:
            continue
        for text in _texts(node.args[place]):
            yield node.lineno, text


def _texts(shown: ast.AST | None) -> Iterator[str]:
    """Literals of which a text is put together; what a call gives is its own business."""
    match shown:
        case ast.Constant(value=str(text)):
            yield text
        case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _texts(part)
        case ast.BinOp(left=left, right=right) | ast.IfExp(body=left, orelse=right):
            yield from _texts(left)
            yield from _texts(right)


@pytest.mark.parametrize("path", sorted(VIEWS.glob("*.py")), ids=lambda path: path.stem)
def test_what_is_read_can_be_translated(path: Path) -> None:
    """No word is put on the screen but through `tr`."""
    found = [
        f"{path.name}:{line}: {text!r}"
        for line, text in literals(ast.parse(path.read_text("utf-8")))
        if any(letter.isalpha() for letter in KEYS.sub("", text)) and text not in NAMES
    ]
    assert found == []


def test_a_literal_would_be_found() -> None:
    """The search sees words, also those between fields of a formatted text."""
    tree = ast.parse('label("Hello"); button(f"{n} runs"); label(self.tr("fine")); label("")')
    assert [text for _, text in literals(tree)] == ["Hello", " runs", ""]
