"""Settings: a bad value is named together with what is allowed."""

from pathlib import Path

import pytest

from mosaic_servicekit.errors import SettingsInvalid
from mosaic_servicekit.settings import ServiceSettings


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("MOSAIC_BROKER_URL", "http://x", "nats"),
        ("MOSAIC_DISK_RESERVE_BYTES", "-1", "greater than or equal to 0"),
        ("MOSAIC_LOG_FORMAT", "xml", "'json' or 'text'"),
    ],
)
def test_a_bad_value_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str
) -> None:
    """The message has the variable, its value and what is allowed."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsInvalid, match=says) as raised:
        ServiceSettings.load()
    assert f"{variable}={value!r}" in str(raised.value)


def test_paths_are_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A relative MOSAIC_HOME is taken from the directory of the start."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOSAIC_HOME", "data")
    assert ServiceSettings.load().home == tmp_path / "data"


def test_an_empty_variable_sets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """`NAME=` in an env file leaves the default."""
    monkeypatch.setenv("MOSAIC_DISK_RESERVE_BYTES", "")
    monkeypatch.setenv("MOSAIC_LOG_FORMAT", "")
    settings = ServiceSettings.load()
    assert (settings.disk_reserve_bytes, settings.log_format) == (512 * 2**20, "json")
