"""Targets of alerts: a file each, written by the user of the stack, readable for nobody else.

A webhook may also be added through the API. A command cannot: the token of the API would be enough to run programs.
"""

import os
import re
import stat
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr, ValidationError

from mosaic_base.atomic import replace_file
from mosaic_contracts.alert_words import TARGET_PATTERN, TARGETS_DIR
from mosaic_contracts.alerts import AlertTargetFile, AlertTargetRequest
from mosaic_scheduler.errors import AlertTargetRefused, AlertTargetUnknown
from mosaic_servicekit.logging import get_log

_NAME = re.compile(TARGET_PATTERN)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class AlertTargets:
    """The files of `MOSAIC_HOME/secrets/alert_targets`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._folder = home / TARGETS_DIR
        self._complained: set[str] = set()

    def all(self) -> dict[str, AlertTargetFile]:
        """Targets by name. A file that others could read, or that is no target, is left out, and the log says so."""
        try:
            names = sorted(path.stem for path in self._folder.glob("*.json"))
        except FileNotFoundError:
            return {}
        found = {name: self._read(name) for name in names if _NAME.fullmatch(name)}
        return {name: target for name, target in found.items() if target is not None}

    def keep(self, name: str, asked: AlertTargetRequest) -> AlertTargetFile:
        """Add a webhook, in place of a webhook of that name.

        Raises:
            AlertTargetRefused: a command has this name, or the address is none of http or https.
        """
        if _NAME.fullmatch(name) is None:
            raise AlertTargetRefused(
                "a name has up to 40 small letters, digits, _ and -, and begins with a letter"
            )
        known = self._read(name)
        if known is not None and known.kind == "command":
            raise AlertTargetRefused(
                f"{name!r} is a command; remove it first, or take another name"
            )
        url = asked.webhook.get_secret_value()
        if not re.match(r"https?://[^/\s]+", url) or re.search(r"\s", url):
            raise AlertTargetRefused("the address of a webhook begins with https:// or http://")
        target = AlertTargetFile(
            kind="webhook",
            url=url,
            authorization=_revealed(asked.authorization),
            created_at=datetime.now(UTC),
        )
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(self._path(name), target.model_dump_json(indent=2) + "\n", mode=0o600)
        return target

    def remove(self, name: str) -> None:
        """Remove a target. Raises AlertTargetUnknown."""
        if _NAME.fullmatch(name) is None:
            raise AlertTargetUnknown(name)
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise AlertTargetUnknown(name) from None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.json"

    def _read(self, name: str) -> AlertTargetFile | None:
        path = self._path(name)
        try:
            known = path.stat()
            if known.st_uid != os.getuid() or known.st_mode & _OTHERS:
                self._leave_out(name, "others may read or write it: chmod 600")
                return None
            return AlertTargetFile.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValidationError as error:
            # what is wrong is not quoted: it may be the secret
            self._leave_out(name, f"{error.error_count()} wrong fields")
        except OSError as error:
            self._leave_out(name, error.strerror or "it cannot be read")
        return None

    def _leave_out(self, name: str, why: str) -> None:
        if name not in self._complained:
            self._complained.add(name)
            get_log().warning("alert_target.left_out", target=name, why=why)


def _revealed(secret: SecretStr | None) -> str:
    return "" if secret is None else secret.get_secret_value()
