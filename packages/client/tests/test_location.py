"""Finding the stack."""

from pathlib import Path

import pytest

from mosaic_client import CertificateRefused, Client, StackUnreachable, TokenUnreadable, find_stack
from mosaic_client.location import data_root
from mosaic_contracts.stack import STACK_FILE, TOKEN_FILE, StackFile


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_stack_of_the_data_root_is_found(tmp_path: Path) -> None:
    """stack.json gives the address and the token file of the same root the token, spaces in the path or not."""
    home = tmp_path / "a home with spaces"
    stack = StackFile(
        supervisor_pid=1,
        gateway_url="http://127.0.0.1:81",
        broker_url="",
        monitor_url="",
        started_at=0,
    )
    write(home / STACK_FILE, stack.model_dump_json())
    write(home / TOKEN_FILE, "secret\n")
    location = find_stack({"MOSAIC_HOME": str(home)})
    assert (location.url, location.token) == ("http://127.0.0.1:81", "secret")
    assert location.live_url == "ws://127.0.0.1:81/api/v1/live"


def test_an_address_of_the_environment_wins(tmp_path: Path) -> None:
    """MOSAIC_URL with MOSAIC_TOKEN_FILE names a stack elsewhere."""
    token = tmp_path / "token"
    write(token, "other")
    location = find_stack({"MOSAIC_URL": "https://host:1/", "MOSAIC_TOKEN_FILE": str(token)})
    assert (location.url, location.token) == ("https://host:1", "other")
    assert not location.is_loopback


def test_no_stack_says_how_to_start_one(tmp_path: Path) -> None:
    """The message holds the command to type."""
    with pytest.raises(StackUnreachable, match="mosaic up -d"):
        find_stack({"MOSAIC_HOME": str(tmp_path)})


def test_a_token_is_never_shown(tmp_path: Path) -> None:
    """Neither a missing token's error nor a location's text holds one."""
    with pytest.raises(TokenUnreadable, match="MOSAIC_TOKEN_FILE"):
        find_stack({"MOSAIC_URL": "http://127.0.0.1:1", "MOSAIC_HOME": str(tmp_path)})
    write(tmp_path / TOKEN_FILE, "canary")
    found = find_stack({"MOSAIC_URL": "http://127.0.0.1:1", "MOSAIC_HOME": str(tmp_path)})
    assert "canary" not in repr(found)


def test_this_machines_token_is_not_sent_elsewhere(tmp_path: Path) -> None:
    """Another machine's address without a token file of its own is refused, although there is a local token."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "gateway.token").write_text("local")
    with pytest.raises(TokenUnreadable, match="another machine"):
        find_stack({"MOSAIC_URL": "https://lab.example", "MOSAIC_HOME": str(tmp_path)})


def test_arguments_win_over_the_environment(tmp_path: Path) -> None:
    """What a script names is taken, whatever the environment says; a token needs no file then."""
    environ = {"MOSAIC_URL": "http://127.0.0.1:1", "MOSAIC_TOKEN_FILE": str(tmp_path / "absent")}
    found = find_stack(environ, url="https://lab:8443", token="given", ca_file="lab.crt")
    assert (found.url, found.token, found.ca_file) == ("https://lab:8443", "given", Path("lab.crt"))
    with pytest.raises(ValueError, match="not both"):
        find_stack(environ, token="given", token_file="file")
    with pytest.raises(TokenUnreadable, match="--token-file"):
        find_stack({}, url="https://lab:8443")


@pytest.mark.parametrize("copied", ["https://lab/", "https://lab/api/v1/runs", " https://lab "])
def test_an_address_is_taken_without_what_was_copied_with_it(copied: str) -> None:
    """A slash, the path of a request or a blank more does not make it another stack."""
    assert find_stack({}, url=copied, token="t").url == "https://lab"
    below = find_stack({}, url="https://lab/mosaic/", token="t")
    assert below.live_url == "wss://lab/mosaic/api/v1/live"


@pytest.mark.parametrize(
    "wrong",
    ["lab:8443", "lab", "ftp://lab", "http://", "http://lab:x", "http://[::1", "https://u:p@lab"],
)
def test_what_is_no_address_is_told(wrong: str) -> None:
    """The message shows what one looks like, and no password."""
    with pytest.raises(StackUnreachable, match=r"https?://") as caught:
        find_stack({}, url=wrong, token="t")
    assert "u:p" not in str(caught.value)


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    """A wrong --ca-file is refused by name before anything is sent."""
    for content in ("no certificate", None):
        file = tmp_path / "lab.crt"
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content)
        with pytest.raises(CertificateRefused, match=r"lab\.crt"):
            Client(find_stack({}, url="https://lab", token="t", ca_file=file))


def test_without_a_checkout_the_data_root_is_where_an_installed_mosaic_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`var` of the current folder if there is one, else `home` in the user's data folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert data_root({}) == tmp_path / "data" / "mosaic" / "home"
    (tmp_path / "var").mkdir()
    assert data_root({}) == tmp_path / "var"
