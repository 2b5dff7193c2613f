"""A proxy with a password reaches a worker as a file, and its libraries as a variable."""

import os
from pathlib import Path

import pytest

from mosaic_workerkit.entry import take_proxies


def test_a_proxy_file_becomes_the_variables_that_programs_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both spellings, in the place of what was inherited; without a file nothing changes."""
    file = tmp_path / "HTTPS_PROXY"
    file.write_text("http://me:pw@vpn:3128")
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTPS_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://old:1")
    monkeypatch.setenv("MOSAIC_SECRET_HTTPS_PROXY_FILE", str(file))
    take_proxies()
    assert os.environ["HTTPS_PROXY"] == os.environ["https_proxy"] == "http://me:pw@vpn:3128"
    assert "HTTP_PROXY" not in os.environ
