"""Texts, histograms and images that a script logs are recorded, and the libraries get them as before."""

from pathlib import Path

from tests.script_run import run_script

WITHOUT_PILLOW = """
import numpy as np
import tensorboardX.writer
from tensorboardX import SummaryWriter
from tensorboardX.summary import scalar
tensorboardX.writer.image = lambda tag, *_, **__: scalar(tag, 0.0)
"""
"""tensorboardX draws images by Pillow, which the environment of these tests lacks. What is heard comes before that."""
TENSORBOARD = """
writer = SummaryWriter('board')
rng = np.random.default_rng(1)
for step in range(0, 30, 10):
    writer.add_text('samples', f'at step {step}', step)
    writer.add_histogram('weights/fc1', rng.normal(step, 1, (20, 10)), step)
    writer.add_image('frames', rng.integers(0, 255, (3, 6, 8), dtype=np.uint8), step)
writer.add_images('batch', np.zeros((2, 3, 6, 8)), 30)
writer.add_image('grey', np.ones((6, 8)), dataformats='HW')
writer.close()
print(rng.integers(1000))
"""


def test_what_tensorboard_is_given(tmp_path: Path) -> None:
    """Each text, histogram and image has its name and step; images are files of the run."""
    made = run_script(tmp_path, WITHOUT_PILLOW + TENSORBOARD)
    assert made.code == 0, made.output
    texts = [event["data"] for event in made.of("media.text")]
    assert [(one["name"], one["step"], one["text"]) for one in texts] == [
        ("samples", step, f"at step {step}") for step in (0, 10, 20)
    ]
    bins = [event["data"] for event in made.of("media.histogram")]
    assert [(one["name"], one["step"], sum(one["counts"])) for one in bins] == [
        ("weights/fc1", step, 200) for step in (0, 10, 20)
    ]
    assert bins[2]["edges"][0] > bins[0]["edges"][0] + 10
    images = [event["data"] for event in made.of("media.image")]
    sizes = [(one["name"], one["step"], one["width"], one["height"]) for one in images]
    assert sizes == [
        *(("frames", step, 8, 6) for step in (0, 10, 20)),
        ("batch", 30, 16, 6),
        ("grey", None, 8, 6),
    ]
    for one in images:
        assert (made.folder / "run" / one["path"]).read_bytes().startswith(b"\x89PNG")
    assert list((tmp_path / "own" / "board").glob("events.out.tfevents.*"))
    assert not made.of("log")


def test_an_image_that_is_too_large_is_a_note(tmp_path: Path) -> None:
    """The script runs on, and the run says what was left out."""
    made = run_script(
        tmp_path,
        WITHOUT_PILLOW + "writer = SummaryWriter('board')\n"
        "noise = np.random.default_rng(1).integers(0, 255, (3, 1600, 1600), dtype=np.uint8)\n"
        "writer.add_image('large', noise, 1)\n"
        "writer.add_image('small', noise[:, :9, :9], 1)\n"
        "writer.close()\n",
    )
    assert made.code == 0, made.output
    assert [event["data"]["name"] for event in made.of("media.image")] == ["small"]
    (warning,) = made.of("log")
    assert "'large' of 1600 x 1600 pixels" in warning["message"]
    assert "Log a smaller one" in warning["message"]
