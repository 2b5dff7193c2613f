"""The dry run: the exact command that would start, to read, copy and save with the run."""

from html import escape

from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QTextEdit, QVBoxLayout, QWidget

from mosaic_contracts.preflight import PreflightReport
from mosaic_gui.state.dry_run import plan_sections, plan_text
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current, on_theme
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.text import button, replace_html


class PlanView(QWidget):
    """Shows the plan of the newest preflight."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setObjectName("preflight.plan")
        self._model = model
        self._is_shown = False
        self._html = ""
        self.text = QTextEdit()
        self.text.setReadOnly(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setTabChangesFocus(True)
        if (document := self.text.document()) is not None:
            document.setDocumentMargin(12)
        self.keep = QCheckBox(tr("Save it with the run"))
        self.keep.setObjectName("plan.keep")
        self.keep.setChecked(model.keeps_plan)
        self.copy = button(tr("Copy"), "quiet", "plan.copy")
        foot = QHBoxLayout()
        foot.setContentsMargins(14, 0, 10, 0)
        foot.addWidget(self.keep)
        foot.addStretch(1)
        foot.addWidget(self.copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 4)
        layout.setSpacing(2)
        layout.addWidget(self.text, 1)
        layout.addLayout(foot)
        on_theme(self, self._colour_again)
        self.keep.toggled.connect(lambda on: setattr(model, "keeps_plan", on))
        self.copy.clicked.connect(self._copy)

    def set_shown(self, shown: bool) -> None:
        """Note whether it is visible."""
        self._is_shown = shown
        self.refresh()

    def refresh(self) -> None:
        """The plan as it is now."""
        report = self._model.report
        has_plan = report is not None and bool(report.plan) and not self._model.faults
        self.copy.setEnabled(has_plan)
        if not self._is_shown:
            return
        if report is not None and has_plan:
            self._model.plan_seen = True
            html = _page(report)
        else:
            html = f"<p>{escape(self._why_none())}</p>"
        if html != self._html:
            self._html = html
            self.text.setHtml(html)

    def _colour_again(self) -> None:
        report = self._model.report
        if report is not None and self._html and report.plan:
            self._html = _page(report)
            replace_html(self.text, self._html)

    def _why_none(self) -> str:
        if self._model.faults:
            return tr("The plan is made when the form is valid.")
        if self._model.is_checking:
            return tr("Asking the worker for its plan …")
        return tr("There is no plan. The checks say why.")

    def _copy(self) -> None:
        clipboard = QGuiApplication.clipboard()
        if clipboard is not None and self._model.report is not None:
            clipboard.setText(plan_text(self._model.report))


def _page(report: PreflightReport) -> str:
    return "".join(_section(title, text) for title, text in plan_sections(report))


def _section(title: str, text: str) -> str:
    # a path has no blanks to break a line at: it may break anywhere
    lines = escape(text).replace("  ", "&nbsp; ").replace("\n", "<br>")
    return (
        f'<p style="margin:10px 0 3px 0; color:{current().muted}; font-size:12px; font-weight:600">{escape(title)}</p>'
        f'<p style="margin:0; font-family:monospace; font-size:11px">{lines}</p>'
    )
