"""Returns of the actors, by seed, and whether equal seeds mean equal episodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mosaic_client.client import Client
from mosaic_client.comparing.actors import ComparedActor
from mosaic_client.comparing.evaluating import ActorEvaluation, result_of
from mosaic_client.evaluations import compact_json
from mosaic_contracts.comparisons import ActorReturns, ComparisonFile


@dataclass
class ActorRecord:
    """What an actor did."""

    returns: ActorReturns
    starts: dict[int, str] = field(default_factory=dict)
    """Hash of the first observation, by seed."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """Data of the config event of the run."""
    notes: list[str] = field(default_factory=list)


def evaluated(client: Client, evaluation: ActorEvaluation) -> ActorRecord | None:
    """Read what an evaluation recorded; None: it failed, and its `problem` says why."""
    result = result_of(client, evaluation)
    run, actor = evaluation.run, evaluation.actor
    if result is None or run is None:
        return None
    checkpoint = None
    if actor.run is not None and actor.policy is not None:
        checkpoint = f"{actor.run.run_id}/{actor.policy.path}"
    returns = ActorReturns(
        name=actor.name,
        returns=result.returns,
        seeds=result.seeds,
        run_id=run.run_id,
        checkpoint=checkpoint,
        checkpoint_sha256=result.checkpoint_sha256,
        is_reused=evaluation.is_reused,
    )
    starts, config = _record(client, run.run_id)
    places = {seed: place for seed, place, _ in starts}
    if all(seed in places for seed in result.seeds):
        returns.places = [places[seed] for seed in result.seeds]
    acted = ActorRecord(returns, {seed: digest for seed, _, digest in starts}, config)
    if result.asked is not None and len(result.returns) < result.asked:
        acted.notes.append(
            f"{actor.name}: {len(result.returns)} of {result.asked} episodes are complete; the run ended before."
        )
    return acted


def recorded(client: Client, actor: ComparedActor, plan: ComparisonFile) -> ActorRecord:
    """Read the recorded episodes of a play that have one of the seeds; of several with one seed the first counts."""
    assert actor.run is not None  # noqa: S101 - only a run has recorded episodes
    run_id = actor.run.run_id
    rows = {
        (row.attempt, row.env, row.episode): row
        for row in client.each_episode(run_id)
        if row.length is not None and row.episode_return is not None
    }
    starts, config = _record(client, run_id)
    wanted = range(plan.seed, plan.seed + plan.episodes)
    by_seed: dict[int, float] = {}
    places: dict[int, tuple[int, int, int]] = {}
    found = ActorReturns(name=actor.name, returns=[], run_id=run_id, is_reused=True)
    acted = ActorRecord(found, config=config)
    for seed, key, digest in starts:
        row = rows.get(key)
        if row is not None and seed in wanted and seed not in by_seed:
            by_seed[seed] = float(row.episode_return or 0.0)
            places[seed] = key
            acted.starts[seed] = digest
    acted.returns.seeds, acted.returns.returns = list(by_seed), list(by_seed.values())
    acted.returns.places = list(places.values())
    missing = [seed for seed in wanted if seed not in by_seed]
    if missing and by_seed:
        acted.notes.append(
            f"{actor.name}: {len(by_seed)} of {len(rows)} complete episodes have one of the {len(wanted)} seeds; "
            f"missing: {_spans(missing)}."
        )
    return acted


def pairing_notes(actors: Sequence[ActorRecord]) -> list[str]:
    """Take the seeds away where a seed does not begin the same episode as for the first actor, and say so."""
    notes: list[str] = []
    first = next((actor for actor in actors if actor.starts), None)
    for actor in actors:
        if first is None or actor is first:
            continue
        differing = [
            seed
            for seed, digest in actor.starts.items()
            if first.starts.get(seed, digest) != digest
        ]
        if differing:
            actor.returns.seeds = []
            notes.append(
                f"{actor.returns.name}: with seed {differing[0]} its first observation is another one than that of "
                f"{first.returns.name}, so that equal seeds are no pairs."
            )
    return notes


def environment_notes(actors: Sequence[ActorRecord]) -> list[str]:
    """Say where environments were made with other arguments, or by other versions of Gymnasium."""
    notes: list[str] = []
    made = _by_value(actors, lambda config: compact_json(config.get("environment_arguments") or {}))
    if len(made) > 1:
        each = "; ".join(f"{', '.join(names)}: {value}" for value, names in made.items())
        notes.append(f"The environments were made with different arguments. {each}.")
    versions = _by_value(
        actors, lambda config: str((config.get("packages") or {}).get("gymnasium", "unknown"))
    )
    if len(versions) > 1:
        each = "; ".join(f"{value} ({', '.join(names)})" for value, names in versions.items())
        notes.append(f"Versions of gymnasium: {each}.")
    return notes


def _by_value(actors: Sequence[ActorRecord], value: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for actor in actors:
        found.setdefault(value(actor.config), []).append(actor.returns.name)
    return found


def config_of(client: Client, run_id: str) -> Mapping[str, Any]:
    """Return the data of a run's config event; empty: it recorded none."""
    events = client.events(run_id, types=["config"]).events
    return events[0]["data"] if events else {}


def _record(
    client: Client, run_id: str
) -> tuple[list[tuple[int, tuple[int, int, int], str]], Mapping[str, Any]]:
    """Seed, place and first hash of each episode that was seeded, and the config."""
    starts = []
    config: Mapping[str, Any] = {}
    for event in client.each_event(run_id, types=["config", "episode_start"]):
        if event["type"] == "config":
            config = config or event["data"]
            continue
        seed = event["reset"].get("seed")
        if isinstance(seed, int):
            key = (event["attempt"], event["env"], event["episode"])
            starts.append((seed, key, str(event["hash"])))
    return starts, config


def _spans(numbers: Sequence[int]) -> str:
    """`1-4, 7` of sorted numbers."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(f"{low}-{high}" if low < high else str(low) for low, high in spans)
