"""Everything that the next step depends on, in one npz file that is checked before anything of it is used."""

import json
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_worker_spade.environment.world import TableWorld
from mosaic_worker_spade.errors import CheckpointUnusable
from mosaic_worker_spade.learning.archive import MAX_BYTES, Array, has_checksum, pack, unpack
from mosaic_worker_spade.learning.checkpoint_facts import FORMAT, CheckpointFacts
from mosaic_worker_spade.learning.draws import Draws
from mosaic_worker_spade.learning.learner import WINDOW, Learner, LearnerCounts
from mosaic_worker_spade.learning.schedule import Rates
from mosaic_worker_spade.packages import installed_packages

FORMAT_VERSION = 2
"""Version 1 had no checksum; it is still read."""


@dataclass(frozen=True)
class LearnerCheckpoint:
    """A file that was read: tables, and the facts stored with them."""

    q: list[list[float]]
    visits: list[list[int]]
    facts: CheckpointFacts
    sha256: str
    """Digest of the file."""

    def require_world(self, world: TableWorld) -> None:
        """Refuse a checkpoint of another world.

        Raises:
            CheckpointUnusable: both are named.
        """
        facts = self.facts
        if facts.table_digest == world.digest:
            self._require_states(world)
            return
        here = _world_words(world.id, world.map_text, world.arguments, world.max_steps)
        there = _world_words(facts.environment, facts.map, facts.world, facts.max_steps)
        raise CheckpointUnusable(
            f"The checkpoint is of another world: it was learned in {there}; this run is in {here}. "
            "Give the run the checkpoint's world, or leave the checkpoint out."
        )

    def _require_states(self, world: TableWorld) -> None:
        places = {*self.facts.ends, *self.facts.goals}
        if (len(self.q), len(self.q[0])) != (world.states, world.actions) or any(
            place >= world.states for place in places
        ):
            raise CheckpointUnusable(
                f"The checkpoint does not fit {world.id}, though it says so: that world has {world.states} states and "
                f"{world.actions} actions. Take another checkpoint."
            )


def save(learner: Learner, algorithm: str, path: Path) -> None:
    """Write a learner.

    Raises:
        OSError: the disk refused.
    """
    world, counts = learner.world, learner.counts
    facts: dict[str, Any] = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "algorithm": algorithm,
        "environment": world.id,
        "world": world.arguments,
        "map": world.map_text,
        "max_steps": world.max_steps,
        "table_digest": world.digest,
        "seed": learner.seed,
        "epsilon": learner.epsilon,
        "steps": counts.steps,
        "episodes": counts.episodes,
        "successes": counts.successes,
        "recent": [int(success) for success in learner.recent],
        "ends": sorted(learner.ends),
        "goals": sorted(learner.goals),
        "world_generator": learner.world_draws.state(),
        "choice_generator": learner.choice_draws.state(),
        "is_seeded": learner.is_seeded,
        "rates": vars(learner.rates),
        "packages": installed_packages(),
    }
    tables = {
        "q": np.asarray(learner.q, dtype=np.float64),
        "visits": np.asarray(learner.visits, dtype=np.int64),
    }
    path.write_bytes(pack(tables, facts))


def read(path: Path) -> LearnerCheckpoint:
    """Read a file: its checksum first, then every value. No code in it is run.

    Raises:
        CheckpointUnusable: it is not there, damaged, or none of ours; in one sentence and what to do.
    """
    try:
        data = _bytes_of(path)
        return _checkpoint(data, is_summed=has_checksum(data))
    except FileNotFoundError as error:
        raise CheckpointUnusable(
            f"There is no checkpoint {path}. `./mosaic artifacts RUN` lists those of a run; name one as RUN/PATH."
        ) from error
    except (OSError, ValueError) as error:
        raise CheckpointUnusable(
            f"{path} cannot be used as a checkpoint: {error}; give one that this worker wrote, "
            "checkpoints/*.npz of a run."
        ) from error


def _bytes_of(path: Path) -> bytes:
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise CheckpointUnusable("it is no file")
    if found.st_size > MAX_BYTES:
        raise CheckpointUnusable(f"it is larger than {MAX_BYTES // 2**20} MiB")
    return path.read_bytes()


def _checkpoint(data: bytes, *, is_summed: bool) -> LearnerCheckpoint:
    members = unpack(data)
    tables = {name: members.pop(name, None) for name in ("q", "visits")}
    facts = _facts({name: _text(name, value) for name, value in members.items()})
    if facts.version >= FORMAT_VERSION and not is_summed:
        raise CheckpointUnusable("it is damaged: its checksum is missing")
    q, visits = _table("q", tables["q"], "f"), _table("visits", tables["visits"], "i")
    if q.shape != visits.shape:
        raise CheckpointUnusable(f"q has the shape {q.shape} and visits {visits.shape}")
    if not np.isfinite(q).all():
        raise CheckpointUnusable("q holds values that are not finite")
    if (visits < 0).any():
        raise CheckpointUnusable("visits holds negative numbers")
    return LearnerCheckpoint(q.tolist(), visits.tolist(), facts, sha256(data).hexdigest())


def _facts(texts: dict[str, str]) -> CheckpointFacts:
    values: dict[str, Any] = {}
    for name, text in texts.items():
        try:
            values[name] = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointUnusable(f"{name} is no JSON") from error
    try:
        return CheckpointFacts.model_validate(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise CheckpointUnusable(
            f"{fault_place(fault) or 'a value'}: {fault_text(fault)}"
        ) from error


def _text(name: str, value: Array) -> str:
    if value.dtype.kind != "U" or value.shape != ():
        raise CheckpointUnusable(f"{name} is no text")
    return str(value)


def _table(name: str, value: Array | None, kind: str) -> Array:
    if value is None:
        raise CheckpointUnusable(f"{name} is missing")
    if value.dtype.kind != kind or value.ndim != 2 or not value.size:
        raise CheckpointUnusable(f"{name} is no table of numbers")
    return value


def restore(checkpoint: LearnerCheckpoint, world: TableWorld, rates: Rates, seed: int) -> Learner:
    """A learner that goes on from a checkpoint; with the same seed exactly where it left off.

    Raises:
        CheckpointUnusable: it is of another world.
    """
    checkpoint.require_world(world)
    facts = checkpoint.facts
    learner = Learner.fresh(world, rates, seed)
    learner.q, learner.visits = checkpoint.q, checkpoint.visits
    learner.epsilon = facts.epsilon
    learner.counts = LearnerCounts(facts.steps, facts.episodes, facts.successes)
    learner.recent.extend(bool(success) for success in facts.recent[-WINDOW:])
    learner.ends, learner.goals = set(facts.ends), set(facts.goals)
    if seed == facts.seed:
        learner.world_draws = Draws.restored(facts.world_generator)
        learner.choice_draws = Draws.restored(facts.choice_generator)
        learner.is_seeded = facts.is_seeded
    return learner


def _world_words(name: str, text: str, arguments: dict[str, Any], max_steps: int) -> str:
    more = [f"map {text}"] if text else []
    if "is_slippery" in arguments:
        more.append("slippery" if arguments["is_slippery"] else "not slippery")
    return ", ".join([name, *more, f"at most {max_steps} steps an episode"])
