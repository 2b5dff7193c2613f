"""The broker's configuration for data roots of any name, read by a real nats-server."""

import os
from pathlib import Path

import pytest

from mosaic_servicekit.broker import quote_path
from mosaic_servicekit.testing import TestBroker

pytestmark = pytest.mark.broker

NAMES = [
    "hé",
    "データ",
    "🚀 launch",
    "a b's",
    'say "hi"',
    "back\\slash",
    "C#",
    "a #1; rm",
    "$HOME",
    "${x}",
    "100%",
    "{curly} [square]",
    "tab\there",
    "line\nbreak",
    os.fsdecode(b"latin1-\xe9"),
]


@pytest.mark.parametrize("secure", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_a_data_root_of_any_name_holds_the_streams(tmp_path: Path, name: str, secure: bool) -> None:
    """The server starts, and keeps its streams in exactly the folder that was named."""
    home = tmp_path / name
    with TestBroker(home, secure=secure):
        assert (home / "nats" / "jetstream").is_dir()
    assert os.listdir(os.fsencode(tmp_path)) == [os.fsencode(name)]  # noqa: PTH208  # bytes: no pathlib


def test_the_configuration_of_any_path_is_plain_ascii() -> None:
    """No locale can misread what holds no letter beyond ASCII."""
    for name in NAMES:
        assert quote_path(Path(name)).isascii()
