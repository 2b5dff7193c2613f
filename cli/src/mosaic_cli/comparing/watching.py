"""Evaluations in the terminal: a bar for each, and what is said of them."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskID, TextColumn

from mosaic_cli.output import err, say
from mosaic_cli.stopping import stop_all
from mosaic_client import Client, reading
from mosaic_client.comparing.evaluating import ActorEvaluation, started_runs
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState


class EvaluationBars:
    """A bar for each evaluation where there is a terminal, else a line at each end."""

    def __init__(self, bar: Progress, episodes: int) -> None:
        self._bar, self._episodes = bar, episodes
        self._names: list[str] = []
        self._tasks: dict[int, TaskID] = {}

    def begun(self, evaluations: Sequence[ActorEvaluation]) -> None:
        """Say which were made before, and show a bar for each other one."""
        self._names = [each.actor.name for each in evaluations]
        for number, each in enumerate(evaluations):
            if each.run is None:
                continue
            if each.is_reused:
                say(
                    f"{each.actor.name}: {each.run.run_id} acted on these seeds before. --again does it again."
                )
            else:
                total = self._episodes
                self._tasks[number] = self._bar.add_task("", name=each.actor.name, total=total)

    def moved(self, number: int, run: RunView, episodes: int) -> None:
        """Show how far a run is."""
        words = run.state.value
        if run.state is RunState.QUEUED and run.waiting_reason:
            words += f": {run.waiting_reason}"
        text = words if not episodes else f"{episodes} of {self._episodes} episodes"
        self._bar.update(self._tasks[number], completed=episodes, description=text)

    def ended(self, number: int, run: RunView, episodes: int) -> None:
        """Show or say how a run ended."""
        self.moved(number, run, episodes)
        if not err.is_terminal:
            count = f"{episodes} of {self._episodes} episodes"
            say(f"{self._names[number]}: {run.run_id} {run.state.value}, {count}.")


@contextmanager
def evaluation_bars(episodes: int) -> Iterator[EvaluationBars]:
    """Show bars while the block runs."""
    columns = (
        TextColumn("{task.fields[name]}", markup=False),
        BarColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield EvaluationBars(bar, episodes)


def stop_evaluations(client: Client, evaluations: Sequence[ActorEvaluation]) -> None:
    """Stop the runs that were started."""
    say("Stopping the evaluations ...")
    runs = [reading.run(client, run_id) for run_id in started_runs(evaluations)]
    stop_all(client, [run for run in runs if not run.state.is_final])


def say_going_on(evaluations: Sequence[ActorEvaluation]) -> None:
    """Say which runs go on although the stack is not heard of any more."""
    ids = started_runs(evaluations)
    if ids:
        say(
            f"The evaluations that were started go on: {', '.join(ids)}. The same command takes the results of those "
            "that have ended by then."
        )
