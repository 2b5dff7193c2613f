"""uv sees what says where packages come from, and nothing else of the caller's settings."""

from pathlib import Path

import pytest

from mosaic_environments.installer import settings, wheel_folders


def test_settings_for_other_work_are_dropped() -> None:
    """Settings of the place of an installation, and of Python itself, do not count; sources of packages do."""
    kept = settings(
        {
            "PATH": "/bin",
            "PIP_PREFIX": "/nowhere",
            "UV_SYSTEM_PYTHON": "1",
            "UV": "/nowhere",
            "PYTHONPATH": "/nowhere",
            "PIP_TRUSTED_HOST": "here",
            "UV_INDEX_HERE_PASSWORD": "secret",
        }
    )
    assert {"PATH", "PIP_TRUSTED_HOST", "UV_INDEX_HERE_PASSWORD"} <= kept.keys()
    assert not kept.keys() & {"PIP_PREFIX", "UV_SYSTEM_PYTHON", "UV", "PYTHONPATH"}


@pytest.mark.parametrize(
    ("pip", "uv", "folders"),
    [("/a /b", "", ["/a", "/b"]), ("/a", "/c,/d", ["/c", "/d"]), ("", "", [])],
)
def test_wheel_folders_named_to_pip_are_named_to_uv(pip: str, uv: str, folders: list[str]) -> None:
    """pip separates folders by spaces, uv by commas; a value set for uv itself wins."""
    environ = {"PIP_FIND_LINKS": pip, "UV_FIND_LINKS": uv}
    assert wheel_folders(environ) == folders
    assert settings(environ).get("UV_FIND_LINKS", "") == ",".join(folders)


def test_a_relative_wheel_folder_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uv runs in another folder than the caller."""
    (tmp_path / "wheels").mkdir()
    monkeypatch.chdir(tmp_path)
    assert wheel_folders({"PIP_FIND_LINKS": "wheels"}) == [str(tmp_path / "wheels")]


@pytest.mark.parametrize(
    ("environ", "index"),
    [
        ({"PIP_INDEX_URL": "a"}, "a"),
        ({"PIP_INDEX_URL": "a", "UV_DEFAULT_INDEX": "b"}, "b"),
        ({"PIP_INDEX_URL": "a", "UV_INDEX_URL": "b"}, None),
    ],
)
def test_an_index_named_to_pip_is_named_to_uv(environ: dict[str, str], index: str | None) -> None:
    """A value that was set for uv itself wins."""
    assert settings(environ).get("UV_DEFAULT_INDEX") == index
