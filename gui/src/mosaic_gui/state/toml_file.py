"""A pydantic model in a versioned TOML file: read with migrations, written atomically; a bad file is kept."""

import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec.toml
from pydantic import BaseModel, ValidationError

from mosaic_gui.state.language import tr

Data = dict[str, Any]
Migration = Callable[[Data], Data]
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Read(Generic[M]):
    """Content of a file."""

    model: M
    problem: str = ""
    """Why it could not be taken, with what to do; the model is then that of a first start."""


class TomlFile(Generic[M]):
    """One file of one kind of model."""

    def __init__(
        self,
        path: Path,
        kind: type[M],
        version: int,
        migrations: Mapping[int, Migration] | None = None,
    ) -> None:
        """`migrations`: by version, what makes data of that version data of the next one."""
        self.path = path
        self._kind, self._version = kind, version
        self._migrations = migrations or {}
        self._is_bad = False

    def read(self) -> Read[M]:
        """The model, or the defaults with the reason why they hold."""
        try:
            text = self.path.read_text("utf-8")
        except FileNotFoundError:
            return Read(self._kind())
        except (OSError, UnicodeDecodeError) as error:
            return self._refuse(tr("it cannot be read ({why})", why=type(error).__name__))
        try:
            return Read(self._kind.model_validate(self._migrated(tomllib.loads(text))))
        except tomllib.TOMLDecodeError as error:
            return self._refuse(tr("it is not TOML: {why}", why=error))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return self._refuse(f"{where}: {first['msg']}")

    def write(self, model: M) -> None:
        """Replace the file in one step; one that could not be read is kept next to it.

        Raises:
            OSError: it cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self._is_bad and self.path.exists():
            self.path.replace(self.path.with_suffix(".bad.toml"))
            self._is_bad = False
        data = {"version": self._version, **model.model_dump(mode="json", exclude_none=True)}
        fresh = self.path.with_suffix(f".{os.getpid()}.tmp")
        fresh.write_bytes(msgspec.toml.encode(data))
        fresh.replace(self.path)

    def _migrated(self, data: Data) -> Data:
        version = data.pop("version", self._version)
        while isinstance(version, int) and version in self._migrations:
            data, version = self._migrations[version](data), version + 1
        return data

    def _refuse(self, why: str) -> Read[M]:
        self._is_bad = True
        words = tr(
            "{file} is not used: {why}. Correct it, or change a setting here.",
            file=self.path,
            why=why,
        )
        return Read(self._kind(), words)
