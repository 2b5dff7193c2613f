"""The end of a file, as text."""

from pathlib import Path

import pytest

from mosaic_base.logs import read_end


@pytest.mark.parametrize(
    ("data", "at_most", "text", "is_cut"),
    [
        (b"", 10, "", False),
        (b"one\ntwo\n", 8, "one\ntwo\n", False),
        (b"one\ntwo\n", 4, "two\n", True),
        ("aé".encode() + b"bc", 3, "�bc", True),
        (b"\xff\n", 10, "�\n", False),
    ],
)
def test_only_the_end_is_read(
    tmp_path: Path, data: bytes, at_most: int, text: str, is_cut: bool
) -> None:
    """Whatever the bytes are."""
    log = tmp_path / "service.log"
    log.write_bytes(data)
    assert read_end(log, at_most) == (text, is_cut)


def test_a_missing_log_is_an_error(tmp_path: Path) -> None:
    """The caller decides what that means."""
    with pytest.raises(FileNotFoundError):
        read_end(tmp_path / "service.log", 10)
