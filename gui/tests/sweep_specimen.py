"""Sweeps and their trials as the gateway sends them."""

import math
import random
from typing import Any

from tests.specimen import run_id

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SweepSpec, SweepView, TrialPage, TrialRecord, TrialState
from tests import specimen

STATES = (
    TrialState.COMPLETE,
    TrialState.COMPLETE,
    TrialState.PRUNED,
    TrialState.COMPLETE,
    TrialState.FAILED,
    TrialState.CRASHED,
    TrialState.STOPPED,
)


def sweep_run(n: int = 90, state: RunState = RunState.RUNNING, **fields: Any) -> RunView:
    """The run of a sweep."""
    spec: dict[str, Any] = {
        "kind": "sweep",
        "worker": "sweep",
        "algorithm": "optuna",
        "environment": "CartPole-v1",
    }
    spec |= {"name": f"PPO search {n}", "sweep": sweep_spec().model_dump(mode="json")}
    return specimen.run(n, state, spec=spec | fields.pop("spec", {}), **fields)


def sweep_spec(**fields: Any) -> SweepSpec:
    """PPO on CartPole: four parameters of which one is conditional."""
    known: dict[str, Any] = {
        "run": {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"},
        "parameters": {
            "learning_rate": {"type": "float", "low": 1e-5, "high": 1e-1, "log": True},
            "gamma": {"type": "float", "low": 0.9, "high": 0.999},
            "num_steps": {"type": "int", "low": 32, "high": 512},
            "loss": {"type": "categorical", "choices": ["mse", "huber"]},
        },
        "seeds": [1, 2],
        "budget": {"trials": 40},
        "pruner": {"name": "asha"},
    }
    return SweepSpec.model_validate(known | fields)


def trial(number: int, state: TrialState | None = None, **fields: Any) -> TrialRecord:
    """A trial; its value is best near a learning rate of 1e-3."""
    dice = random.Random(number)
    exponent = dice.uniform(-5, -1)
    state = state or STATES[number % len(STATES)]
    value = 480 * math.exp(-((exponent + 3) ** 2) / 1.5) + dice.uniform(0, 20)
    has_value = state in (TrialState.COMPLETE, TrialState.PRUNED)
    known: dict[str, Any] = {
        "number": number,
        "state": state,
        "parameters": {
            "learning_rate": 10**exponent,
            "gamma": dice.uniform(0.9, 0.999),
            "num_steps": dice.randrange(32, 513),
            "loss": dice.choice(["mse", "huber"]),
        },
        "values": [value if state is TrialState.COMPLETE else value * 0.6] if has_value else None,
        "runs": {
            f"{number}/CartPole-v1/{seed}": run_id(1_000 + 2 * number + seed) for seed in (0, 1)
        },
        "steps": 2_000 if state is TrialState.COMPLETE else 700,
        "started": 1_767_355_200.0 + 60 * number,
        "ended": 1_767_355_200.0 + 60 * number + 45 if state.is_final else None,
        "reason": "Exit code 1: loss is nan" if state is TrialState.FAILED else "",
    }
    return TrialRecord.model_validate(known | fields)


def trials(count: int, running: int = 0) -> list[TrialRecord]:
    """Trials in every state, of which the last ones go on."""
    done = [trial(number) for number in range(count - running)]
    return done + [trial(number, TrialState.RUNNING) for number in range(count - running, count)]


def page(records: list[TrialRecord], cursor: str = "c1", has_more: bool = False) -> TrialPage:
    """An answer with trials."""
    return TrialPage(trials=records, cursor=cursor, has_more=has_more)


def view(n: int = 90, spec: SweepSpec | None = None, **fields: Any) -> SweepView:
    """A sweep as it is read."""
    known: dict[str, Any] = {
        "run_id": run_id(n),
        "sweep": spec or sweep_spec(),
        "counts": {"complete": 11, "failed": 1, "running": 2},
        "best": [trial(3)],
        "steps": 24_000,
        "importance": {
            "trials": 11,
            "importances": {"learning_rate": 0.71, "gamma": 0.17, "num_steps": 0.09, "loss": 0.03},
        },
    }
    return SweepView.model_validate(known | fields)
