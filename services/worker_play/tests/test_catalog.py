"""What is said of the environments: options, rates, what is missing."""

from importlib.metadata import PackageNotFoundError

import pytest
from gymnasium.envs.registration import EnvSpec

from mosaic_contracts.worker import Environment
from mosaic_worker_play import catalog
from mosaic_worker_play.catalog import describe_environments, list_environments
from mosaic_worker_play.options import EntryPoint


@pytest.fixture(scope="module")
def described() -> dict[str, Environment]:
    """All environments by id."""
    return {environment.id: environment for environment in describe_environments()}


def test_options_come_from_the_registration_and_the_constructor(
    described: dict[str, Environment],
) -> None:
    """Type, default and choices; what is no plain value, and what a person cannot see, is left out."""
    lake = {option.name: option for option in described["FrozenLake8x8-v1"].options}
    assert (lake["map_name"].default, lake["map_name"].choices) == ("8x8", ["4x4", "8x8"])
    assert (lake["is_slippery"].type, lake["is_slippery"].default) == ("boolean", True)
    assert lake.keys() == {"map_name", "is_slippery", "success_rate"}
    lander = {option.name: option for option in described["LunarLanderContinuous-v3"].options}
    assert (lander["continuous"].default, lander["gravity"].type) == (True, "number")
    pong = {option.name: option for option in described["ALE/Pong-v5"].options}
    assert (pong["mode"].type, pong["mode"].default) == ("integer", None)
    assert "game" not in pong


def test_turns_and_rates_are_known_before_a_play(described: dict[str, Environment]) -> None:
    """A client chooses by them how fast an agent is shown."""
    found = {name: (one.rate, one.turns) for name, one in described.items()}
    assert found["CartPole-v1"] == (50.0, False)
    assert found["FrozenLake-v1"] == (4.0, True)
    assert found["ALE/Pong-v5"] == (15.0, False)
    assert described.keys() == {one.id for one in list_environments()}


def test_a_missing_bundle_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment whose packages are there has no command; its registration alone says what it takes."""

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(catalog, "version", missing)
    found = {one.id: one.install for one in describe_environments()}
    assert found["ALE/Pong-v5"] == "./mosaic sync worker_play --bundle atari"
    assert found["CartPole-v1"] == ""
    gone = EntryPoint(EnvSpec("Gone-v0", entry_point="no_such_module:Gone", kwargs={"size": 3}))
    assert [(one.name, one.type, one.default) for one in gone.options()] == [("size", "integer", 3)]
    assert gone.rate() is None
