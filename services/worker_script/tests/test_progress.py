"""Progress bars are the run's percent, and what Lightning and TensorFlow log are its curves."""

from pathlib import Path

import pytest
from tests.script_run import ScriptRun, run_script

from mosaic_hook.listeners.progress import HeardBars
from mosaic_workerkit.progress import read_progress

LIGHTNING = """
class _LoggerConnector:
    def __init__(self, trainer):
        self.trainer = trainer
    def log_metrics(self, metrics, step=None):
        pass
"""
TRAINER = """
from lightning.pytorch.trainer.connectors.logger_connector.logger_connector import _LoggerConnector
class Trainer:
    global_step = 7
    def __init__(self):
        self.connector = _LoggerConnector(self)
    def save_checkpoint(self, filepath, weights_only=None):
        open(filepath, "w").write("weights")
"""
FABRIC = """
class Fabric:
    def log(self, name, value, step=None):
        self.log_dict(metrics={name: value}, step=step)
    def log_dict(self, metrics, step=None):
        pass
"""
SUMMARY = "def scalar(name, data, step=None, description=None):\n    return True\n"
TQDM = """
class tqdm:
    disable, pos = False, 0
    def __init__(self, total):
        self.total, self.n = total, 0
        self.refresh()
    def update(self, n=1):
        self.n += n
        self.refresh()
    def refresh(self, nolock=False, lock_args=None):
        return True
"""
"""These take the place of libraries of several hundred MB. `tests/e2e/test_real_scripts.py` runs scripts with the real
ones, where it is given their environment."""


def _library(folder: Path, modules: dict[str, str]) -> None:
    """Write modules next to the script, with the packages that they lie in."""
    for name, text in modules.items():
        path = folder / "own" / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        for package in path.relative_to(folder / "own").parents:
            if package.name:
                (folder / "own" / package / "__init__.py").touch()
        path.write_text(text)


def _metrics(made: ScriptRun) -> list[tuple[str, int | None, float]]:
    return [(m["name"], m["step"], m["value"]) for m in made.of("metric")]


def test_lightning(tmp_path: Path) -> None:
    """Metrics of a trainer at its step or the one it names, of Fabric, and the trainer's checkpoints."""
    logger = "lightning.pytorch.trainer.connectors.logger_connector.logger_connector"
    modules = {logger: LIGHTNING, "lightning.pytorch.trainer.trainer": TRAINER}
    _library(tmp_path, {**modules, "lightning.fabric.fabric": FABRIC})
    made = run_script(
        tmp_path,
        "from lightning.pytorch.trainer.trainer import Trainer\n"
        "from lightning.fabric.fabric import Fabric\n"
        "trainer = Trainer()\n"
        "trainer.connector.log_metrics({'loss': 0.5})\n"
        "trainer.connector.log_metrics({'loss': 0.25, 'step': 9})\n"
        "Fabric().log('rate', 1.5, 3)\n"
        "trainer.save_checkpoint('epoch.ckpt')\n",
    )
    assert made.code == 0, made.output
    assert _metrics(made) == [("loss", 7, 0.5), ("loss", 9, 0.25), ("rate", 3, 1.5)]
    assert [one["data"]["saved_by"] for one in made.of("checkpoint")] == ["lightning"]


def test_summaries_of_tensorflow(tmp_path: Path) -> None:
    """`tf.summary.scalar` at its own step, or at the default step of TensorFlow."""
    tensorflow = (
        "from tensorboard.plugins.scalar.summary_v2 import scalar\nclass summary:\n    scalar = scalar\n"
        "    class experimental:\n        get_step = staticmethod(lambda: 5)\n"
    )
    _library(tmp_path, {"tensorboard.plugins.scalar.summary_v2": SUMMARY, "tensorflow": tensorflow})
    made = run_script(
        tmp_path,
        "import tensorflow as tf\n"
        "tf.summary.scalar('loss', 0.5, step=2)\ntf.summary.scalar('loss', data=0.25)\n",
    )
    assert made.code == 0, made.output
    assert _metrics(made) == [("loss", 2, 0.5), ("loss", 5, 0.25)]


def test_a_bar_is_the_percent(tmp_path: Path) -> None:
    """Without environment steps the run counts what the bar counts."""
    _library(tmp_path, {"tqdm.std": TQDM})
    made = run_script(
        tmp_path,
        "from tqdm.std import tqdm\nbar = tqdm(40)\nbar.update(10)\nprint('{\"loss\": 1}')\n",
    )
    assert made.code == 0, made.output
    progress = read_progress(tmp_path / "run")
    assert progress is not None
    assert (progress.step, progress.total) == (10, 40)


def test_a_bar_of_steps_in_proportion(tmp_path: Path) -> None:
    """With environment steps their whole number follows from the bar, whatever that counts."""
    _library(tmp_path, {"tqdm.std": TQDM})
    made = run_script(
        tmp_path,
        "import gymnasium as gym\nfrom tqdm.std import tqdm\nenv = gym.make('CartPole-v1')\n"
        "env.reset(seed=1)\nfor _ in range(50):\n    if any(env.step(0)[2:4]):\n        env.reset()\n"
        "tqdm(4).update(1)\n",
    )
    assert made.code == 0, made.output
    progress = read_progress(tmp_path / "run")
    assert progress is not None
    assert (progress.step, progress.total) == (50, 200)


class _Reporter:
    """Keeps what is reported."""

    def __init__(self) -> None:
        self.lines: list[tuple[int, int | None]] = []

    def heard(self, _library: str) -> None:
        """Nothing."""

    def add(self, line: dict[str, int]) -> None:
        """Keep it."""
        self.lines.append((line["done"], line["total"]))


@pytest.mark.parametrize(
    ("shown", "reported"),
    [
        ([(1, 0, 10), (1, 5, 10)], [(5, 10)]),
        ([(1, 5, None), (1, 1, 1)], []),
        ([(1, 3, 3), (2, 0, 90), (2, 30, 90)], [(3, 3), (30, 90)]),
        ([(1, 9, 9), (2, 0, 9), (2, 3, 9)], [(9, 9), (0, None)]),
        ([(1, 5, 9), (1, 0, 9), (1, 3, 9)], [(5, 9), (0, None)]),
    ],
)
def test_which_bar_counts(
    shown: list[tuple[int, int, int | None]],
    reported: list[tuple[int, int | None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The newest bar, unless bars of one length or a bar that begins again count epochs."""
    monkeypatch.setattr("mosaic_hook.listeners.progress._EVERY_S", 0.0)
    reporter: object = _Reporter()
    bars = HeardBars(reporter, "tqdm")  # type: ignore[arg-type] # its two methods are enough
    for state in shown:
        bars.show(*state)
    assert isinstance(reporter, _Reporter)
    assert reporter.lines == reported
