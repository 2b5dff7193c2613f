"""The token's file."""

import threading
from pathlib import Path

import pytest

from mosaic_gateway.access.token import load_token
from mosaic_gateway.errors import TokenFileInvalid


def test_a_token_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    """First start makes a file of mode 0600 in a folder of mode 0700; later starts read the same token."""
    path = tmp_path / "secrets" / "gateway.token"
    token = load_token(path)
    assert len(token) >= 40
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert load_token(path) == token
    assert [p.name for p in path.parent.iterdir()] == ["gateway.token"]


def test_two_at_once_get_the_same_token(tmp_path: Path) -> None:
    """All gateways that start at the same moment use the one token that won."""
    path = tmp_path / "secrets" / "gateway.token"
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(load_token(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


@pytest.mark.parametrize(("mode", "content"), [(0o644, "x" * 40), (0o600, "short"), (0o600, "")])
def test_a_file_that_cannot_be_trusted_is_an_error(tmp_path: Path, mode: int, content: str) -> None:
    """A file that others can read, or that holds no token, keeps the gateway from starting."""
    path = tmp_path / "gateway.token"
    path.write_text(content)
    path.chmod(mode)
    with pytest.raises(TokenFileInvalid):
        load_token(path)


def test_a_folder_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    """When the file can be neither made nor read, the error names it and says what to do."""
    (tmp_path / "secrets").write_text("a file in the way")
    with pytest.raises(TokenFileInvalid, match="MOSAIC_HOME"):
        load_token(tmp_path / "secrets" / "gateway.token")
