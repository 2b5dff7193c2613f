"""The `.desktop` file: what it starts, what it leaves alone, and that nothing of it stays."""

import configparser
import re
from pathlib import Path

import pytest

from mosaic_gui.errors import DesktopEntryRefused
from mosaic_gui.state.desktop_entry import ENTRY, ICON, command, install, remove, user_data

ODD = ["env", 'MOSAIC_HOME=/a b/%f "$HOME" `x`\\y', "/opt/mosaic", "gui"]


def read(entry: Path) -> configparser.SectionProxy:
    """The file as a desktop reads it."""
    parsed = configparser.ConfigParser(interpolation=None)
    parsed.optionxform = str  # type: ignore[assignment,method-assign]  # keys have capitals
    parsed.read_string(entry.read_text("utf-8"))
    return parsed["Desktop Entry"]


def words_of(line: str) -> list[str]:
    """The words that a desktop starts: the value's escapes, then those within quotes, then the codes with %."""
    value = line.replace("\\\\", "\\")
    quoted = re.findall(r'"((?:[^"\\]|\\.)*)"', value)
    return [re.sub(r"\\(.)", r"\1", word).replace("%%", "%") for word in quoted]


def test_an_entry_starts_the_same_window(tmp_path: Path) -> None:
    """Any path comes through the two escapes of the format, and the icon is next to it."""
    entry = install(tmp_path, ODD, "<svg/>")
    shown = read(entry)
    assert words_of(shown["Exec"]) == ODD
    assert (shown["Type"], shown["Name"], shown["Icon"]) == ("Application", "MOSAIC", "mosaic")
    assert (tmp_path / ICON).read_text() == "<svg/>"
    install(tmp_path, ["/elsewhere/mosaic", "gui"], "<svg/>")
    assert words_of(read(entry)["Exec"]) == ["/elsewhere/mosaic", "gui"]
    remove(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    remove(tmp_path)


def test_a_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    """There are other programs of this name."""
    other = tmp_path / ENTRY
    other.parent.mkdir()
    other.write_text("[Desktop Entry]\nName=Mosaic\n")
    for change in (lambda: install(tmp_path, ["x"], "<svg/>"), lambda: remove(tmp_path)):
        with pytest.raises(DesktopEntryRefused, match="belongs to another program"):
            change()
    assert other.read_text() == "[Desktop Entry]\nName=Mosaic\n"


def test_a_folder_that_refuses_is_named(tmp_path: Path) -> None:
    """A file stands where the folder should be."""
    (tmp_path / "icons").write_text("")
    with pytest.raises(DesktopEntryRefused, match="cannot be changed"):
        install(tmp_path, ["x"], "<svg/>")


def test_the_command_has_program_and_data_folder() -> None:
    """A desktop has none of the variables of the terminal."""
    environ = {"MOSAIC_PROGRAM": "/c/mosaic", "MOSAIC_HOME": "/h"}
    assert command(environ) == ["env", "MOSAIC_HOME=/h", "/c/mosaic", "gui"]
    assert command({})[1:] == ["-I", "-m", "mosaic_gui"]


def test_the_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG_DATA_HOME counts where it is absolute."""
    assert user_data({"XDG_DATA_HOME": "/d"}) == Path("/d")
    monkeypatch.setenv("HOME", "/home/a")
    assert user_data({"XDG_DATA_HOME": "d"}) == Path("/home/a/.local/share")
