"""The parameters of a sweep in Optuna's terms."""

import optuna
import pytest
from pydantic import TypeAdapter

from mosaic_contracts.sweeps import Dimension, SweepSpec, count_values
from mosaic_worker_sweep.space import (
    choose_parameters,
    grid_of,
    parameters_of,
    stored_values,
)

SPACE = TypeAdapter(dict[str, Dimension])


def test_values_lie_in_their_ranges_and_conditions_hold() -> None:
    """Every kind of range is drawn from; a conditional parameter is there exactly where its condition holds."""
    space = SPACE.validate_python(
        {
            "momentum": {"type": "float", "low": 0, "high": 1, "when": {"parameter": "o", "values": ["sgd"]}},
            "lr": {"type": "float", "low": 1e-5, "high": 1e-1, "log": True},
            "half": {"type": "float", "low": 0, "high": 1.1, "step": 0.5},
            "n": {"type": "int", "low": 1, "high": 10, "step": 4},
            "big": {"type": "int", "low": 1, "high": 1000, "log": True},
            "o": {"type": "categorical", "choices": ["sgd", "adam"]},
            "odd": {"type": "categorical", "choices": [1, True, None, "1"]},
        }
    )  # fmt: skip
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=3))
    seen = set()
    for _ in range(40):
        trial = study.ask()
        chosen = choose_parameters(trial, space)
        assert choose_parameters(optuna.Trial(study, trial._trial_id), space) == chosen
        assert parameters_of(trial.params, space) == chosen
        assert ("momentum" in chosen) == (chosen["o"] == "sgd")
        assert all(space[name].contains(value) for name, value in chosen.items())
        assert chosen["half"] in (0.0, 0.5, 1.0)
        seen.add((type(chosen["odd"]), chosen["odd"]))
    assert len(seen) == 4


def test_a_grid_has_each_value_once() -> None:
    """Decimal steps make no value twice, and labels replace values that Python holds equal."""
    space = SPACE.validate_python(
        {
            "a": {"type": "float", "low": 0.1, "high": 0.5, "step": 0.1},
            "b": {"type": "int", "low": 2, "high": 7, "step": 2},
            "c": {"type": "categorical", "choices": [1, True]},
        }
    )
    grid = grid_of(space)
    assert grid["a"] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5])
    assert list(grid["b"]) == [2, 4, 6]
    assert list(grid["c"]) == ["1", "true"]
    assert {name: count_values(each) for name, each in space.items()} == {"a": 5, "b": 3, "c": 2}
    assert stored_values({"c": True}, space) == {"c": "true"}


def test_a_grid_may_have_fewer_trials_than_the_budget() -> None:
    """Its size and the trials of `start_with`; other samplers use the whole budget."""
    sweep = {
        "run": {},
        "parameters": {
            "a": {"type": "float", "low": 0.1, "high": 0.3, "step": 0.1},
            "b": {"type": "categorical", "choices": [1, 2]},
        },
        "budget": {"trials": 20},
        "start_with": [{"a": 0.1, "b": 1}],
    }
    grid = SweepSpec.model_validate({**sweep, "sampler": {"name": "grid"}})
    assert (grid.most_trials, SweepSpec.model_validate(sweep).most_trials) == (7, 20)
