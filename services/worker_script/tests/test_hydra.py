"""The configuration of a script of hydra is its form."""

from pathlib import Path

import pytest

from mosaic_worker_script.arguments import ScriptArgument, read_arguments
from mosaic_worker_script.errors import ScriptUnreadable

SCRIPT = """
import hydra
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    print(cfg)
main()
"""
FILES = {
    "config.yaml": "defaults:\n  - _self_\n  - model: small\n  - override hydra/job_logging: none\n"
    "seed: 1\nlr: 1e-3\nfast: false\nlog: ${oc.env:HOME}/x\ntask: ???\nnet:\n  layers: [64, 64]\n  act: relu\n",
    "model/small.yaml": "width: 64\n",
    "model/large.yaml": "width: 512\n",
}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script with its folder of configurations."""
    for name, text in FILES.items():
        path = tmp_path / "conf" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def _by_name(script: Path) -> dict[str, ScriptArgument]:
    return {argument.name: argument for argument in read_arguments(script)}


def test_values_and_groups(script: Path) -> None:
    """Values with their types, maps with dots, groups with their choices; what is computed has no default."""
    found = _by_name(script)
    known = {name: (one.type, one.default) for name, one in found.items()}
    assert known == {
        "model": ("string", "small"),
        "model.width": ("integer", 64),
        "seed": ("integer", 1),
        "lr": ("number", 0.001),
        "fast": ("boolean", False),
        "log": (None, None),
        "task": (None, None),
        "net.layers": (None, None),
        "net.act": ("string", "relu"),
    }
    assert found["model"].choices == ("large", "small")
    assert found["task"].required
    assert "[64, 64]" in found["net.layers"].help


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("lr", 0.5, "lr=0.5"),
        ("fast", True, "fast=true"),
        ("model", "large", "model=large"),
        ("net.layers", "[32,32]", "net.layers=[32,32]"),
        ("net.act", "it's a=b", "net.act='it\\'s a=b'"),
        ("task", "", "task=''"),
        ("task", "a \\ b\\", "task='a \\ b\\\\'"),
    ],
)
def test_overrides(script: Path, name: str, value: object, word: str) -> None:
    """A value is passed as an override, quoted where hydra's grammar needs it."""
    assert _by_name(script)[name].words(value) == [word]


@pytest.mark.parametrize(
    ("text", "words"), [("a: [", "is no YAML"), ("- 1", "has no names"), (None, "cannot be read")]
)
def test_a_broken_configuration(script: Path, text: str | None, words: str) -> None:
    """A file that is not there or no YAML is named."""
    file = script.parent / "conf" / "config.yaml"
    file.unlink()
    if text is not None:
        file.write_text(text)
    with pytest.raises(ScriptUnreadable, match=words):
        read_arguments(script)
