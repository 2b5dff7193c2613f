"""The script does the same for the same seed, and ends by itself."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "train.py"


def trained(folder: Path, seed: int) -> bytes:
    words = ["--seed", str(seed), "--total-timesteps", "300", "--out", str(folder / f"{seed}.npy")]
    subprocess.run([sys.executable, SCRIPT, *words], check=True)
    return (folder / f"{seed}.npy").read_bytes()


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    first = trained(tmp_path, 1)
    assert trained(tmp_path, 1) == first
    assert trained(tmp_path, 2) != first
