"""The proxies by which runs with internet go out: of the stack's settings, for a run that names none itself."""

import os
from dataclasses import dataclass

from pydantic import SecretStr

from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import StackProxies
from mosaic_contracts.tracking import (
    TrackingRole,
    is_proxy,
    parameters_by_role,
    without_userinfo,
)
from mosaic_contracts.worker import WorkerDescription

_NAMES = ("HTTP_PROXY", "HTTPS_PROXY")
LOOPBACK = "localhost,127.0.0.1,::1"
_Addresses = dict[str, SecretStr]


@dataclass(frozen=True)
class Proxies:
    """Addresses; one with a name and password in it is a secret, and goes to runs as one."""

    http: SecretStr | None = None
    https: SecretStr | None = None

    def of_run(self, spec: RunSpec, description: WorkerDescription) -> "Proxies":
        """The proxies of one run: those that it names, else these; none without internet."""
        if not spec.internet:
            return Proxies()
        return self.overridden(*_named(spec, description))

    def overridden(self, http: str, https: str) -> "Proxies":
        """These proxies, with each address that is not empty in place of the own one."""
        return Proxies(
            SecretStr(http) if http else self.http, SecretStr(https) if https else self.https
        )

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
        return {**both, "NO_PROXY": os.environ.get("NO_PROXY", LOOPBACK)}

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


def _named(spec: RunSpec, description: WorkerDescription) -> tuple[str, str]:
    """Addresses of HTTP and HTTPS proxy that a run names; empty: none."""
    if spec.sync is not None:
        return spec.sync.http_proxy, spec.sync.https_proxy
    algorithm = description.find_algorithm(spec.algorithm)
    names = parameters_by_role(algorithm.parameters) if algorithm is not None else {}
    given = [
        spec.parameters.get(names.get(role, ""))
        for role in (TrackingRole.HTTP_PROXY, TrackingRole.HTTPS_PROXY)
    ]
    http, https = (value if isinstance(value, str) else "" for value in given)
    return http, https


def standard(name: str) -> SecretStr | None:
    """What the environment of the stack itself has by the name that all programs know; nothing that is no proxy."""
    value = os.environ.get(name) or os.environ.get(name.lower()) or ""
    return SecretStr(value) if is_proxy(value) else None
