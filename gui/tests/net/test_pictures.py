"""Pictures of every size and kind become images, and bytes that are none are refused."""

from typing import Any

import pytest
import zstandard
from PyQt6.QtGui import QImage, QPainter
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.net.frames_stub import frame, jpeg, raw
from tests.specimen import run_id

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_gui.net.pictures import PictureDecoder, PictureUnreadable, is_quick, picture_of

RUN = run_id(0)
SIZES = [(1, 1), (3, 5), (7, 1), (160, 210), (600, 400), (4096, 3), (4095, 64)]


@pytest.mark.parametrize(("width", "height"), SIZES)
@pytest.mark.parametrize("channels", [1, 3])
def test_raw_pictures_of_odd_sizes_keep_every_pixel(width: int, height: int, channels: int) -> None:
    """Lines that do not begin at a multiple of four bytes are read as they are."""
    values = bytes((n * 7) % 251 for n in range(width * height * channels))
    fields = raw(width, height, channels) | {"data": zstandard.compress(values)}
    image = picture_of(frame(RUN, **fields))
    assert image is not None
    assert (image.width(), image.height()) == (width, height)
    for x, y in {(0, 0), (width - 1, height - 1), (width // 2, height // 2)}:
        at = (y * width + x) * channels
        pixel = image.pixelColor(x, y)
        wanted = values[at : at + 3] if channels == 3 else values[at : at + 1] * 3
        assert (pixel.red(), pixel.green(), pixel.blue()) == tuple(wanted)


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_jpeg_pictures_are_read(width: int, height: int) -> None:
    """Any size that JPEG has."""
    image = picture_of(frame(RUN, **jpeg(width, height)))
    assert image is not None
    assert (image.width(), image.height()) == (width, height)
    assert image.pixelColor(width // 2, height // 2).red() > 240


def test_a_picture_does_not_need_its_bytes_any_more() -> None:
    """An image over bytes that are gone would show other data."""
    image = picture_of(frame(RUN, **raw(64, 64, value=200)))
    assert image is not None
    junk = [bytes([n]) * (64 * 64 * 3) for n in range(100)]
    target = QImage(64, 64, QImage.Format.Format_RGB32)
    painter = QPainter(target)
    painter.drawImage(0, 0, image)
    painter.end()
    assert target.pixelColor(63, 63).red() == 200
    del junk


def test_a_frame_without_a_picture_has_none() -> None:
    """It says why in words."""
    assert picture_of(frame(RUN, problem="no rgb_array")) is None


@pytest.mark.parametrize(
    "fields",
    [
        raw(4, 4) | {"width": 5},
        raw(4, 4) | {"width": 3},
        raw(4, 4) | {"channels": 4},
        raw(4, 4) | {"width": 0},
        raw(4, 4) | {"width": -4, "height": -4},
        raw(4, 4) | {"data": b"junk"},
        raw(4, 4) | {"width": 100_000, "height": 100_000},
        raw(9000, 9000) | {"width": 4, "height": 4},
        jpeg(4, 4) | {"data": b"junk"},
        {"encoding": "webp", "data": b"x"},
    ],
    ids=lambda fields: "-".join(f"{k}{v}" for k, v in fields.items() if k != "data"),
)
def test_bytes_that_are_no_picture_are_refused_in_words(fields: dict[str, Any]) -> None:
    """A frame names its own size, so that is not believed."""
    with pytest.raises(PictureUnreadable, match=r"picture"):
        picture_of(frame(RUN, **fields))


def test_large_pictures_are_decoded_elsewhere_and_only_the_newest(qtbot: QtBot) -> None:
    """While one is being decoded, those that come wait, and each takes the place of the one before."""
    decoder = PictureDecoder()
    seen: list[tuple[int, bool]] = []
    decoder.decoded.connect(lambda one, image, _fault: seen.append((one.number, image is not None)))
    frames = [frame(RUN, n, **jpeg(1500, 1000)) for n in range(5)]
    assert not is_quick(frames[0])
    for one in frames:
        decoder.take(one)
    qtbot.waitUntil(lambda: len(seen) == 2)
    assert seen == [(0, True), (4, True)]
    decoder.stop()


def test_nothing_is_emitted_of_frames_from_before(qtbot: QtBot) -> None:
    """Another run is watched: the picture that is being decoded is of no use."""
    decoder = PictureDecoder()
    spy = QSignalSpy(decoder.decoded)
    decoder.take(frame(RUN, 0, **jpeg(1500, 1000)))
    decoder.clear()
    decoder.take(frame(RUN, 1, **raw(2, 2)))
    qtbot.waitUntil(lambda: len(spy) == 1)
    shown: EnvironmentFrame = spy[0][0]
    assert shown.number == 1
    decoder.stop()
