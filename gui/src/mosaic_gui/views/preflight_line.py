"""One line of a checklist before something is started."""

import re

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_contracts.preflight import PreflightLine
from mosaic_gui.state.language import mark, tr_mark
from mosaic_gui.views.text import IconLabel, label, show_reported

_TONES = {"ok": "ok", "warning": "warn", "blocking": "bad"}
_LEVELS = {"ok": mark("Fine"), "warning": mark("Warning"), "blocking": mark("Blocking")}


def preflight_line(line: PreflightLine) -> QWidget:
    """Icon, title, what was found and what to do."""
    made = QWidget()
    made.setObjectName(f"preflight.{line.id}")
    row = QHBoxLayout(made)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(9)
    picture = IconLabel(line.level, _TONES[line.level], 16)
    picture.setAccessibleName(tr_mark(_LEVELS[line.level]))
    row.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
    words = QVBoxLayout()
    words.setSpacing(2)
    title = label(line.title)
    title.setStyleSheet("font-weight: 600;")
    words.addWidget(title)
    todo = f"→ {line.todo}" if line.todo and line.level != "ok" else ""
    for text in filter(None, (line.message, todo)):
        reported = label("", "small", wraps=True)
        show_reported(reported, _breakable(text))
        words.addWidget(reported)
    row.addLayout(words, 1)
    return made


def _breakable(text: str) -> str:
    """The text with places in long words (paths, digests) where a line may end."""
    return re.sub(r"(\S{24})(?=\S)", "\\1\u200b", text)
