"""Tuned parameters of RL Baselines3 Zoo as parameters of a run, where algorithm and names match.

A file of the Zoo (`hyperparams/ppo.yml`) has an entry for each environment, in the names of Stable-Baselines3. They are
a starting point: the implementations differ, so that a tuned value there need not be the best here.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_base.nearest import nearest_names
from mosaic_cli.errors import ValueRefused
from mosaic_cli.output import say
from mosaic_cli.reference import did_you_mean
from mosaic_cli.spec_source import read_spec_file
from mosaic_client import Client
from mosaic_contracts.spec import ParameterValue
from mosaic_contracts.sweeps import SweepSpec

STEPS = "n_timesteps"
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SCHEDULE = re.compile(f"lin_({_NUMBER})")
_ATARI, _DEFAULT = "atari", "default"
_ALL = {
    "gamma": "gamma",
    "learning_rate": "learning_rate",
    "batch_size": "batch_size",
    "buffer_size": "buffer_size",
    "tau": "tau",
    "learning_starts": "learning_starts",
}
_FAMILIES: dict[str, dict[str, str]] = {
    "ppo": {
        "n_envs": "num_envs",
        "n_steps": "num_steps",
        "gamma": "gamma",
        "gae_lambda": "gae_lambda",
        "n_epochs": "update_epochs",
        "ent_coef": "ent_coef",
        "vf_coef": "vf_coef",
        "max_grad_norm": "max_grad_norm",
        "target_kl": "target_kl",
        "clip_range": "clip_coef",
        "learning_rate": "learning_rate",
        "normalize_advantage": "norm_adv",
    },
    "dqn": {
        **_ALL,
        "train_freq": "train_frequency",
        "target_update_interval": "target_network_frequency",
        "exploration_fraction": "exploration_fraction",
        "exploration_initial_eps": "start_e",
        "exploration_final_eps": "end_e",
    },
    "sac": {**_ALL, "learning_rate": "policy_lr"},
}
"""The name here of each name there, by the first word of an algorithm."""


@dataclass
class ZooEntry:
    """What an entry of the Zoo means for one algorithm."""

    parameters: dict[str, ParameterValue] = field(default_factory=dict)
    steps: int | None = None
    unused: dict[str, str] = field(default_factory=dict)
    """What is not taken over as it is, by the name in the entry."""


def read_zoo_file(path: Path, algorithm: str, environment: str) -> Mapping[str, Any]:
    """The entry of an environment.

    Raises:
        FileProblem: the file cannot be read.
        ValueRefused: it is for another algorithm, or has no entry for the environment.
    """
    entries = read_spec_file(path)
    family = _family(algorithm)
    if path.stem in _FAMILIES and path.stem != family:
        raise ValueRefused(f"{path} is for {path.stem}, and the run's algorithm is {algorithm}.")
    name = environment.rpartition("/")[2]
    is_atari = environment.startswith("ALE/") and _ATARI in entries
    entry = entries.get(name, entries.get(_ATARI) if is_atari else None)
    if not isinstance(entry, dict):
        known = [one for one in entries if one not in (_DEFAULT, _ATARI)]
        nearest = nearest_names(name, known)
        hint = f" Did you mean {nearest[0]}?" if nearest else ""
        raise ValueRefused(f"{path} has no entry for {environment}.{hint}")
    return {str(key): value for key, value in entry.items()}


def translate(entry: Mapping[str, Any], algorithm: str, known: Mapping[str, Any]) -> ZooEntry:
    """An entry in the names of an algorithm.

    Args:
        entry: names and values of the Zoo.
        algorithm: id of the algorithm here, e.g. `ppo`.
        known: the properties of its schema.

    Raises:
        ValueRefused: nothing is known of such an algorithm.
    """
    names = _FAMILIES.get(_family(algorithm))
    if names is None:
        raise ValueRefused(
            f"Names of RL Baselines3 Zoo are known for {', '.join(_FAMILIES)}, not for {algorithm}."
        )
    found = ZooEntry()
    for name, value in entry.items():
        if name == STEPS:
            found.steps = _whole(value)
        elif name in _RULES and _RULES[name](found, entry, known):
            continue
        elif names.get(name) not in known:
            found.unused[name] = "has no counterpart here"
        else:
            _take(found, name, names[name], value, known)
    return found


def _take(found: ZooEntry, name: str, here: str, value: Any, known: Mapping[str, Any]) -> None:
    schedule = _SCHEDULE.fullmatch(value) if isinstance(value, str) else None
    if schedule is not None:
        value = float(schedule[1])
        if name == "learning_rate" and "anneal_lr" in known:
            found.parameters["anneal_lr"] = True
        else:
            found.unused[name] = f"is a schedule; {here} stays at its first value"
    elif name == "learning_rate" and "anneal_lr" in known:
        found.parameters["anneal_lr"] = False
    if isinstance(value, str):
        found.unused[name] = f"is no number: {value!r}"
        return
    found.parameters[here] = _whole(value) if known[here].get("type") == "integer" else value
    if here == "policy_lr" and "q_lr" in known:
        found.parameters["q_lr"] = value


def _minibatches(found: ZooEntry, entry: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """The batch of PPO is given here by the number of parts of a rollout."""
    if "num_minibatches" not in known:
        return False
    given = (entry["batch_size"], entry.get("n_envs", 1), entry.get("n_steps", 2_048))
    batch, envs, steps = (_whole(value) for value in given)
    if not all(type(value) is int and value > 0 for value in (batch, envs, steps)):
        found.unused["batch_size"] = "or n_envs or n_steps is no whole number above 0"
        return True
    rollout = envs * steps
    if rollout % batch:
        found.unused["batch_size"] = f"does not divide the rollout of {rollout} steps"
    else:
        found.parameters["num_minibatches"] = rollout // batch
    return True


def _entropy(found: ZooEntry, entry: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """SAC's `auto` is a switch here."""
    if "autotune" not in known or not str(entry["ent_coef"]).startswith("auto"):
        return False
    found.parameters["autotune"] = True
    return True


_RULES: dict[str, Callable[[ZooEntry, Mapping[str, Any], Mapping[str, Any]], bool]] = {
    "batch_size": _minibatches,
    "ent_coef": _entropy,
}
"""What is more than another name; False: it is not meant for this algorithm."""


def _family(algorithm: str) -> str:
    return algorithm.partition("_")[0]


def _whole(value: Any) -> Any:
    is_whole = isinstance(value, float) and math.isfinite(value) and value.is_integer()
    return int(value) if is_whole else value


def zoo_entry(client: Client, path: Path, fields: Mapping[str, Any]) -> ZooEntry:
    """What a file of the Zoo has for a spec's algorithm and environment. What does not match is said on stderr.

    Raises:
        FileProblem: the file cannot be read.
        ValueRefused: the spec names no environment, or the file has nothing for it.
        ClientError: the stack does not answer, or does not know the worker.
    """
    worker, algorithm = str(fields.get("worker")), str(fields.get("algorithm"))
    environment = fields.get("environment")
    if not isinstance(environment, str):
        raise ValueRefused("--from-rl-zoo needs an environment, e.g. CartPole-v1.")
    described = client.worker(worker).description
    schemas = {one.id: one.parameters for one in described.algorithms} if described else {}
    if algorithm not in schemas:
        raise ValueRefused(
            f"{worker} has no algorithm {algorithm}. {did_you_mean(algorithm, schemas)}"
        )
    known = schemas[algorithm].get("properties", {})
    found = translate(read_zoo_file(path, algorithm, environment), algorithm, known)
    for name, why in found.unused.items():
        say(f"{path.name}: {name} {why}.")
    return found


def with_zoo(fields: Mapping[str, Any], entry: ZooEntry) -> dict[str, Any]:
    """The fields of a spec with what they do not name themselves taken from the entry."""
    parameters = {**entry.parameters, **(fields.get("parameters") or {})}
    steps = {} if entry.steps is None else {"steps": entry.steps}
    return {**steps, **fields, "parameters": parameters}


def sweep_with_zoo(sweep: SweepSpec, entry: ZooEntry) -> SweepSpec:
    """A sweep whose first trial has the entry's values; those that it does not search become fixed ones."""
    first = {
        name: value
        for name, value in entry.parameters.items()
        if name in sweep.parameters and sweep.parameters[name].contains(value)
    }
    for name in entry.parameters.keys() & sweep.parameters.keys() - first.keys():
        say(f"{name} is left out: {entry.parameters[name]!r} is outside what the sweep searches.")
    fixed = {
        name: value for name, value in entry.parameters.items() if name not in sweep.parameters
    }
    run = with_zoo(sweep.run, ZooEntry(fixed, entry.steps))
    start = [first, *sweep.start_with] if first else sweep.start_with
    return SweepSpec.model_validate({**sweep.model_dump(), "run": run, "start_with": start})
