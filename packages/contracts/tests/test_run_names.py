"""Names of runs by what sets them apart."""

from types import SimpleNamespace
from typing import Any

import pytest

from mosaic_contracts.run_names import NamesInSight, differing_parameters, distinct_names

DEFAULTS = {"learning_rate": 0.00025, "gamma": 0.99}


def run(
    number: int = 0, *, tags: tuple[str, ...] = (), name: str | None = None, **spec: Any
) -> Any:
    given = {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "kind": "train",
        "seed": 1,
        "steps": None,
        "name": name,
        "parameters": {},
        **spec,
    }
    made = f"{given['environment']}__{given['algorithm']}__{given['seed']}__20260101-000000"
    return SimpleNamespace(
        run_id=f"01J{number:07d}ABCDEFGHJKMNPQRS",
        name=name or made,
        spec=SimpleNamespace(**given),
        defaults={key: value for key, value in DEFAULTS.items() if key not in given["parameters"]},
        tags=tags,
    )


def lr(value: float, **more: Any) -> Any:
    return run(parameters={"learning_rate": value}, **more)


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        ([], []),
        ([run()], ["ppo CartPole-v1 · seed 1"]),
        ([run(name="mine")], ["mine: ppo CartPole-v1 · seed 1"]),
        ([run(name="mine"), run(algorithm="dqn")], ["mine ppo", "dqn"]),
        ([run(seed=1), run(seed=2)], ["ppo · seed 1", "ppo · seed 2"]),
        ([lr(0.001), lr(0.0003)], ["ppo lr=0.001", "ppo lr=0.0003"]),
        ([lr(0.001), run()], ["ppo lr=0.001", "ppo lr=0.00025"]),
        (
            [lr(0.001, seed=1), lr(0.001, seed=2), run(seed=1)],
            ["ppo lr=0.001 · seed 1", "ppo lr=0.001 · seed 2", "ppo lr=0.00025 · seed 1"],
        ),
        ([run(), run(algorithm="dqn")], ["ppo", "dqn"]),
        ([run(), run(environment="Acrobot-v1")], ["ppo CartPole-v1", "ppo Acrobot-v1"]),
        ([run(), run(worker="sb3")], ["ppo cleanrl", "ppo sb3"]),
        ([run(), run(kind="evaluate")], ["ppo", "ppo evaluation"]),
        ([run(steps=50_000), run(steps=1_000_000)], ["ppo steps=50k", "ppo steps=1M"]),
        ([run(name="mine"), run(seed=2)], ["mine · seed 1", "ppo · seed 2"]),
        ([run(tags=("old",)), run(tags=("new",))], ["ppo · old", "ppo · new"]),
        ([run(1), run(2)], ["ppo · 01J0000001", "ppo · 01J0000002"]),
        (
            [run(parameters={"anneal": True}), run(parameters={"anneal": False})],
            ["ppo anneal=true", "ppo anneal=false"],
        ),
        (
            [run(parameters={"path": "x" * 40}), run(parameters={"path": "y"})],
            [f"ppo path={'x' * 23}…", "ppo path=y"],
        ),
    ],
)
def test_a_run_is_named_by_what_sets_it_apart(runs: list[Any], names: list[str]) -> None:
    assert distinct_names(runs) == names


def test_many_parameters_are_counted() -> None:
    runs = [run(parameters={f"p{n}": value for n in range(6)}) for value in (1, 2)]

    assert distinct_names(runs)[0] == "ppo p0=1 p1=1 p2=1 p3=1 +2"


def test_defaults_of_two_algorithms_are_not_named() -> None:
    ppo, dqn = run(), run(algorithm="dqn")
    dqn.defaults = {"learning_rate": 0.0001, "buffer_size": 10_000}

    assert distinct_names([ppo, dqn]) == ["ppo", "dqn"]
    assert distinct_names([lr(0.001), dqn]) == ["ppo lr=0.001", "dqn lr=0.0001"]


def test_names_without_seeds_are_equal_for_the_runs_of_one_mean() -> None:
    runs = [lr(0.001, seed=1), lr(0.001, seed=2), lr(0.01, seed=1)]

    assert distinct_names(runs, seeds=False) == ["ppo lr=0.001", "ppo lr=0.001", "ppo lr=0.01"]


def test_a_run_of_an_older_version_has_no_defaults() -> None:
    old = run()
    old.defaults = {}

    assert distinct_names([old, lr(0.001)]) == ["ppo", "ppo lr=0.001"]


def test_parameters_that_a_user_gave_come_first() -> None:
    runs = [run(), run(parameters={"learning_rate": 0.1})]
    runs[0].defaults = {**DEFAULTS, "gamma": 0.9}

    assert differing_parameters(runs) == ["learning_rate", "gamma"]


def test_names_of_many_runs_are_those_of_few() -> None:
    """Runs that come and go leave the names that `distinct_names` gives the rest, but for the beginning of ids."""
    runs = [
        lr(1e-3, number=1),
        lr(1e-4, number=2, seed=2),
        run(3, algorithm="dqn"),
        lr(1e-3, number=4, environment="Acrobot-v1"),
        run(5, steps=1000),
        run(6, steps=1000, seed=7),
    ]
    names = NamesInSight()
    for one in (run(9, worker="spade", parameters={"gamma": 0.5}), *runs):
        names.add(one)
    names.remove(run(9).run_id)
    assert [names.name(one) for one in runs] == distinct_names(runs)
    assert len(names) == len(runs)


def test_a_run_that_is_what_it_was_changes_no_name() -> None:
    """A list draws all its names again only when some changed."""
    names = NamesInSight()
    assert names.add(lr(1e-3))
    assert not names.add(lr(1e-3))
    assert names.add(lr(1e-4))
    assert names.name(lr(1e-4)) == distinct_names([lr(1e-4)])[0]


PYTHON = "/home/ada/projects/a-long-folder-name/rl/.venv/bin/python"


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        (
            "command",
            [
                f"{PYTHON} train.py --env CartPole-v1 --rate {rate} --steps 500000"
                for rate in (1, 2)
            ],
            ["…--rate 1…", "…--rate 2…"],
        ),
        (
            "command",
            [f"{PYTHON} train.py", f"{PYTHON} train.py --rate 1e-3", f"{PYTHON} train.py -v"],
            ["…train.py", "…train.py --rate 1e-3", "…train.py -v"],
        ),
        (
            "command",
            [f"{PYTHON} train_with_a_long_name_{letter}.py --track" for letter in "ab"],
            ["…ng_name_a.py…", "…ng_name_b.py…"],
        ),
        (
            "directory",
            [f"/home/ada/a-long-folder-name/experiments/{one}/rl" for one in ("small", "large")],
            ["…small…", "…large…"],
        ),
        (
            "command",
            ["python a.py --rate 1", "python a.py --rate 2"],
            ["python a.py --rate 1", "python a.py --rate 2"],
        ),
    ],
)
def test_of_long_values_what_differs_is_kept(
    name: str, values: list[str], shown: list[str]
) -> None:
    """Paths and command lines differ anywhere; a list and a legend leave out the same words."""
    runs = [run(number, parameters={name: value}) for number, value in enumerate(values)]
    assert distinct_names(runs) == [f"ppo {name}={text}" for text in shown]
    names = NamesInSight()
    for one in runs:
        names.add(one)
    assert [names.name(one) for one in runs] == [f"ppo {name}={text}" for text in shown]
