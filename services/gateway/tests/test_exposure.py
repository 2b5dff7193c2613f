"""The gateway leaves loopback only encrypted, or behind something that is named."""

import os
import shutil
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.errors import SettingsInvalid
from mosaic_servicekit.testing import TestBroker, free_port


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.5", "::"])  # noqa: S104
def test_open_address_in_the_clear_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Beyond loopback without TLS the settings are refused, and the message says what to give."""
    monkeypatch.setenv("MOSAIC_BIND", address)
    with pytest.raises(SettingsInvalid, match=r"MOSAIC_BIND=.*MOSAIC_TLS_CERT.*MOSAIC_BEHIND"):
        GatewaySettings.load()
    monkeypatch.setenv("MOSAIC_BEHIND", "tunnel")
    assert str(GatewaySettings.load().bind) == address


def test_half_a_pair_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A certificate without its key is no TLS."""
    monkeypatch.setenv("MOSAIC_TLS_CERT", "cert.pem")
    with pytest.raises(SettingsInvalid, match="MOSAIC_TLS_KEY"):
        GatewaySettings.load()


@pytest.mark.broker
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_https_is_spoken(tmp_path: Path, broker: TestBroker) -> None:
    """With certificate and key the gateway answers over TLS to who trusts it, and to nobody in the clear."""
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    port = free_port()
    gateway = subprocess.Popen(
        [sys.executable, "-m", "mosaic_gateway"],
        env={
            **os.environ,
            "MOSAIC_HOME": str(tmp_path / "home"),
            "MOSAIC_BROKER_URL": broker.url,
            "MOSAIC_GATEWAY_PORT": str(port),
            "MOSAIC_TLS_CERT": str(cert),
            "MOSAIC_TLS_KEY": str(key),
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert gateway.stderr is not None
        for line in gateway.stderr:
            if "gateway.started" in line:
                break
        with httpx.Client(verify=ssl.create_default_context(cafile=str(cert))) as client:
            end = time.monotonic() + 5
            while True:
                try:
                    answer = client.get(f"https://localhost:{port}/healthz")
                    break
                except httpx.ConnectError:
                    assert time.monotonic() < end
        assert answer.status_code == 200
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://localhost:{port}/healthz", timeout=3)
    finally:
        gateway.terminate()
        gateway.communicate(timeout=10)
    assert gateway.returncode == 0
