import shlex

import pytest

from mosaic_contracts.group_words import parse_seeds
from mosaic_contracts.run_command import run_command, seeds_text

SPEC = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}


@pytest.mark.parametrize(
    ("seeds", "text"), [([1], "1"), ([1, 2, 3], "1-3"), ([1, 2, 3, 7, 9, 10], "1-3,7,9-10")]
)
def test_seeds_are_written_as_they_are_read(seeds: list[int], text: str) -> None:
    """The short form reads back as the same seeds."""
    assert seeds_text(seeds) == text
    assert parse_seeds(text) == seeds


def test_command_has_only_what_the_spec_gives() -> None:
    """A spec with defaults is three words."""
    assert run_command(SPEC) == "./mosaic run cleanrl ppo CartPole-v1"


def test_command_has_every_given_field() -> None:
    """Fields without an option of their own go through `--set`."""
    spec = SPEC | {
        "seed": 3,
        "steps": 5000,
        "record": "full",
        "wall_time_s": 1800.0,
        "tags": ["a", "b c"],
        "hold": True,
        "internet": True,
        "parameters": {"learning_rate": 1.23456789e-4, "env_name": "64", "torch": False},
    }
    words = shlex.split(run_command(spec, program="mosaic"))
    assert words == [
        *("mosaic", "run", "cleanrl", "ppo", "CartPole-v1", "--seed", "3"),
        *("-p", "learning_rate=0.000123456789", "-p", 'env_name="64"', "-p", "torch=false"),
        *("--steps", "5000", "--record", "full", "--wall-time", "1800s"),
        *("--tag", "a", "--tag", "b c", "--hold", "--set", "internet=true"),
    ]


def test_lists_of_a_group_are_options() -> None:
    """Numbers stand between commas, texts in a JSON list."""
    command = run_command(
        SPEC | {"seed": 1, "parameters": {"learning_rate": 0.1, "gamma": 0.9}},
        seeds=[1, 2, 3],
        environments=["CartPole-v1", "Acrobot-v1"],
        parameters={"learning_rate": [0.1, 0.01], "optimizer": ["adam", "sgd"]},
    )
    assert shlex.split(command)[4:] == [
        *("CartPole-v1,Acrobot-v1", "--seed", "1-3"),
        *("-p", "learning_rate=0.1,0.01", "-p", "gamma=0.9", "-p", 'optimizer=["adam", "sgd"]'),
    ]
