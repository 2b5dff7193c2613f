"""Sweeps as they are listed: name, progress, and the best value."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mosaic_contracts.choices import RunKind
from mosaic_contracts.runs import RunView
from mosaic_contracts.sweeps import SweepView, TrialState
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.trial_words import BAD_STATES, objective_value


@dataclass(frozen=True)
class SweepRow:
    """One sweep in the list."""

    run: RunView
    done: int | None = None
    """Trials that have ended; None: not known yet."""
    total: int | None = None
    """Trials of the budget."""
    bad: int = 0
    """Trials that failed, crashed or were stopped."""
    best: float | None = None

    @property
    def name(self) -> str:
        """Its display name."""
        return self.run.spec.name or self.run.name

    @property
    def progress(self) -> str:
        """`12 of 40`."""
        if self.done is None or self.total is None:
            return ""
        return tr(
            "{done} of {total}", done=wording.count(self.done), total=wording.count(self.total)
        )

    @property
    def fraction(self) -> float:
        """Share of the budget's trials that have ended."""
        return min(1.0, (self.done or 0) / self.total) if self.total else 0.0

    @property
    def about(self) -> str:
        """Progress, trials without a result, and the best value."""
        parts = [self.progress] if self.progress else []
        if self.best is not None:
            parts.append(tr("best {value}", value=wording.number(self.best)))
        if self.bad:
            parts.append(without_result(self.bad))
        return " · ".join(parts)

    @property
    def spoken(self) -> str:
        """All of it in a line, for screen readers."""
        return ", ".join(
            part for part in (self.name, run_row.badge(self.run)[0], self.about) if part
        )


def without_result(count: int) -> str:
    """A number of trials that failed, crashed or were stopped."""
    return tr_n("{n} without result", "{n} without result", count)


def sweep_row(run: RunView, view: SweepView | None) -> SweepRow:
    """What is listed of a sweep. `view`: as it was read last."""
    if view is None:
        known = run.progress is not None
        return SweepRow(run, run.step if known else None, run.total_steps if known else None)
    counts: Mapping[TrialState, int] = view.counts
    best = objective_value(view.best[0]) if view.best and len(view.sweep.objectives) == 1 else None
    return SweepRow(
        run,
        done=sum(count for state, count in counts.items() if state.is_final),
        total=view.sweep.most_trials,
        bad=sum(count for state, count in counts.items() if state in BAD_STATES),
        best=best,
    )


def sweeps_in(runs: Iterable[RunView]) -> list[RunView]:
    """The sweeps among some runs, the newest first."""
    found = [run for run in runs if run.spec.kind is RunKind.SWEEP]
    return sorted(found, key=lambda run: run.run_id, reverse=True)
