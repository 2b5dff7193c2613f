"""Which colour is which run."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLabel

from mosaic_gui.plots.curve_items import series_colour
from mosaic_gui.theme.current import on_theme


class Legend(QLabel):
    """One line of dots and names; hidden where there is one run only."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("legend")
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setWordWrap(True)
        self.setProperty("kind", "muted")
        self._runs: list[tuple[str, int]] = []
        on_theme(self, lambda: self.show_runs(self._runs))

    def show_runs(self, runs: list[tuple[str, int]]) -> None:
        """Label and colour index of each run."""
        self._runs = runs
        dots = (
            f"<span style='color:{series_colour(n)}; font-size:15px'>●</span>&nbsp;{_plain(name)}"
            for name, n in runs
        )
        self.setText(" &nbsp;&nbsp; ".join(dots))
        self.setVisible(bool(runs))


def _plain(name: str) -> str:
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(" ", "&nbsp;")
