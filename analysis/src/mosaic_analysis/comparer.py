"""`python -m mosaic_analysis.comparer`: a whole comparison for a window (`mosaic_contracts.comparison_orders`)."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mosaic_base.one_order import (
    FAILED,
    INTERRUPTED,
    interrupt_at_signals,
    leave,
    read_order,
    report,
)
from mosaic_client import Client, ClientError, MosaicProblem, connect
from mosaic_client.comparing.evaluating import ActorEvaluation, started_runs
from mosaic_client.comparing.policies import PolicyComparison
from mosaic_client.comparing.trainings import find_trainings, training_document
from mosaic_contracts.comparison_orders import (
    ActorProgress,
    ComparerLine,
    ComparisonOrder,
    PolicyOrder,
    TrainingOrder,
)
from mosaic_contracts.comparisons import ActorsDocument, TrainingDocument
from mosaic_contracts.runs import RunView

_EVERY_S = 0.2
"""Least time between two lines of progress."""


def main() -> None:
    """Make one comparison. A fault is one line with `problem` on stdout and exit code 1."""
    interrupt_at_signals()  # a window that a script started in the background has given it SIGINT ignored
    folder = Path()
    try:
        order = read_order(ComparisonOrder.model_validate_json, "A ComparisonOrder")
        folder = Path(order.folder)
        folder.mkdir(parents=True, exist_ok=True)
        stack = order.stack
        with connect(stack.url, token=stack.token, ca_file=stack.ca_file) as client:
            _compare(client, order.comparison, folder)
    except ClientError as problem:
        _fail(str(problem))
    except OSError as error:
        _fail(f"{error.filename or folder} cannot be written ({error.strerror or error}).")
    except KeyboardInterrupt:
        leave(INTERRUPTED)


def _compare(client: Client, asked: PolicyOrder | TrainingOrder, folder: Path) -> None:
    if isinstance(asked, TrainingOrder):
        runs = find_trainings(client, asked.runs, [])
        document = training_document(client, runs, asked.thresholds, asked.score_ranges)
        _analyse(document, folder, [])
        return
    comparison = PolicyComparison(asked.plan, asked.again)
    try:
        gathered = comparison.gather(client, _Talk())
    except KeyboardInterrupt:
        # a second signal must not interrupt this
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _stop(client, comparison.evaluations)
        raise
    _analyse(gathered, folder, comparison.left_out)


def _analyse(
    document: ActorsDocument | TrainingDocument, folder: Path, left_out: Sequence[str]
) -> None:
    _say(ComparerLine(analysing=True))
    # scipy and matplotlib take seconds to import
    from mosaic_analysis.actors import compare_actors
    from mosaic_analysis.files import write_files
    from mosaic_analysis.trainings import compare_groups

    if isinstance(document, ActorsDocument):
        policies = compare_actors(document)
        write_files(policies, folder, dark=True)
        _say(ComparerLine(policies=policies, left_out=list(left_out)))
        return
    training = compare_groups(document)
    write_files(training, folder, dark=True)
    _say(ComparerLine(training=training))


def _stop(client: Client, evaluations: Sequence[ActorEvaluation]) -> None:
    for run_id in started_runs(evaluations):
        try:
            client.stop(run_id)
        except MosaicProblem:
            if not client.run(run_id).state.is_final:
                raise  # an end before the stop is what was wanted


class _Talk:
    """Reports the evaluations, a few times a second and at each end."""

    def __init__(self) -> None:
        self._rows: list[ActorProgress] = []
        self._said = ""
        self._next_s = 0.0

    def begun(self, evaluations: Sequence[ActorEvaluation]) -> None:
        """Report all of them."""
        self._rows = [
            ActorProgress(
                name=each.actor.name,
                run_id=None if each.run is None else each.run.run_id,
                state="" if each.run is None else each.run.state.value,
                is_reused=each.is_reused,
                problem=each.problem,
            )
            for each in evaluations
        ]
        self._report(now=True)

    def moved(self, number: int, run: RunView, episodes: int) -> None:
        """Report how far a run is."""
        row = self._rows[number]
        waits = f": {run.waiting_reason}" if run.waiting_reason and not run.state.is_final else ""
        row.state, row.episodes = f"{run.state.value}{waits}", episodes
        self._report()

    def ended(self, number: int, run: RunView, episodes: int) -> None:
        """Report the end of a run."""
        self.moved(number, run, episodes)
        self._report(now=True)

    def _report(self, *, now: bool = False) -> None:
        if now or time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _EVERY_S
            line = _text(ComparerLine(progress=self._rows))
            if line != self._said:
                self._said = line
                report(line)


def _say(line: ComparerLine) -> None:
    report(_text(line))


def _text(line: ComparerLine) -> str:
    return line.model_dump_json(exclude_defaults=True)


def _fail(text: str) -> NoReturn:
    _say(ComparerLine(problem=text))
    leave(FAILED)  # connections may still be open


if __name__ == "__main__":
    main()
