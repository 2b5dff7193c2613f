from pathlib import Path

import pytest

from mosaic_contracts.stack import STACK_FILE, TOKEN_FILE, StackFile
from mosaic_gui.errors import ArgumentInvalid, StackUnknown, TokenFileUnreadable
from mosaic_gui.net.location import data_root, local_stack, named_stack


def make_home(home: Path, token: str = "secret\n") -> Path:
    """A data root in which a stack was started."""
    for name in (STACK_FILE, TOKEN_FILE):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
    stack = StackFile(
        supervisor_pid=1,
        gateway_url="http://127.0.0.1:5000/",
        broker_url="",
        monitor_url="",
        started_at=0,
    )
    (home / STACK_FILE).write_text(stack.model_dump_json())
    (home / TOKEN_FILE).write_text(token)
    return home


def test_the_embedded_stack_is_found(tmp_path: Path) -> None:
    """Address and token come from the data root, without a word of the user."""
    location = local_stack(make_home(tmp_path))
    assert location.url == "http://127.0.0.1:5000"
    assert location.live_url == "ws://127.0.0.1:5000/api/v1/live"
    assert "secret" not in repr(location)


def test_where_none_was_started_it_says_so(tmp_path: Path) -> None:
    """No stack is an expected state, reported in words."""
    with pytest.raises(StackUnknown, match="No stack has been started"):
        local_stack(tmp_path)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """A stack file that cannot be read says which, and what to do."""
    make_home(tmp_path)
    (tmp_path / STACK_FILE).write_text("{")
    with pytest.raises(StackUnknown, match=r"stack\.json cannot be read"):
        local_stack(tmp_path)


@pytest.mark.parametrize("token", ["", "two words"])
def test_a_file_without_a_token_is_refused(tmp_path: Path, token: str) -> None:
    """A wrong file is reported at once, not by a refused connection later."""
    with pytest.raises(TokenFileUnreadable, match="holds no token"):
        local_stack(make_home(tmp_path, token))


def test_this_machines_token_is_not_sent_to_another(tmp_path: Path) -> None:
    """A stack elsewhere needs its own token; a tunnel on this machine may use this one's."""
    make_home(tmp_path)
    with pytest.raises(TokenFileUnreadable, match="another machine"):
        named_stack("http://gpu-box:8420", None, tmp_path)
    assert named_stack("http://localhost:8420", None, tmp_path).token == "secret"


@pytest.mark.parametrize("url", ["gpu-box:8420", "ftp://x", "http://"])
def test_what_is_no_address_is_refused(tmp_path: Path, url: str) -> None:
    """A wrong address is reported before anything is sent."""
    with pytest.raises(ArgumentInvalid, match="no address"):
        named_stack(url, None, tmp_path)


def test_an_address_is_taken_without_what_was_copied_with_it(tmp_path: Path) -> None:
    """The path of a request and a slash are left out, and a password is refused without being shown."""
    make_home(tmp_path)
    found = named_stack("http://localhost:8420/api/v1/runs", None, tmp_path)
    assert found.url == "http://localhost:8420"
    with pytest.raises(ArgumentInvalid, match="neither user") as caught:
        named_stack("http://me:word@localhost:8420", None, tmp_path)
    assert "word" not in str(caught.value)


def test_the_data_root(tmp_path: Path) -> None:
    """MOSAIC_HOME wins; else the checkout's `var`."""
    assert data_root({"MOSAIC_HOME": str(tmp_path)}) == tmp_path
    assert data_root({"MOSAIC_ROOT": "/checkout"}) == Path("/checkout/var")


def test_without_a_checkout_the_data_root_is_where_an_installed_mosaic_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`var` of the current folder if there is one, else `home` in the user's data folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert data_root({}) == tmp_path / "data" / "mosaic" / "home"
    (tmp_path / "var").mkdir()
    assert data_root({}) == tmp_path / "var"
