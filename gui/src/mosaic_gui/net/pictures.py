"""Decodes the pictures of environment frames."""

import zstandard
from PyQt6.QtCore import QObject, QThreadPool, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_gui.state.language import tr

MAX_PICTURE_BYTES = 64 * 2**20
"""Limit of the decoded bytes: a frame names its own size."""
QUICK_PIXELS = 400_000
QUICK_JPEG_BYTES = 24 * 2**10
"""Up to these sizes a picture is decoded in less than 3 ms, and at once; larger ones go to the thread pool."""
_FORMATS = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888}


class PictureUnreadable(Exception):
    """The picture of a frame cannot be decoded; the message says why, in the user's language."""


def picture_of(frame: EnvironmentFrame) -> QImage | None:
    """Decode the picture of a frame, in the format that is painted fastest.

    Raises:
        PictureUnreadable: its bytes are no picture of its size.
    """
    if frame.encoding == "none":
        return None
    if frame.encoding == "zstd":
        return _raw_picture(frame)
    if frame.encoding == "jpeg":
        image = QImage.fromData(frame.data, "JPG")
        if not image.isNull():
            return image.convertToFormat(QImage.Format.Format_RGB32)
    raise PictureUnreadable(tr("The picture ({encoding}) cannot be read.", encoding=frame.encoding))


def _raw_picture(frame: EnvironmentFrame) -> QImage:
    size = frame.width * frame.height * frame.channels
    shape = f"{frame.width} × {frame.height} × {frame.channels}"
    wrong = PictureUnreadable(tr("The picture is not {shape} bytes.", shape=shape))
    is_possible = min(frame.width, frame.height) > 0 and size <= MAX_PICTURE_BYTES
    if frame.channels not in _FORMATS or not is_possible:
        raise wrong
    try:
        if zstandard.frame_content_size(frame.data) > size:
            raise wrong
        data = zstandard.ZstdDecompressor().decompress(frame.data, max_output_size=size)
    except zstandard.ZstdError as error:
        raise wrong from error
    if len(data) != size:
        raise wrong
    line = frame.width * frame.channels
    image = QImage(data, frame.width, frame.height, line, _FORMATS[frame.channels])
    # a copy, which does not need the bytes any more; it is painted twenty times faster than three bytes a pixel
    return image.convertToFormat(QImage.Format.Format_RGB32)


class PictureDecoder(QObject):
    """Decodes one frame at a time, and then the newest of those that came meanwhile."""

    decoded = pyqtSignal(object, object, str)
    """The frame, its QImage or None, and why it cannot be read."""
    _finished = pyqtSignal(int, object, object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._waiting: EnvironmentFrame | None = None
        self._is_busy = False
        self._generation = 0
        self._finished.connect(self._on_finished)

    def take(self, frame: EnvironmentFrame) -> None:
        """Decode this frame next."""
        if self._is_busy:
            self._waiting = frame
        elif is_quick(frame):
            self.decoded.emit(*_decode(frame))
        else:
            self._is_busy = True
            generation = self._generation
            self._pool.start(lambda: self._finished.emit(generation, *_decode(frame)))

    def clear(self) -> None:
        """Emit nothing more of the frames that were taken."""
        self._generation += 1
        self._waiting = None

    def stop(self) -> None:
        """Emit nothing more, and wait for the picture that is being decoded."""
        self.clear()
        self._pool.waitForDone()

    def _on_finished(
        self, generation: int, frame: EnvironmentFrame, image: QImage | None, fault: str
    ) -> None:
        self._is_busy = False
        if generation == self._generation:
            self.decoded.emit(frame, image, fault)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.take(waiting)


class FileDecoder(QObject):
    """Decodes the file of an image, and then the newest of those that came meanwhile."""

    decoded = pyqtSignal(str, QImage)
    """Path of the file, and its image; a null one where the file cannot be read."""
    _finished = pyqtSignal(str, QImage)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._waiting: tuple[str, bytes] | None = None
        self._is_busy = False
        self._finished.connect(self._on_finished)

    def take(self, path: str, file: bytes) -> None:
        """Decode this file next."""
        if self._is_busy:
            self._waiting = (path, file)
        elif len(file) <= QUICK_JPEG_BYTES:
            self.decoded.emit(path, QImage.fromData(file))
        else:
            self._is_busy = True
            self._pool.start(lambda: self._finished.emit(path, QImage.fromData(file)))

    def stop(self) -> None:
        """Wait for the image that is being decoded, and forget the others."""
        self._waiting = None
        self._pool.waitForDone()

    def _on_finished(self, path: str, image: QImage) -> None:
        self._is_busy = False
        self.decoded.emit(path, image)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.take(*waiting)


def is_quick(frame: EnvironmentFrame) -> bool:
    """Whether a picture is decoded without a visible pause."""
    is_small = frame.width * frame.height <= QUICK_PIXELS
    return is_small and (frame.encoding != "jpeg" or len(frame.data) <= QUICK_JPEG_BYTES)


def _decode(frame: EnvironmentFrame) -> tuple[EnvironmentFrame, QImage | None, str]:
    try:
        return frame, picture_of(frame), ""
    except PictureUnreadable as error:
        return frame, None, str(error)
