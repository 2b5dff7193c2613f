"""What a check does not import: it takes longer than the check itself."""

import sys
from functools import partial
from pathlib import Path

import pytest
from tests.real_run import in_child

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl import obstacles
from mosaic_worker_cleanrl.environment.atari import GAMES
from mosaic_worker_cleanrl.environment.catalog import list_environments
from mosaic_worker_cleanrl.plan import check_run


def _check_cart_pole() -> None:
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    assert check_run(RunSpec.model_validate(spec)).ok
    assert "ale_py" not in sys.modules


def test_games_are_registered_for_their_names_only() -> None:
    """A run in another environment imports no emulator."""
    in_child(_check_cart_pole)


def _offer_without_emulator(offered: list[str]) -> None:
    assert "ale_py" not in sys.modules
    sys.modules["ale_py"] = None  # type: ignore[assignment] # as if it were not installed
    assert sorted(each.model_dump_json() for each in list_environments()) == offered


def test_the_games_are_known_without_ale_py() -> None:
    """Without ale-py the same environments are offered, so that a person learns how to have them."""
    offered = list_environments()
    assert len([each for each in offered if each.bundle == "atari"]) == len(GAMES)
    names = sorted(each.model_dump_json() for each in offered)
    in_child(partial(_offer_without_emulator, names))


def test_modules_of_the_language_are_not_looked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A search for the `distutils` that a script imports would import setuptools, which answers for it."""
    asked: list[str] = []
    monkeypatch.setattr(obstacles, "find_spec", asked.append)
    packages = frozenset({"distutils", "argparse", "absent"})
    assert "imports absent, which" in obstacles.why_unavailable(tmp_path / "a.py", packages)
    assert asked == ["absent"]
