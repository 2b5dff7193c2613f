"""A comparison that is being put together: actors, seeds, and what is in the way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mosaic_contracts.choices import BEST, LAST, RunKind
from mosaic_contracts.comparison_orders import PolicyOrder, TrainingOrder
from mosaic_contracts.comparisons import ENOUGH_SEEDS, MOST_ACTORS, ActorWish, ComparisonFile
from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.language import tr, tr_n

LEAST_DECIDABLE = 6
"""With fewer pairs there is never a verdict (`PairStatistics.is_decidable`)."""


@dataclass(frozen=True)
class DraftActor:
    """One actor; without a run: random actions."""

    run_id: str = ""
    title: str = ""
    environment: str = ""
    is_recorded: bool = False
    """Whether the recorded episodes of the run are compared, and no checkpoint acts."""
    may_sample: bool = False
    checkpoint: str = LAST
    """`best`, `last`, or a path."""
    sampled: bool = False

    @property
    def wish(self) -> ActorWish:
        """The same for the comparer."""
        if not self.run_id:
            return ActorWish(random=True)
        if self.is_recorded:
            return ActorWish(run=self.run_id)
        return ActorWish(run=self.run_id, checkpoint=self.checkpoint, sampled=self.sampled)


def actor_of(run: RunView, *, may_sample: bool) -> DraftActor:
    """The actor that a run is: its recorded episodes where it plays, else its newest checkpoint."""
    title = f"{run_row.subtitle(run)} · …{run.run_id[-4:]}"
    return DraftActor(
        run.run_id,
        title,
        run.spec.environment,
        is_recorded=run.spec.kind.plays,
        may_sample=may_sample and not run.spec.kind.plays,
    )


def can_act(run: RunView) -> bool:
    """Whether a run can be compared: it has checkpoints, or recorded episodes of a play."""
    summary = run.summary
    if run.spec.kind.plays:
        return summary is not None and summary.episodes > 0
    return run.spec.kind is not RunKind.REPLAY and summary is not None and summary.checkpoints > 0


@dataclass
class ComparisonDraft:
    """What is compared."""

    actors: tuple[DraftActor, ...] = ()
    episodes: int = ENOUGH_SEEDS
    seed: int = 1
    again: bool = False

    @property
    def environment(self) -> str:
        """The environment of the actors; empty: none has one."""
        return next((actor.environment for actor in self.actors if actor.environment), "")

    @property
    def obstacle(self) -> str:
        """Why it cannot be started; empty: it can."""
        if len(self.actors) < 2:
            return tr("Add at least two actors.")
        if len(self.actors) > MOST_ACTORS:
            return tr("At most {n} actors are compared.", n=MOST_ACTORS)
        names = {actor.environment for actor in self.actors if actor.environment}
        if len(names) > 1:
            return tr(
                "Actors are compared in one environment: {names}.", names=", ".join(sorted(names))
            )
        if not names:
            return tr("Add a run: random actions alone have no environment.")
        if len({actor.wish.model_dump_json() for actor in self.actors}) < len(self.actors):
            return tr("Two actors are the same.")
        return ""

    @property
    def caution(self) -> str:
        """What is to be known of the number of seeds; empty: they are enough."""
        if self.episodes < LEAST_DECIDABLE:
            return tr("Too few seeds for a verdict: at least {n} are needed.", n=LEAST_DECIDABLE)
        if self.episodes < ENOUGH_SEEDS:
            return tr(
                "With fewer than {n} seeds intervals are too narrow, which the result will say.",
                n=ENOUGH_SEEDS,
            )
        return ""

    @property
    def order(self) -> PolicyOrder:
        """The same for the comparer."""
        plan = ComparisonFile(
            actors=[actor.wish for actor in self.actors],
            episodes=self.episodes,
            seed=self.seed,
            environment=self.environment or None,
        )
        return PolicyOrder(plan=plan, again=self.again)

    def add(self, actor: DraftActor) -> None:
        """Add an actor; one that is there already begins with its best checkpoint."""
        if any(actor.wish == other.wish for other in self.actors) and not actor.is_recorded:
            actor = replace(actor, checkpoint=BEST)
        self.actors = (*self.actors, actor)

    def remove(self, place: int) -> None:
        """Remove the actor at a place."""
        self.actors = self.actors[:place] + self.actors[place + 1 :]

    def change(self, place: int, *, checkpoint: str = "", sampled: bool | None = None) -> None:
        """Let another checkpoint act, or another way."""
        actor = self.actors[place]
        actor = replace(
            actor,
            checkpoint=checkpoint or actor.checkpoint,
            sampled=actor.sampled if sampled is None else sampled,
        )
        self.actors = (*self.actors[:place], actor, *self.actors[place + 1 :])


def training_obstacle(runs: Sequence[RunView]) -> str:
    """Why these runs cannot be compared as trainings; empty: they can."""
    if len(runs) < 2:
        return tr("Add at least two trainings.")
    other = next((run for run in runs if run.spec.kind is not RunKind.TRAIN), None)
    if other is not None:
        return tr(
            "{run} is a run of kind {kind}, no training.",
            run=other.name,
            kind=other.spec.kind.value,
        )
    return ""


def training_order(runs: Sequence[RunView], threshold: float | None) -> TrainingOrder:
    """The order that compares trainings."""
    thresholds = {} if threshold is None else {"": threshold}
    return TrainingOrder(runs=[run.run_id for run in runs], thresholds=thresholds)


def training_words(runs: Iterable[RunView]) -> list[str]:
    """The groups that will be compared, with the number of their runs."""
    counts: dict[tuple[str, str], int] = {}
    for run in runs:
        key = (run.spec.algorithm, run.spec.environment)
        counts[key] = counts.get(key, 0) + 1
    return [
        tr_n(
            "{algorithm} in {environment}: {n} run",
            "{algorithm} in {environment}: {n} runs",
            n,
            algorithm=algorithm,
            environment=environment,
        )
        for (algorithm, environment), n in counts.items()
    ]


def seeds_words(draft: ComparisonDraft) -> str:
    """The seeds, as a range."""
    first, last = draft.seed, draft.seed + draft.episodes - 1
    return tr("Seeds {first} to {last}", first=wording.count(first), last=wording.count(last))
