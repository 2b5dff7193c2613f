"""The gateway leaves loopback only encrypted, or behind something that is named."""

import shutil
import ssl
import stat
from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from mosaic_contracts.live import SUBPROTOCOL_JSON
from mosaic_gateway.settings import OWN_CERTIFICATE_FILE, OWN_KEY_FILE, GatewaySettings
from mosaic_servicekit.certificate import check_pair, own_certificate
from mosaic_servicekit.errors import CertificateUnusable, SettingsInvalid
from mosaic_servicekit.testing import TestBroker, free_port

needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="NOT TESTED: no openssl to make a certificate with"
)


@pytest.mark.parametrize("address", ["0.0.0.0", "192.168.1.5", "::"])  # noqa: S104
def test_open_address_in_the_clear_is_refused(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """Beyond loopback without TLS the settings are refused, and the message says what to give."""
    monkeypatch.setenv("MOSAIC_BIND", address)
    with pytest.raises(SettingsInvalid, match=r"MOSAIC_BIND=.*MOSAIC_TLS=self.*MOSAIC_BEHIND"):
        GatewaySettings.load()
    monkeypatch.setenv("MOSAIC_BEHIND", "tunnel")
    assert str(GatewaySettings.load().plain_bind) == address


def test_with_tls_plain_http_stays_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """An open address with TLS: HTTPS is spoken there, HTTP on loopback only."""
    monkeypatch.setenv("MOSAIC_BIND", "192.168.1.5")
    monkeypatch.setenv("MOSAIC_TLS", "self")
    settings = GatewaySettings.load()
    assert settings.plain_bind == IPv4Address("127.0.0.1")
    assert settings.tls_pair == (
        settings.home / OWN_CERTIFICATE_FILE,
        settings.home / OWN_KEY_FILE,
    )
    assert settings.host_names == ["192.168.1.5"]


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"MOSAIC_TLS_CERT": "cert.pem"}, "MOSAIC_TLS_KEY"),
        ({"MOSAIC_TLS": "self", "MOSAIC_TLS_CERT": "a", "MOSAIC_TLS_KEY": "b"}, "one of the two"),
        ({"MOSAIC_TLS": "self", "MOSAIC_TLS_PORT": "8765"}, "MOSAIC_TLS_PORT"),
        ({"MOSAIC_TLS": "yes"}, "MOSAIC_TLS='yes'"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], named: str
) -> None:
    """Half a pair, two certificates, one port for both doors: refused with the variable to change."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsInvalid, match=named):
        GatewaySettings.load()


@needs_openssl
def test_its_own_certificate_is_kept_while_it_is_good(tmp_path: Path) -> None:
    """It is made once, its key for nobody else; it is made again only when a host is not in it or it cannot be read."""
    certificate, key = tmp_path / "secrets" / "c.crt", tmp_path / "secrets" / "c.key"
    own_certificate(certificate, key, ["localhost", "::1", "192.168.1.5", "Lab.example"])
    check_pair(certificate, key)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert sorted(p.name for p in certificate.parent.iterdir()) == ["c.crt", "c.key"]
    first = certificate.read_bytes()
    own_certificate(certificate, key, ["::1", "lab.example"])
    assert certificate.read_bytes() == first
    own_certificate(certificate, key, ["lab.example", "new.example"])
    second = certificate.read_bytes()
    assert second != first
    certificate.write_text("no certificate")
    own_certificate(certificate, key, ["lab.example"])
    check_pair(certificate, key)


@needs_openssl
def test_a_host_that_is_no_name_gets_into_no_certificate(tmp_path: Path) -> None:
    """What would be a further line of openssl's configuration is refused, and nothing is made."""
    for host in ("lab\nextra = 1", "a, DNS:b", ""):
        with pytest.raises(CertificateUnusable, match="MOSAIC_ALLOWED_HOSTS"):
            own_certificate(tmp_path / "c.crt", tmp_path / "c.key", [host])
    assert list(tmp_path.iterdir()) == []


@needs_openssl
def test_a_pair_that_cannot_be_used_is_told_apart(tmp_path: Path) -> None:
    """Absent, open to all, of two certificates: each refused in words."""
    own_certificate(tmp_path / "a.crt", tmp_path / "a.key", ["localhost"])
    own_certificate(tmp_path / "b.crt", tmp_path / "b.key", ["localhost"])
    with pytest.raises(CertificateUnusable, match=r"MOSAIC_TLS_CERT=.*cannot be read"):
        check_pair(tmp_path / "absent", tmp_path / "a.key")
    with pytest.raises(CertificateUnusable, match="no pair"):
        check_pair(tmp_path / "a.crt", tmp_path / "b.key")
    (tmp_path / "a.key").chmod(0o604)
    with pytest.raises(CertificateUnusable, match="chmod"):
        check_pair(tmp_path / "a.crt", tmp_path / "a.key")


@pytest.mark.broker
@needs_openssl
def test_two_doors_with_one_house_behind(
    tmp_path: Path, broker: TestBroker, gateway_process: Callable[..., Any]
) -> None:
    """The TLS port serves HTTPS and wss to clients that trust the certificate.

    It serves nobody in the clear; HTTP stays open next to it on loopback.
    """
    home, tls_port = tmp_path / "home", free_port()
    home.mkdir()
    gateway = gateway_process(
        home,
        broker.url,
        MOSAIC_TLS="self",
        MOSAIC_TLS_PORT=str(tls_port),
        MOSAIC_ALLOWED_HOSTS="lab",
    )
    gateway.start()
    try:
        trusted = ssl.create_default_context(cafile=str(home / OWN_CERTIFICATE_FILE))
        with httpx.Client(verify=trusted, trust_env=False) as client:
            for host in ("localhost", "127.0.0.1"):
                answer = client.get(
                    f"https://{host}:{tls_port}/api/v1/stack", headers=gateway.headers
                )
                assert answer.status_code == 200
            answer = client.get(
                f"https://127.0.0.1:{tls_port}/healthz",
                headers={"Host": "lab"},
                extensions={"sni_hostname": "lab"},
            )
            assert answer.status_code == 200
        with connect(
            f"wss://localhost:{tls_port}/api/v1/live",
            ssl=trusted,
            additional_headers=gateway.headers,
            subprotocols=[Subprotocol(SUBPROTOCOL_JSON)],
            proxy=None,
        ) as socket:
            assert '"hello"' in str(socket.recv(timeout=60))
        with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
            httpx.get(f"https://localhost:{tls_port}/healthz", trust_env=False)
        with pytest.raises(httpx.HTTPError):
            httpx.get(f"http://localhost:{tls_port}/healthz", timeout=3, trust_env=False)
    finally:
        code = gateway.stop()
    assert code == 0, gateway.log.read_text()
    assert "certificate.made" in gateway.log.read_text()
