"""Evaluations of the actors: those that are there already, and new runs that are followed side by side."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any

from mosaic_cli.comparing.actors import ComparedActor
from mosaic_cli.evaluations import random_spec, read_result
from mosaic_cli.output import err, say
from mosaic_cli.stopping import stop_all
from mosaic_client import AsyncClient, Client, MosaicProblem, reading
from mosaic_client.errors import ClientError
from mosaic_contracts.comparisons import ComparisonFile
from mosaic_contracts.evaluations import EvaluationResult
from mosaic_contracts.live import Events, RunChanged, Snapshot
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState


@dataclass
class ActorEvaluation:
    """The run that evaluates one actor."""

    actor: ComparedActor
    run: RunView | None = None
    """None: it could not be started."""
    is_reused: bool = False
    problem: str = ""
    """Why there is none; empty: there is one."""


def find_earlier(
    client: Client, actor: ComparedActor, plan: ComparisonFile, options: dict[str, Any]
) -> ActorEvaluation | None:
    """Find a finished evaluation of exactly this checkpoint, or of random actions, on exactly these seeds.

    None: there is none.
    """
    expected = list(range(plan.seed, plan.seed + plan.episodes))
    for run in _earlier_runs(client, actor, plan, options):
        if (run.spec.seed, run.spec.episodes) != (plan.seed, plan.episodes):
            continue
        result = read_result(client, run)
        wanted = None if actor.policy is None else actor.policy.sha256
        if result is not None and (result.checkpoint_sha256, result.seeds) == (wanted, expected):
            return ActorEvaluation(actor, run, is_reused=True)
    return None


def _earlier_runs(
    client: Client, actor: ComparedActor, plan: ComparisonFile, options: dict[str, Any]
) -> Iterator[RunView]:
    done = RunState.SUCCEEDED.value
    if actor.run is None:
        spec = random_spec(actor.environment, plan.episodes, plan.seed, options)
        for run in client.each_run(
            done,
            kind="evaluate",
            worker=spec.worker,
            algorithm=spec.algorithm,
            environment=spec.environment,
        ):
            if run.spec.parameters == spec.parameters:
                yield run
    elif actor.policy is not None and actor.policy.sha256 is not None:
        for run in client.each_run(done, kind="evaluate", parent=actor.run.run_id):
            if bool(run.spec.parameters.get("sampled")) == actor.sampled:
                yield run


def evaluate_all(
    client: Client,
    actors: Sequence[ComparedActor],
    plan: ComparisonFile,
    options: dict[str, Any],
    *,
    again: bool,
) -> list[ActorEvaluation]:
    """Evaluate the actors; what cannot be started or fails is said in its evaluation.

    Args:
        client: of the stack.
        actors: those without recorded episodes.
        plan: how many episodes, from which seed.
        options: arguments of the environment, for random actions.
        again: whether earlier evaluations are left out.

    Raises:
        KeyboardInterrupt: Ctrl-C. The runs that were started have been stopped.
        ClientError: the stack does not answer. They go on.
    """
    evaluations: list[ActorEvaluation] = []
    try:
        for actor in actors:
            earlier = None if again else find_earlier(client, actor, plan, options)
            evaluations.append(earlier or _started(client, actor, plan, options))
        for each in evaluations:
            if each.is_reused and each.run is not None:
                say(
                    f"{each.actor.name}: {each.run.run_id} acted on these seeds before. --again does it again."
                )
        waiting = [each for each in evaluations if each.run is not None and not each.is_reused]
        if waiting:
            asyncio.run(_follow_all(client, waiting, plan.episodes))
    except KeyboardInterrupt:
        _stop(client, evaluations)
        raise
    except ClientError:
        _say_going_on(evaluations)
        raise
    return evaluations


def _started(
    client: Client, actor: ComparedActor, plan: ComparisonFile, options: dict[str, Any]
) -> ActorEvaluation:
    try:
        if actor.run is None or actor.policy is None:
            spec = random_spec(actor.environment, plan.episodes, plan.seed, options)
            return ActorEvaluation(actor, client.submit(spec))
        run = client.play(
            actor.run.run_id,
            actor.policy.path,
            kind="evaluate",
            episodes=plan.episodes,
            seed=plan.seed,
            parameters={"sampled": True} if actor.sampled else {},
        )
        return ActorEvaluation(actor, run)
    except MosaicProblem as error:
        from mosaic_cli.main import problem_text

        return ActorEvaluation(actor, problem=problem_text(error.problem))


async def _follow_all(client: Client, waiting: Sequence[ActorEvaluation], episodes: int) -> None:
    try:
        with _bars(waiting, episodes) as progress:
            async with AsyncClient(client.location) as stack, asyncio.TaskGroup() as tasks:
                for number, evaluation in enumerate(waiting):
                    tasks.create_task(_follow(stack, evaluation, progress, number))
    except ExceptionGroup as faults:
        raise faults.exceptions[0] from faults  # the same for each run: the stack does not answer


async def _follow(
    stack: AsyncClient, evaluation: ActorEvaluation, progress: "_Bars", number: int
) -> None:
    assert evaluation.run is not None  # noqa: S101 - the caller chose those that have one
    run_id, done = evaluation.run.run_id, 0
    async with aclosing(stack.follow(run_id, "", ["episode"])) as items:
        async for item in items:
            if isinstance(item, Events):
                done += len(item.events)
            elif isinstance(item, Snapshot | RunChanged):
                evaluation.run = item.run
            progress.show(number, evaluation.run, done)
    evaluation.run = await stack.run(run_id)
    progress.finish(number, evaluation.run, done)


class _Bars:
    """A bar for each evaluation where there is a terminal, else a line at each end."""

    def __init__(self, bar: Any, evaluations: Sequence[ActorEvaluation], episodes: int) -> None:
        self._bar, self._names = bar, [each.actor.name for each in evaluations]
        self._episodes = episodes
        self._tasks = [bar.add_task("", name=name, total=episodes) for name in self._names]

    def show(self, number: int, run: RunView, done: int) -> None:
        words = run.state.value
        if run.state is RunState.QUEUED and run.waiting_reason:
            words += f": {run.waiting_reason}"
        text = words if not done else f"{done} of {self._episodes} episodes"
        self._bar.update(self._tasks[number], completed=done, description=text)

    def finish(self, number: int, run: RunView, done: int) -> None:
        self.show(number, run, done)
        if not err.is_terminal:
            episodes = f"{done} of {self._episodes} episodes"
            say(f"{self._names[number]}: {run.run_id} {run.state.value}, {episodes}.")


@contextmanager
def _bars(evaluations: Sequence[ActorEvaluation], episodes: int) -> Iterator[_Bars]:
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.fields[name]}", markup=False),
        BarColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        yield _Bars(bar, evaluations, episodes)


def _stop(client: Client, evaluations: Sequence[ActorEvaluation]) -> None:
    """Stop the runs that were started."""
    say("Stopping the evaluations ...")
    ids = [each.run.run_id for each in evaluations if each.run is not None and not each.is_reused]
    live = [
        run for run in (reading.run(client, run_id) for run_id in ids) if not run.state.is_final
    ]
    stop_all(client, live)


def _say_going_on(evaluations: Sequence[ActorEvaluation]) -> None:
    ids = [each.run.run_id for each in evaluations if each.run is not None and not each.is_reused]
    if ids:
        say(
            f"The evaluations that were started go on: {', '.join(ids)}. The same command takes the results of those "
            "that have ended by then."
        )


def result_of(client: Client, evaluation: ActorEvaluation) -> EvaluationResult | None:
    """Read the result of an evaluation; where there is none, its `problem` says why."""
    run = evaluation.run
    if run is None:
        return None
    result = read_result(client, run)
    if result is not None and result.returns:
        return result
    how = run.state.value if run.end is None else run.end.message.rstrip(".")
    evaluation.problem = (
        f"{run.run_id} recorded no complete episode: {how}. `./mosaic logs {run.run_id}` shows what "
        "it printed."
    )
    return None
