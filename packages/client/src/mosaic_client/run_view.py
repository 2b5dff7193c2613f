"""Runs as this client gives them: the contract's models, shown as tables in a notebook."""

from datetime import datetime
from typing import Any

from mosaic_client.markup import table_html
from mosaic_contracts.runs import RunPage, RunSummary, RunView

_HEADER = ("run", "name", "state", "step", "episodes", "last return", "best return", "created")


class Run(RunView):
    """A run, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        spec = self.spec
        rows: list[tuple[str, Any]] = [
            ("id", self.run_id),
            ("state", _state(self)),
            ("asked for", f"{spec.worker} {spec.algorithm} {spec.environment}, seed {spec.seed}"),
            ("parameters", ", ".join(f"{k}={v}" for k, v in spec.parameters.items()) or None),
            ("tags", ", ".join(self.tags) or None),
            ("note", self.note or None),
            ("created", _moment(self.created_at)),
        ]
        if self.summary is not None:
            found = self.summary
            rows += [
                ("step", f"{found.global_step} of {spec.steps or 'the default'}"),
                ("episodes", _episodes(found)),
                ("return, last", found.last_return),
                ("return, best", found.best_return),
                ("return, mean of 20", found.mean_return),
            ]
        rows += [("note of the stack", note) for note in self.notes]
        shown = [row for row in rows if row[1] is not None]
        return table_html(("", ""), shown, self.name)


class StartedReplay(Run):
    """A replay as `Client.replay` answers."""

    is_new: bool = True
    """False: it was there already, because another program asked for the same episode, and serves both."""


class RunList(RunPage):
    """One page of the run list, which a notebook shows as a table."""

    runs: list[Run]  # type: ignore[assignment]  # lists are invariant; this one is only read

    def _repr_html_(self) -> str:
        more = ", and more" if self.next_cursor else ""
        return table_html(_HEADER, [_row(run) for run in self.runs], f"{len(self.runs)} runs{more}")


def _row(run: RunView) -> tuple[Any, ...]:
    found = run.summary
    figures = (
        (None,) * 4
        if found is None
        else (found.global_step, _episodes(found), found.last_return, found.best_return)
    )
    return (run.run_id, run.name, _state(run), *figures, _moment(run.created_at))


def _episodes(found: RunSummary) -> str | int:
    if not found.is_sample:
        return found.episodes
    return f"{found.episodes_played} ({found.episodes} recorded, returns are theirs)"


def _state(run: RunView) -> str:
    if run.end is not None:
        return f"{run.state.value}: {run.end.message}" if run.end.message else run.state.value
    return f"{run.state.value}: {run.waiting_reason}" if run.waiting_reason else run.state.value


def _moment(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S %Z}"
