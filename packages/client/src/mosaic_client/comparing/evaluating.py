"""Evaluations of the actors: those that are there already, and new runs that are followed side by side."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Protocol

from mosaic_client.async_client import AsyncClient
from mosaic_client.client import Client
from mosaic_client.comparing.actors import ComparedActor
from mosaic_client.errors import MosaicProblem
from mosaic_client.evaluations import random_spec, read_result
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


class EvaluationObserver(Protocol):
    """Learns how far the evaluations are. Numbers are places in the list that was given to `begun`."""

    def begun(self, evaluations: Sequence[ActorEvaluation]) -> None:
        """Take the evaluations: started, reused, or with the problem of one that could not be started."""
        ...

    def moved(self, number: int, run: RunView, episodes: int) -> None:
        """Take the state of a run, and how many of its episodes have ended."""
        ...

    def ended(self, number: int, run: RunView, episodes: int) -> None:
        """Take the end of a run."""
        ...


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
    observer: EvaluationObserver,
    evaluations: list[ActorEvaluation],
    *,
    again: bool,
) -> None:
    """Evaluate the actors; what cannot be started or fails is said in its evaluation.

    Args:
        client: of the stack.
        actors: those without recorded episodes.
        plan: how many episodes, from which seed.
        options: arguments of the environment, for random actions.
        observer: learns how far it is.
        evaluations: gets one for each actor, also where this is interrupted, so that the caller can stop them.
        again: whether earlier evaluations are left out.

    Raises:
        ClientError: the stack does not answer. The runs go on.
    """
    for actor in actors:
        earlier = None if again else find_earlier(client, actor, plan, options)
        evaluations.append(earlier or _started(client, actor, plan, options))
    observer.begun(evaluations)
    if any(_is_awaited(each) for each in evaluations):
        asyncio.run(_follow_all(client, evaluations, observer))


def started_runs(evaluations: Sequence[ActorEvaluation]) -> list[str]:
    """Return the ids of the runs that were started for this comparison."""
    return [each.run.run_id for each in evaluations if each.run is not None and _is_awaited(each)]


def _is_awaited(evaluation: ActorEvaluation) -> bool:
    return evaluation.run is not None and not evaluation.is_reused


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
        return ActorEvaluation(actor, problem=_problem_text(error))


def _problem_text(error: MosaicProblem) -> str:
    lines = [str(error)]
    for field in error.problem.fields:
        message = str(field.get("message", ""))
        if message not in lines[0]:
            lines.append(f"{field.get('where')}: {message}")
    return " ".join(lines)


async def _follow_all(
    client: Client, evaluations: Sequence[ActorEvaluation], observer: EvaluationObserver
) -> None:
    async with AsyncClient(client.location) as stack:
        tasks = [
            asyncio.ensure_future(_follow(stack, evaluation, observer, number))
            for number, evaluation in enumerate(evaluations)
            if _is_awaited(evaluation)
        ]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(
    stack: AsyncClient, evaluation: ActorEvaluation, observer: EvaluationObserver, number: int
) -> None:
    assert evaluation.run is not None  # noqa: S101 - the caller chose those that have one
    run_id, done = evaluation.run.run_id, 0
    async with aclosing(stack.follow(run_id, "", ["episode"])) as items:
        async for item in items:
            if isinstance(item, Events):
                done += len(item.events)
            elif isinstance(item, Snapshot | RunChanged):
                evaluation.run = item.run
            observer.moved(number, evaluation.run, done)
    evaluation.run = await stack.run(run_id)
    observer.ended(number, evaluation.run, done)


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
