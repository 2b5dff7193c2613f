"""How far a script is, from the progress bars of tqdm and rich."""

from __future__ import annotations

import time
from typing import Any

from mosaic_hook.reporter import Reporter

_EVERY_S = 1.0


class HeardBars:
    """Reports the outermost progress bar of this process.

    A script shows one bar for all of its work, or one after the other. A bar that is followed by one of another length
    was a preparation: the newest counts. A bar that begins again, or is followed by one of the same length, counts an
    epoch: then nothing is known of the whole, and none counts any more.

    Args:
        library: `tqdm` or `rich`.
    """

    def __init__(self, reporter: Reporter, library: str) -> None:
        self._reporter = reporter
        self._library = library
        self._bar = 0
        self._total = 0.0
        self._done = 0.0
        self._is_series = False
        self._reported_at = 0.0

    def show(self, bar: int, done: float, total: float | None) -> None:
        """Take the state of a bar.

        Args:
            bar: identity of the bar.
            done: what it has counted.
            total: up to which it counts; None: not known.
        """
        if self._is_series or not total or total <= 1:
            return
        is_same = bar == self._bar
        begins_again = is_same and done < self._done
        if begins_again or (not is_same and self._done > 0 and total == self._total):
            self._withdraw()
        else:
            self._bar, self._total, self._done = bar, float(total), float(done)
            now = time.monotonic()
            if done and now - self._reported_at > _EVERY_S:
                self._reported_at = now
                self._reporter.heard(self._library)
                self._reporter.add({"type": "progress", "done": int(done), "total": int(total)})

    def _withdraw(self) -> None:
        self._is_series = True
        if self._reported_at:
            self._reporter.add({"type": "progress", "done": 0, "total": None})


def listen_to_tqdm(reporter: Reporter, module: Any) -> None:
    """Hear what a bar of tqdm shows, each time it is drawn again; one inside another is left out."""
    bars = HeardBars(reporter, "tqdm")

    def drawn(_result: Any, bar: Any, *_: Any, **__: Any) -> None:
        if not bar.disable and not getattr(bar, "pos", 0):
            bars.show(id(bar), bar.n, bar.total)

    reporter.replace(module.tqdm, "refresh", "tqdm", after=drawn)


def listen_to_rich(reporter: Reporter, module: Any) -> None:
    """Hear the first task of rich's `Progress`, also that of `track`."""
    bars = HeardBars(reporter, "rich")

    def moved(_result: Any, progress: Any, task_id: Any, *_: Any, **__: Any) -> None:
        task = progress.tasks[0] if progress.tasks else None
        if task is not None and task.id == task_id:
            bars.show(id(progress), task.completed, task.total)

    reporter.replace(module.Progress, "advance", "rich", after=moved)
    reporter.replace(module.Progress, "update", "rich", after=moved)
