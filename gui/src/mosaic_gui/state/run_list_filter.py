"""Which runs are listed: those that the search finds, in the chosen states, without trials or trials alone."""

import time
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum

from mosaic_contracts.run_search import (
    MetricFigures,
    RunFacts,
    StoredFacts,
    parse_search,
)
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState, shown_state
from mosaic_gui.state.run_columns import Figures
from mosaic_gui.state.run_facts import run_facts, stored_facts

Test = Callable[[RunFacts], bool]
StoreTest = Callable[[StoredFacts, Mapping[str, MetricFigures]], bool]


class Fit(IntEnum):
    """Whether a run is shown."""

    ELSEWHERE = 0
    """It is listed at another place: trials are behind their sweep."""
    NO = 1
    """The search or the filter leaves it out."""
    YES = 2


class RunListFilter:
    """Search, states and sweep of the list, with the result for each run that was tested."""

    def __init__(self) -> None:
        self.search = parse_search("")
        self.sweeps: tuple[str, ...] = ()
        """Run ids of a sweep and of those that it goes on with, whose trials are listed alone; empty: trials are behind
        their sweeps."""
        self.parameters: set[str] = set()
        """Names of the parameters of all runs that were tested."""
        self._resolved = self.search
        self._test: Test | None = None
        self._store_test: StoreTest | None = None
        self._states: frozenset[RunState] = frozenset(RunState)
        self._fits: dict[str, Fit] = {}
        self._facts: dict[str, RunFacts] = {}

    def set_search(self, text: str) -> bool:
        """Let only runs through that a search finds.

        Returns:
            Whether it needs metrics that the search before it did not need.

        Raises:
            SearchError: it cannot be understood; nothing changes.
        """
        search = parse_search(text)
        resolved = search.with_parameters(self.parameters, strict=bool(self.parameters))
        before = self.search.metrics
        self.search, self._resolved = search, resolved
        record = resolved.of_record
        self._test = record.record_test(time.time()) if record else None
        self._store_test = resolved.store_test() if resolved.of_store else None
        self.test_again()
        return bool(search.metrics - before)

    def set_states(self, states: Iterable[RunState]) -> None:
        """Let only runs in these states through."""
        self._states = frozenset(states)
        self.test_again()

    def set_sweep(self, sweep: str, runs: Mapping[str, RunView]) -> None:
        """Let the trials of a sweep and of those that it goes on with through; empty: all runs but trials."""
        found: list[str] = []
        while sweep and sweep not in found:
            found.append(sweep)
            run = runs.get(sweep)
            searched = run.spec.sweep if run is not None else None
            sweep = (searched.continues or "") if searched is not None else ""
        self.sweeps = tuple(found)
        self.test_again()

    def known_fit(self, run_id: str) -> Fit | None:
        """The result for a run; None: it was not tested since something changed."""
        return self._fits.get(run_id)

    def test(self, run: RunView, figures: Figures) -> Fit:
        """Test a run, and keep the result.

        Args:
            run: The run, as it is now.
            figures: Figures of metrics, as far as they were read.
        """
        self.parameters.update(run.spec.parameters, run.defaults)
        fit = Fit.ELSEWHERE
        if self._is_here(run):
            fit = Fit.YES if self._is_fitting(run, figures) else Fit.NO
        self._fits[run.run_id] = fit
        return fit

    def test_again(self) -> None:
        """Forget all results."""
        self._fits.clear()

    def forget(self, run_id: str) -> None:
        """Forget what was found about a run that changed or was removed."""
        self._fits.pop(run_id, None)
        self._facts.pop(run_id, None)

    def _is_here(self, run: RunView) -> bool:
        """Whether a run is listed: forty trials would bury the runs between them."""
        if self.sweeps:
            return run.trial is not None and run.spec.parent in self.sweeps
        return run.trial is None

    def _is_fitting(self, run: RunView, figures: Figures) -> bool:
        if shown_state(run.state, run.started_at) not in self._states:
            return False
        if self._test is not None:
            facts = self._facts.get(run.run_id)
            if facts is None:
                facts = self._facts[run.run_id] = run_facts(run)
            if not self._test(facts):
                return False
        if self._store_test is None:
            return True
        known = {
            name: by_run[run.run_id] for name, by_run in figures.items() if run.run_id in by_run
        }
        return self._store_test(stored_facts(run), known)
