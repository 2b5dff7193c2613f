"""The proxies by which runs with internet go out: of the stack's settings, for a run that names none itself."""

import os
from dataclasses import dataclass

from pydantic import SecretStr

from mosaic_contracts.stack import StackProxies
from mosaic_contracts.tracking import is_proxy, without_userinfo

_NAMES = ("HTTP_PROXY", "HTTPS_PROXY")
_LOOPBACK = "localhost,127.0.0.1,::1"
_Addresses = dict[str, SecretStr]


@dataclass(frozen=True)
class Proxies:
    """Addresses; one with a name and password in it is a secret, and goes to runs as one."""

    http: SecretStr | None = None
    https: SecretStr | None = None

    def shown(self) -> StackProxies:
        """What may be shown."""
        addresses = {
            name: without_userinfo(url.get_secret_value()) for name, url in self._all.items()
        }
        return StackProxies(http=addresses.get("HTTP_PROXY"), https=addresses.get("HTTPS_PROXY"))

    def variables(self) -> dict[str, str]:
        """Environment variables of a run, as all programs read them; addresses that are secrets are not among them."""
        open_ones = {
            name: url.get_secret_value()
            for name, url in self._all.items()
            if name not in self.secrets()
        }
        if not self._all:
            return {}
        both = {**open_ones, **{name.lower(): url for name, url in open_ones.items()}}
        return {**both, "NO_PROXY": os.environ.get("NO_PROXY", _LOOPBACK)}

    def secrets(self) -> _Addresses:
        """Those with a name and password, by the name of the secret."""
        return {
            name: url
            for name, url in self._all.items()
            if without_userinfo(url.get_secret_value()) != url.get_secret_value()
        }

    @property
    def _all(self) -> _Addresses:
        return {
            name: url
            for name, url in zip(_NAMES, (self.http, self.https), strict=True)
            if url is not None
        }


def standard(name: str) -> SecretStr | None:
    """What the environment of the stack itself has by the name that all programs know; nothing that is no proxy."""
    value = os.environ.get(name) or os.environ.get(name.lower()) or ""
    return SecretStr(value) if is_proxy(value) else None
