from pathlib import Path

import pytest

from mosaic_gui.errors import ArgumentInvalid, LibraryMissing
from mosaic_gui.program.arguments import Arguments, parse_arguments
from mosaic_gui.program.qt_check import check_platform, explain_import
from mosaic_gui.state.episode_list import EpisodeAddress


def test_what_is_asked_for_is_read() -> None:
    """Every option reaches the program; without any, it is the window of this machine's stack."""
    assert parse_arguments([]) == Arguments()
    given = parse_arguments(
        [
            "--url",
            "http://a:1",
            "--token-file",
            "t",
            "--screenshot",
            "d",
            "--size",
            "1920X1080",
            "--theme",
            "light",
        ]
    )
    assert given == Arguments("http://a:1", Path("t"), None, Path("d"), (1920, 1080), "light")


def test_an_environment_goes_with_a_watched_run() -> None:
    """A number without `--watch`, or below zero, is refused in words."""
    assert parse_arguments(["--run", "R", "--watch", "--env", "2"]).env == 2
    for words in (["--run", "R", "--env", "2"], ["--run", "R", "--watch", "--env", "-1"]):
        with pytest.raises(ArgumentInvalid, match="goes with --watch"):
            parse_arguments(words)


@pytest.mark.parametrize("size", ["big", "1280", "1280x", "x800", "-1x5"])
def test_a_size_that_is_none_is_refused(size: str) -> None:
    """The message shows how a size is written."""
    with pytest.raises(ArgumentInvalid, match="1280x800"):
        parse_arguments([f"--size={size}"])


def test_a_missing_library_is_named_with_its_package() -> None:
    """The user who starts it on a bare machine learns what to install."""
    error = ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")
    assert "apt-get install libegl1" in str(explain_import(error))


def test_without_a_display_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Qt itself would abort the program with a core dump."""
    for name in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LibraryMissing, match="xvfb-run"):
        check_platform()


def test_missing_libraries_of_the_screen_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform plugin's libraries are looked for before Qt fails over them."""
    monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("DISPLAY", ":99")
    monkeypatch.setattr("ctypes.util.find_library", lambda _name: None)
    with pytest.raises(LibraryMissing, match=r"apt-get install .*libxcb-cursor0"):
        check_platform()


def test_a_run_and_an_episode_are_named() -> None:
    """The command line opens the window at them."""
    given = parse_arguments(["--run", "R", "--watch"])
    assert (given.run, given.watch, given.replay) == ("R", True, None)
    assert parse_arguments(["--replay", "R:2:1:41"]).replay == EpisodeAddress("R", 2, 1, 41)


@pytest.mark.parametrize("argv", [["--watch"], ["--replay", "R:1"], ["--replay", "R:1:x:2"]])
def test_half_an_episode_is_refused(argv: list[str]) -> None:
    """With the form that is expected."""
    with pytest.raises(ArgumentInvalid, match=r"RUN"):
        parse_arguments(argv)
