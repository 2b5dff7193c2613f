"""Permissions on the broker: those of the services, and the credentials of one run.

The scheduler holds a scoped signing key: a holder of this key can mint only users that are confined to the subjects of
the run they are named after (architecture, "Trust").
"""

import hmac
import json
from pathlib import Path
from typing import Any

from mosaic_base.atomic import replace_file
from mosaic_contracts import subjects
from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.stack_files import BROKER_SECRETS
from mosaic_servicekit import jwt
from mosaic_servicekit.errors import CredentialsInvalid

RUN_LIFETIME_S = 3600.0
RENEW_AFTER_S = 1200.0
"""A third of the lifetime: two renewals may fail before a run loses its connection."""
NODE_LIFETIME_S = 7 * 86_400.0
"""Lifetime for a run whose folder is on another machine: it may wait in an engine's queue for days, and nobody there
can give it others once they have expired. Its user is revoked at its end all the same."""
SIGNER_FILE = f"{BROKER_SECRETS}/run_signer.json"
USER_INFO = "$SYS.REQ.USER.INFO"
"""The broker answers with its own time and what the asking user may do."""

# A name that passes for a run id, so that patterns are built by `subjects` and nowhere else.
_ANY = "0" * 26
_TEMPLATE_NAME = "{{name()}}"
_STREAM = subjects.EVENTS_STREAM


def run_template() -> dict[str, Any]:
    """What a run's user may do, with its name (the run id) still open."""
    publish = [
        subjects.events(_ANY),
        subjects.heartbeat(_ANY),
        subjects.live_all(_ANY),
        subjects.service("recorder", "committed"),
        subjects.node(_ANY, "*"),
    ]
    subscribe = [
        subjects.control(_ANY),
        subjects.committed(_ANY),
        f"{subjects.inbox_prefix(_ANY)}.>",
    ]
    return jwt.permissions(_named(publish, _TEMPLATE_NAME), _named(subscribe, _TEMPLATE_NAME))


def service_permissions() -> dict[str, dict[str, Any]]:
    """Permissions of each service's user, by name."""
    return {
        name: jwt.permissions(publish, [*subscribe, f"{subjects.inbox_prefix(name)}.>"])
        for name, (publish, subscribe) in {
            "scheduler": _scheduler(),
            "recorder": _recorder(),
            "gateway": _gateway(),
        }.items()
    }


def creds_path(home: Path, service: str) -> Path:
    """Where the credentials of a service lie."""
    return home / BROKER_SECRETS / f"{service}.creds"


class RunSigner:
    """Mints the credentials of runs."""

    def __init__(self, account: str, seed: str) -> None:
        self._account = account
        self._seed = seed

    @classmethod
    def load(cls, home: Path) -> "RunSigner":
        """Read the signing key that `broker init` made.

        Raises:
            CredentialsInvalid: there is none, or it is damaged.
        """
        path = home / SIGNER_FILE
        try:
            data = json.loads(path.read_text())
            return cls(data["account"], data["seed"])
        except (OSError, ValueError, KeyError) as error:
            raise CredentialsInvalid(
                f"{path} cannot be read ({error}); run `python -m mosaic_servicekit.broker init`"
            ) from error

    def write_creds(self, run_id: str, path: Path, lifetime_s: float = RUN_LIFETIME_S) -> None:
        """Write (atomically, mode 0600) a creds file for one run.

        Raises:
            ValueError: not a run id. A user named `*` could publish for every run.
        """
        write_secret(path, self.creds(run_id, lifetime_s))

    def creds(self, run_id: str, lifetime_s: float = RUN_LIFETIME_S) -> str:
        """The content of such a file. Raises ValueError as `write_creds`."""
        name = parse_run_id(run_id)
        seed = self._run_seed(name)
        token = jwt.user_jwt(
            self._seed, self._account, jwt.public_key(seed), name, lifetime_s=lifetime_s
        )
        return jwt.creds_text(token, seed)

    def public_key(self, run_id: str) -> str:
        """The one user that all credentials of a run are for: what is revoked at its end."""
        return jwt.public_key(self._run_seed(parse_run_id(run_id)))

    def _run_seed(self, run_id: str) -> str:
        # Derived, so that nobody has to keep a list of what was minted for whom.
        secret = hmac.digest(self._seed.encode(), f"mosaic run {run_id}".encode(), "sha256")
        return jwt.seed_of(jwt.USER, secret)


def write_secret(path: Path, text: str) -> None:
    """Replace `path` atomically, mode 0600, in a folder of mode 0700."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.parent.chmod(0o700)
    replace_file(path, text, mode=0o600)


def _named(patterns: list[str], name: str) -> list[str]:
    return [pattern.replace(_ANY, name) for pattern in patterns]


def _scheduler() -> tuple[list[str], list[str]]:
    publish = [
        subjects.EVENTS_ALL,
        subjects.RUN_CHANGED,
        subjects.service_all("recorder"),
        subjects.service("scheduler", "status"),  # its own health check
        USER_INFO,
        *_named([subjects.control(_ANY)], "*"),
    ]
    subscribe = [
        subjects.service_all("scheduler"),
        subjects.HEARTBEAT_ALL,
        subjects.COMMITTED_ALL,
        subjects.NODE_ALL,
    ]
    return publish, subscribe


def _recorder() -> tuple[list[str], list[str]]:
    # The recorder owns the stream: it creates it, reads it and purges it.
    api = [
        "INFO",
        "STREAM.NAMES",
        f"STREAM.*.{_STREAM}",
        f"STREAM.*.*.{_STREAM}",
        f"CONSUMER.*.{_STREAM}",
        f"CONSUMER.*.{_STREAM}.>",
        f"CONSUMER.*.*.{_STREAM}.>",
    ]
    publish = [
        *(f"$JS.API.{verb}" for verb in api),
        f"$JS.ACK.{_STREAM}.>",
        subjects.COMMITTED_ALL,
        subjects.service_all("scheduler"),
        subjects.service("recorder", "status"),  # its own health check
    ]
    return publish, [subjects.service_all("recorder"), subjects.RUN_CHANGED]


def _gateway() -> tuple[list[str], list[str]]:
    publish = [
        subjects.service_all("scheduler"),
        subjects.service_all("recorder"),
        *_named([subjects.control(_ANY)], "*"),
    ]
    subscribe = [
        subjects.EVENTS_ALL,
        subjects.COMMITTED_ALL,
        subjects.HEARTBEAT_ALL,
        subjects.RUN_CHANGED,
        *_named([subjects.live_all(_ANY)], "*"),
    ]
    return publish, subscribe
