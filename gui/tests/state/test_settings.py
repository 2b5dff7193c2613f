from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from mosaic_gui.state.agents import Mode, Way
from mosaic_gui.state.memory import Memory
from mosaic_gui.state.settings import VERSION, Settings, entries, with_value
from mosaic_gui.state.toml_file import TomlFile


def test_every_setting_has_what_the_page_shows() -> None:
    """Title, help and section stand with the declaration; bounds are those of the type."""
    known = {entry.name: entry for entry in entries()}
    assert set(known) == set(Settings.model_fields) - {"keys"}
    assert all(entry.title and entry.help and entry.section for entry in known.values())
    assert (known["smoothing"].least, known["smoothing"].most) == (0, 0.999)
    assert [value for value, _ in known["theme"].choices] == ["system", "dark", "light"]


def test_a_value_that_cannot_be_is_refused() -> None:
    """What holds stays as it was."""
    settings = with_value(Settings(), "theme", "light")
    with pytest.raises(ValidationError):
        with_value(settings, "theme", "pink")
    assert settings.theme == "light"


def test_what_was_chosen_comes_back(tmp_path: Path) -> None:
    """A file that a person can read, with the version in it."""
    file = TomlFile(tmp_path / "gui" / "settings.toml", Settings, VERSION)
    assert file.read().model == Settings()
    file.write(with_value(Settings(), "smoothing", 0.5))
    assert "smoothing = 0.5" in (tmp_path / "gui" / "settings.toml").read_text()
    assert file.read().model.smoothing == 0.5


def test_what_a_newer_client_wrote_is_kept(tmp_path: Path) -> None:
    """An unknown setting survives the change of another one."""
    path = tmp_path / "settings.toml"
    path.write_text('version = 1\nhologram = "on"\n')
    file = TomlFile(path, Settings, VERSION)
    file.write(with_value(file.read().model, "theme", "dark"))
    assert 'hologram = "on"' in path.read_text()


@pytest.mark.parametrize("text", ["theme = ", 'theme = "pink"', "smoothing = 7"])
def test_a_damaged_file_is_reported_and_not_lost(tmp_path: Path, text: str) -> None:
    """The defaults hold, the reason names the file, and the next choice leaves the old text next to it."""
    path = tmp_path / "settings.toml"
    path.write_text(text)
    file = TomlFile(path, Settings, VERSION)
    read = file.read()
    assert read.model == Settings()
    assert str(path) in read.problem
    file.write(read.model)
    assert (tmp_path / "settings.bad.toml").read_text() == text
    assert file.read().problem == ""


class _Renamed(BaseModel):
    shade: str = "dark"


def test_an_older_version_is_carried_over(tmp_path: Path) -> None:
    """Each migration makes one version the next, and what is written is of the newest."""
    path = tmp_path / "settings.toml"
    path.write_text('version = 1\ncolour = "light"\n')
    file = TomlFile(path, _Renamed, 3, {1: lambda d: {"tint": d["colour"]}, 2: _shade})
    assert file.read().model.shade == "light"
    file.write(_Renamed(shade="light"))
    assert path.read_text().startswith("version = 3")


def _shade(data: dict[str, object]) -> dict[str, object]:
    return {"shade": data["tint"]}


def test_each_agent_has_presets_of_its_own(tmp_path: Path) -> None:
    """What is remembered for training is apart from what is remembered for using."""
    memory = Memory(mode=Mode.HYBRID)
    memory.of(("cleanrl", "ppo")).new = {"seed": 4}
    memory.of(("spade", "bdi_q")).trained = {"checkpoint": "a/final.npz"}
    memory.of(("spade", "bdi_q")).way = Way.TRAINED
    file = TomlFile(tmp_path / "memory.toml", Memory, 1)
    file.write(memory)
    back = file.read().model
    assert back == memory
    assert back.of(("spade", "bdi_q")).new == {}
