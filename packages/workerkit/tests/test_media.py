"""Texts, histograms and images: recorded as they were given, within limits that the run's notes report."""

import json
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run_folder import make_run_folder
from tests.test_telemetry import written

from mosaic_contracts.launch import KEPT_NOTES_FILE
from mosaic_contracts.media_words import (
    MAX_BINS,
    MAX_IMAGE_BYTES,
    MAX_MEDIA_NAMES,
    MAX_TEXT_CHARS,
    VALUES_OF_A_NAME,
)
from mosaic_contracts.wire import Extra
from mosaic_workerkit import media
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.media import bins_of, checked_bins, encode_png, image_size, png_of, stride_of
from mosaic_workerkit.telemetry import Telemetry


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run's folder."""
    return make_run_folder(tmp_path / "run")


@pytest.fixture
def telemetry(folder: Path) -> Iterator[Telemetry]:
    """Telemetry after its config."""
    with Telemetry.open(folder) as opened:
        opened.config({})
        yield opened


def recorded(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    """Types and data of the namespaced events."""
    return [(one.type, one.data) for one in written(folder) if isinstance(one, Extra)]


def notes(folder: Path) -> dict[str, str]:
    """Notes that stay with the run."""
    path = folder / KEPT_NOTES_FILE
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def decoded(png: bytes) -> Any:
    """Pixels of a PNG whose rows have no filter."""
    width, height = struct.unpack(">II", png[16:24])
    at, packed = 8, b""
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        packed += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    rows = np.frombuffer(zlib.decompress(packed), "uint8").reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, -1)


def test_a_text_keeps_name_step_and_words(folder: Path, telemetry: Telemetry) -> None:
    """Also one without a step."""
    telemetry.text("samples/plan", np.int64(7), "go left")  # type: ignore[arg-type] # what scripts hand out
    telemetry.text("hyperparameters", None, "|a|b|")
    assert recorded(folder) == [
        ("media.text", {"name": "samples/plan", "step": 7, "text": "go left"}),
        ("media.text", {"name": "hyperparameters", "step": None, "text": "|a|b|"}),
    ]
    assert not notes(folder)


def test_a_long_text_is_cut_with_a_note(folder: Path, telemetry: Telemetry) -> None:
    """The event has the length that it had."""
    telemetry.text("long", 1, "x" * (MAX_TEXT_CHARS + 5))
    ((_, data),) = recorded(folder)
    assert (len(data["text"]), data["characters"]) == (MAX_TEXT_CHARS, MAX_TEXT_CHARS + 5)
    assert "'long' has 65,541 characters" in notes(folder)["media-text-cut"]


def test_a_histogram_counts_finite_values(folder: Path, telemetry: Telemetry) -> None:
    """NaN and infinities are left out; arrays of any shape and plain lists give the same."""
    values = np.array([[0.0, 1.0, 1.0], [4.0, math.nan, math.inf]])
    telemetry.histogram("weights", 3, values, bins=4)
    telemetry.histogram("weights", 4, values.ravel().tolist(), bins=4)
    (first, second) = (data for _, data in recorded(folder))
    assert first["edges"] == second["edges"] == [0, 1, 2, 3, 4]
    assert first["counts"] == second["counts"] == [1, 2, 0, 1]


@pytest.mark.parametrize(
    ("edges", "counts", "why"),
    [
        ([0, 1], [1, 2], "one edge more"),
        ([0, 0, 1], [1, 2], "ascend"),
        ([0, 1, math.nan], [1, 2], "finite"),
        ([0, 1, 2], [1, -2], "below 0"),
        ([0], [], "one edge more"),
    ],
)
def test_what_is_no_histogram_is_refused(
    telemetry: Telemetry, edges: list[float], counts: list[float], why: str
) -> None:
    """The reason is in words."""
    with pytest.raises(ContractViolation, match=why):
        telemetry.histogram("weights", 1, edges=edges, counts=counts)
    with pytest.raises(ContractViolation, match="finite value"):
        telemetry.histogram("weights", 1, [math.nan])


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=200),
    st.integers(1, 2 * MAX_BINS),
)
def test_no_value_is_lost_in_bins(values: list[float], bins: int) -> None:
    """Counts sum to the number of values, and the edges ascend, whatever the values are."""
    for given_values in (values, np.array(values)):
        edges, counts = checked_bins(*bins_of(given_values, bins))
        assert sum(counts) == len(values)
        assert edges[0] <= min(values)
        assert max(values) <= edges[-1]


def test_too_many_bins_are_joined() -> None:
    """Neighbours, so that sum and range stay."""
    edges, counts = checked_bins(range(1_201), [1.0] * 1_200)
    assert len(counts) <= MAX_BINS
    assert (sum(counts), edges[0], edges[-1], len(edges)) == (1_200, 0, 1_200, len(counts) + 1)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((5, 7), "uint8"), ((5, 7, 3), "float32"), ((5, 7, 4), "uint8")]
)
def test_an_array_becomes_a_png(folder: Path, telemetry: Telemetry, shape: Any, dtype: str) -> None:
    """Its file is in the run's folder, and has its pixels."""
    pixels = np.random.default_rng(1).integers(0, 255, shape).astype(dtype)
    image = pixels / 255 if dtype == "float32" else pixels
    telemetry.image("frames/first frame", 12, image, "as it begins")
    ((kind, data),) = recorded(folder)
    file = (folder / data["path"]).read_bytes()
    assert kind == "media.image"
    assert (data["width"], data["height"], data["bytes"]) == (7, 5, len(file))
    assert (data["step"], data["caption"]) == (12, "as it begins")
    assert data["path"].startswith("media/frames_first_frame-")
    assert np.array_equal(decoded(file).reshape(shape), pixels)


def test_names_cannot_leave_the_folder(folder: Path, telemetry: Telemetry) -> None:
    """A name is any text; its folder is a safe one, and different for each name."""
    for name in ("../../up", "/etc/x", "a/b", "a_b", "..", "ä"):
        telemetry.image(name, None, np.zeros((2, 2), "uint8"))
    paths = [folder / data["path"] for _, data in recorded(folder)]
    assert len(set(paths)) == 6
    assert all(path.resolve().parent.parent == (folder / "media").resolve() for path in paths)


def test_an_image_over_the_limit_is_a_note(folder: Path, telemetry: Telemetry) -> None:
    """It is left out, and the run goes on and says so."""
    noise = np.random.default_rng(1).integers(0, 255, (1500, 1500, 3), "uint8")
    assert len(png_of(noise)) > MAX_IMAGE_BYTES
    telemetry.image("large", 1, noise)
    telemetry.image("small", 1, noise[:10, :10])
    assert [data["name"] for _, data in recorded(folder)] == ["small"]
    assert "'large' of 1500 x 1500 pixels" in notes(folder)["media-image-size"]


def test_all_images_of_a_run_have_a_limit(
    folder: Path, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of an attempt before count, too."""
    (folder / "media" / "old").mkdir(parents=True)
    (folder / "media" / "old" / "0-1.png").write_bytes(b"x" * 900)
    monkeypatch.setattr(media, "MAX_RUN_IMAGE_BYTES", 1_000)
    for step in range(3):
        telemetry.image("frames", step, np.zeros((2, 2), "uint8"))
    assert [data["step"] for _, data in recorded(folder)] == [0]
    assert "is the limit" in notes(folder)["media-image-total"]


@pytest.mark.parametrize("image", [b"no picture", np.zeros((0, 3)), np.zeros((2, 2, 5)), "text"])
def test_what_is_no_image_is_refused(telemetry: Telemetry, image: Any) -> None:
    """With a reason, and no file is left."""
    with pytest.raises(ContractViolation, match="image"):
        telemetry.image("frames", 1, image)


def test_values_of_a_name_are_thinned(folder: Path, telemetry: Telemetry) -> None:
    """After the limit one in two is recorded, then one in four, with a note: a run may log at every step."""
    most = VALUES_OF_A_NAME["text"]
    for step in range(1, 3 * most + 401):
        telemetry.text("chatter", step, "x")
    steps = [data["step"] for _, data in recorded(folder)]
    assert steps[:most] == list(range(1, most + 1))
    assert steps[most : 2 * most] == list(range(most + 2, 3 * most + 1, 2))
    assert steps[2 * most :] == list(range(3 * most + 4, 3 * most + 401, 4))
    assert "more than 500 values" in notes(folder)["media-thinned"]
    assert stride_of(10**9, most) < 2**24


def test_names_have_a_limit(folder: Path, telemetry: Telemetry) -> None:
    """A name with the step in it does not fill the store."""
    for step in range(MAX_MEDIA_NAMES + 3):
        telemetry.text(f"sample {step}", step, "x")
    assert len(recorded(folder)) == MAX_MEDIA_NAMES
    assert "Use one name with steps" in notes(folder)["media-names"]


FILES = [
    (b"GIF89a" + struct.pack("<HH", 33, 21) + b"\0" * 9, "gif"),
    (b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x11\x08" + struct.pack(">HH", 21, 33) + b"\0" * 9, "jpg"),
    (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + b"\x20\0\0\x14\0\0", "webp"),
    (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", 32 | 20 << 14), "webp"),
    (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 33, 21), "webp"),
    (encode_png(33, 21, 1, b"\0" * 693), "png"),
]
"""Beginnings of files of 33 x 21 pixels, as their formats have them."""


@pytest.mark.parametrize(("file", "ending"), FILES)
def test_sizes_of_image_files_are_read(file: bytes, ending: str) -> None:
    """The format of each kind is known; a file that is cut short is none."""
    assert image_size(file) == (ending, 33, 21)
    assert image_size(file[:9]) is None


def test_bytes_that_are_no_pixels_are_refused() -> None:
    """Their number must be that of the size."""
    with pytest.raises(ContractViolation, match="no image"):
        encode_png(3, 3, 3, b"too few")
