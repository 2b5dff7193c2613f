"""The actors of a comparison: which checkpoint or which recorded episodes, and what they are called."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mosaic_client.client import Client
from mosaic_client.comparing.errors import ComparisonRefused, NothingToCompare
from mosaic_contracts.checkpoint_words import REASON_BEST, CheckpointState
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.choices import BEST, LAST, RunKind
from mosaic_contracts.comparisons import RANDOM, ActorWish, ComparisonFile
from mosaic_contracts.runs import RunView

_SHORT = 6
"""Last characters of a run's id, by which runs with equal names differ."""
PERSON = "human"
_MOST = 500
"""Checkpoints of one run that are looked at, newest first."""


@dataclass(frozen=True)
class SavedPolicy:
    """A checkpoint's file in a run's folder."""

    path: str
    sha256: str | None


@dataclass(frozen=True)
class ComparedActor:
    """One actor.

    Attributes:
        name: in tables.
        environment: id of its environment.
        run: the run that it comes from; None: random actions.
        policy: what acts; None: random actions, or the recorded episodes of `run`.
        sampled: whether actions are drawn as in the training.
    """

    name: str
    environment: str
    run: RunView | None = None
    policy: SavedPolicy | None = None
    sampled: bool = False

    @property
    def is_recorded(self) -> bool:
        """Whether its episodes are there already."""
        return self.run is not None and self.policy is None


def find_actors(client: Client, plan: ComparisonFile) -> list[ComparedActor]:
    """Find the actors of a comparison.

    Args:
        client: of the stack.
        plan: its actors name runs by their whole ids, and checkpoints by paths, `best` or `last`.

    Returns:
        The actors in the same order, each with a name of its own.

    Raises:
        RunUnknown: a run does not exist.
        NothingToCompare: it has no such checkpoint.
        ComparisonRefused: the environments differ, or the same actor was named twice.
    """
    found = [_found(client, wish) for wish in plan.actors]
    environment = _environment(found, plan)
    found = [replace(actor, environment=environment) for actor in found]
    names = _names(found, plan.actors)
    return [replace(actor, name=name) for actor, name in zip(found, names, strict=True)]


def _found(client: Client, wish: ActorWish) -> ComparedActor:
    if wish.run is None:
        return ComparedActor(RANDOM, "")
    run = client.run(wish.run)
    if run.spec.kind.plays:
        if wish.checkpoint is not None:
            raise ComparisonRefused(
                f"{run.run_id} is a run of kind {run.spec.kind.value}: its recorded episodes are compared, and it "
                "has no checkpoints. Leave the checkpoint out, or name the run that was trained."
            )
        return ComparedActor("", run.spec.environment, run)
    if run.spec.kind is RunKind.REPLAY:
        raise ComparisonRefused(
            f"{run.run_id} is a replay: compare the run whose episode it shows."
        )
    policy = _policy(client, run, wish.checkpoint or LAST)
    return ComparedActor("", run.spec.environment, run, policy, wish.sampled)


def _policy(client: Client, run: RunView, path: str) -> SavedPolicy:
    """The file at a path; `best` and `last` as the stack understands them."""
    found = client.checkpoints(limit=_MOST, run=run.run_id).checkpoints
    rows = {row.path: row for row in found if row.state is CheckpointState.PRESENT}
    if not rows:
        raise NothingToCompare(
            f"Run {run.run_id} has no checkpoint (yet): it saves one at its end, at a stop, and now and "
            "then in between."
        )
    if path == LAST:
        row = max(rows.values(), key=lambda each: (each.step or 0, each.t or 0.0))
    elif path == BEST:
        row = _best(run, list(rows.values()))
    elif path in rows:
        row = rows[path]
    else:
        raise NothingToCompare(
            f"The file {path} of {run.run_id} is missing, or has changed since the run recorded it. Take another "
            "checkpoint."
        )
    return SavedPolicy(row.path, row.sha256)


def _best(run: RunView, rows: Sequence[CheckpointRow]) -> CheckpointRow:
    """The checkpoint that its worker keeps as the best one, else that with the highest mean return."""
    rated = [row for row in rows if row.mean_return_20 is not None]
    kept = [row for row in rated if row.reason == REASON_BEST]
    if not rated:
        raise NothingToCompare(
            f"Run {run.run_id} does not say which of its checkpoints is the best: none of them has a mean return. Take "
            "`last`, or name one by its path."
        )
    return max(kept or rated, key=lambda row: (row.mean_return_20 or 0.0, row.step or 0))


def _environment(actors: Sequence[ComparedActor], plan: ComparisonFile) -> str:
    """The environment of all actors."""
    named = {actor.run.run_id: actor.environment for actor in actors if actor.run is not None}
    environments = set(named.values()) | ({plan.environment} if plan.environment else set())
    if not environments:
        raise ComparisonRefused(
            "Random actions alone have no environment: name one with --environment, e.g. CartPole-v1."
        )
    if len(environments) > 1:
        each = ", ".join(f"{run} in {environment}" for run, environment in named.items())
        asked = f" The comparison is in {plan.environment}." if plan.environment else ""
        raise ComparisonRefused(
            f"Actors are compared in one environment of one version: {each}.{asked}"
        )
    return environments.pop()


def _names(actors: Sequence[ComparedActor], wishes: Sequence[ActorWish]) -> list[str]:
    """Names that differ, as short as they may be."""
    ways: tuple[Callable[[ComparedActor, ActorWish], str], ...] = (
        _short_name,
        lambda actor, wish: f"{_short_name(actor, wish)} seed {actor.run.spec.seed if actor.run else 0}",
        lambda actor, wish: f"{_short_name(actor, wish)} {actor.run.run_id[-_SHORT:] if actor.run else ''}",
    )  # fmt: skip
    pairs = list(zip(actors, wishes, strict=True))
    names = [wish.name or ways[0](actor, wish) for actor, wish in pairs]
    for way in ways[1:]:
        taken = Counter(names)
        longer = [
            name if taken[name] == 1 or wish.name or actor.run is None else way(actor, wish)
            for name, (actor, wish) in zip(names, pairs, strict=True)
        ]
        if len(set(longer)) > len(set(names)):
            names = longer
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise ComparisonRefused(f"Two actors are the same, or have the same name: {twice}.")
    return names


def _short_name(actor: ComparedActor, wish: ActorWish) -> str:
    if actor.run is None:
        return RANDOM
    words = [actor.run.spec.algorithm]
    if actor.is_recorded and actor.run.spec.algorithm != PERSON:
        words.append(actor.run.spec.kind.value)
    if actor.policy is not None and wish.checkpoint not in (None, LAST):
        words.append(str(wish.checkpoint).rpartition("/")[2])
    return " ".join([*words, *(["sampled"] * wish.sampled)])
