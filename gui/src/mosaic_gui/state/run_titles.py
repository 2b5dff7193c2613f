"""Titles of the runs that are shown: each says what sets a run apart from the others."""

from mosaic_contracts.run_names import NamesInSight
from mosaic_contracts.runs import RunView


class RunTitles:
    """Titles among the runs that are shown, kept until one of them reads otherwise."""

    def __init__(self) -> None:
        self._names = NamesInSight()
        self._titles: dict[str, str] = {}

    def title(self, run: RunView) -> str:
        """The run by what sets it apart; its environment is below."""
        known = self._titles.get(run.run_id)
        if known is None:
            known = self._titles[run.run_id] = self._names.name(run, environments=False)
        return known

    def show(self, run: RunView, is_shown: bool) -> None:
        """Count a run among those whose titles must differ, or no longer."""
        is_renamed = self._names.add(run) if is_shown else self._names.remove(run.run_id)
        if is_renamed:
            self._titles.clear()

    def read_again(self, run_id: str) -> None:
        """Make the title of a changed run again."""
        self._titles.pop(run_id, None)

    def forget(self, run_id: str) -> None:
        """Forget a removed run."""
        self._names.forget(run_id)
        self._titles.clear()
