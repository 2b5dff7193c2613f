"""Everything that the next step depends on, in one npz file that loads without running code."""

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mosaic_worker_spade.environment.world import World
from mosaic_worker_spade.errors import CheckpointUnusable
from mosaic_worker_spade.learning.draws import Draws
from mosaic_worker_spade.learning.learner import WINDOW, Counts, Learner
from mosaic_worker_spade.learning.schedule import Rates
from mosaic_worker_spade.packages import installed_packages

FORMAT = "mosaic.spade.checkpoint"
FORMAT_VERSION = 1


@dataclass(frozen=True)
class Checkpoint:
    """A file that was read: arrays, and the facts beside them."""

    q: list[list[float]]
    visits: list[list[int]]
    facts: dict[str, Any]

    def require_world(self, world: World) -> None:
        """Refuse a checkpoint of another world.

        Raises:
            CheckpointUnusable: both are named.
        """
        told = self.facts
        if told["table_digest"] == world.digest:
            return
        here = _world_words(world.id, world.map_text, world.arguments, world.max_steps)
        there = _world_words(told["environment"], told["map"], told["world"], told["max_steps"])
        raise CheckpointUnusable(
            f"The checkpoint is of another world: it was learned in {there}; this run is in {here}. "
            "Give the run the checkpoint's world, or leave the checkpoint out."
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
    with path.open("wb") as file:
        np.savez_compressed(
            file,
            q=np.asarray(learner.q, dtype=np.float64),
            allow_pickle=False,
            visits=np.asarray(learner.visits, dtype=np.int64),
            **{name: np.asarray(json.dumps(value)) for name, value in facts.items()},
        )


def read(path: Path) -> Checkpoint:
    """Read a file; no code in it is run.

    Raises:
        CheckpointUnusable: it is not there or none of ours.
    """
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            facts = {
                name: json.loads(str(file[name])) for name in file.files if name not in _ARRAYS
            }
            if facts.get("format") != FORMAT or facts.get("version") != FORMAT_VERSION:
                raise CheckpointUnusable(
                    f"{path} is no checkpoint of this worker (format {facts.get('format')!r}, version "
                    f"{facts.get('version')!r}). Give the path of one that it wrote, checkpoints/*.npz of a run."
                )
            return Checkpoint(file["q"].tolist(), file["visits"].tolist(), facts)
    except FileNotFoundError as error:
        raise CheckpointUnusable(
            f"There is no checkpoint {path}. `./mosaic artifacts RUN` lists those of a run; name one as RUN/PATH."
        ) from error
    except (OSError, EOFError, ValueError, KeyError, AttributeError, zipfile.BadZipFile) as error:
        raise CheckpointUnusable(
            f"{path} cannot be read as a checkpoint ({error}). Give one that this worker wrote."
        ) from error


def restore(checkpoint: Checkpoint, world: World, rates: Rates, seed: int) -> Learner:
    """A learner that goes on from a checkpoint; with the same seed exactly where it left off.

    Raises:
        CheckpointUnusable: it is of another world.
    """
    checkpoint.require_world(world)
    facts = checkpoint.facts
    learner = Learner.fresh(world, rates, seed)
    learner.q, learner.visits = checkpoint.q, checkpoint.visits
    learner.epsilon = float(facts["epsilon"])
    learner.counts = Counts(int(facts["steps"]), int(facts["episodes"]), int(facts["successes"]))
    learner.recent.extend(bool(success) for success in facts["recent"][-WINDOW:])
    learner.ends, learner.goals = set(facts["ends"]), set(facts["goals"])
    if seed == facts["seed"]:
        learner.world_draws = Draws.restored(facts["world_generator"])
        learner.choice_draws = Draws.restored(facts["choice_generator"])
        learner.is_seeded = bool(facts["is_seeded"])
    return learner


_ARRAYS = ("q", "visits")


def _world_words(name: str, text: str, arguments: dict[str, Any], max_steps: int) -> str:
    more = [f"map {text}"] if text else []
    if "is_slippery" in arguments:
        more.append("slippery" if arguments["is_slippery"] else "not slippery")
    return ", ".join([name, *more, f"at most {max_steps} steps an episode"])
