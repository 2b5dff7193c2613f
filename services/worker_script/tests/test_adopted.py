"""Checkpoints that a script writes elsewhere are copied into the run's folder, as long as the disk has room."""

import shutil
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.script_run import run_script

from mosaic_contracts.launch import KEPT_NOTES_FILE
from mosaic_worker_script.adopted import KEPT_FREE_BYTES, AdoptedFiles

SAFETENSORS = "def save_file(tensors, filename):\n    open(filename, 'w').write(tensors)\n"
"""Takes the place of `safetensors.torch`, which needs PyTorch; tests/e2e runs the real `torch.save`."""


def test_a_copy_of_a_checkpoint(tmp_path: Path) -> None:
    """A file that is written twice is copied at once and at the end; the copies have what was in it then."""
    library = tmp_path / "own" / "safetensors"
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "torch.py").write_text(SAFETENSORS)
    made = run_script(
        tmp_path,
        "import time\nfrom pathlib import Path\nfrom safetensors.torch import save_file\n"
        "save_file('first', 'model.bin')\n"
        f"copy = Path({str(tmp_path)!r}, 'run/checkpoints/model-0.bin')\n"
        "while not copy.exists():\n    time.sleep(0.01)\n"
        "save_file('second', 'model.bin')\n",
    )
    assert made.code == 0, made.output
    assert [one["reason"] for one in made.of("checkpoint")] == ["periodic", "final"]
    assert (tmp_path / "run" / "checkpoints" / "model-0.bin").read_text() == "second"
    assert not (tmp_path / "run" / KEPT_NOTES_FILE).exists()


def test_a_checkpoint_has_the_step_at_which_it_was_written(tmp_path: Path) -> None:
    """Also within an episode, of which no step was reported yet."""
    library = tmp_path / "own" / "safetensors"
    library.mkdir(parents=True)
    (library / "__init__.py").touch()
    (library / "torch.py").write_text(SAFETENSORS)
    made = run_script(
        tmp_path,
        "import gymnasium\nfrom safetensors.torch import save_file\n"
        "env = gymnasium.make('CartPole-v1')\nenv.reset(seed=1)\n"
        "for action in (0, 1, 0):\n    env.step(action)\n"
        "save_file('weights', 'model.bin')\nenv.step(1)\nsave_file('more', 'last.bin')\n",
    )
    assert made.code == 0, made.output
    assert [one["step"] for one in made.of("checkpoint")] == [3, 4]


class _Usage(NamedTuple):
    free: int


class _Notes:
    """Takes the place of a Telemetry where only notes are looked at."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self.checkpoints: list[Path] = []

    def note(self, name: str, words: str, **_: Any) -> None:
        """Keep a note."""
        self.notes[name] = words

    def checkpoint(self, path: Path, *_: Any) -> None:
        """Keep an announcement."""
        self.checkpoints.append(path)


def test_no_copy_fills_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy that would leave too little room is not made; the run has a note, and a later one is made again."""
    written = tmp_path / "model.pt"
    written.write_bytes(b"weights")
    run = tmp_path / "run"
    run.mkdir()
    notes: Any = _Notes()
    files = AdoptedFiles(notes, run)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(KEPT_FREE_BYTES + 3))
    files.take(written, 5, "torch.save")
    assert list(run.iterdir()) == []
    assert "was not copied" in notes.notes["checkpoint-not-copied"]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(KEPT_FREE_BYTES + 10))
    files.finish()
    assert [path.read_bytes() for path in notes.checkpoints] == [b"weights"]
