"""Settings of a service, all from environment variables (docs/reference/environment.md lists them)."""

from pathlib import Path
from typing import Annotated, Literal, Self, get_args

from pydantic import (
    AnyUrl,
    BeforeValidator,
    Field,
    SecretStr,
    UrlConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, SettingsConfigDict

from mosaic_servicekit.errors import SettingsInvalid

# An empty variable is how compose says that there is none.
OptionalPath = Annotated[Path | None, BeforeValidator(lambda value: value or None)]
BrokerUrl = Annotated[AnyUrl, UrlConstraints(allowed_schemes=["nats", "tls"], host_required=True)]


def default_if_empty(settings: type[BaseSettings], value: object, info: ValidationInfo) -> object:
    """Return the field's default for an empty text: `NAME=` in an env file sets nothing."""
    if value != "" or info.field_name is None:
        return value
    return settings.model_fields[info.field_name].get_default(call_default_factory=True)


class ServiceSettings(BaseSettings):
    """What every service reads; a service derives its own settings from this class."""

    model_config = SettingsConfigDict(env_prefix="MOSAIC_", extra="ignore", frozen=True)

    home: Path = Path("var")
    """Data root."""
    broker_url: BrokerUrl = AnyUrl("nats://127.0.0.1:4222")
    broker_ca: OptionalPath = None
    """With `tls://`: certificate (PEM) of the only authority to trust; None: those that the system trusts."""
    creds: Path | None = None
    """Credentials file of this service; None: a broker without authentication (tests only)."""
    disk_reserve_bytes: Annotated[int, Field(ge=0)] = 512 * 2**20
    """Free bytes that are never filled."""
    migration_copy: bool = True
    """Whether a database of an older version is copied before it is brought to a newer one."""
    log_format: Literal["json", "text"] = "json"

    @field_validator("disk_reserve_bytes", "migration_copy", "log_format", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object, info: ValidationInfo) -> object:
        return default_if_empty(cls, value, info)

    @field_validator("home", "creds", "broker_ca")
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        # A child process may have another working directory.
        return value.absolute() if value is not None else None

    @property
    def url(self) -> str:
        """The broker, as services reach it."""
        return str(self.broker_url).rstrip("/")

    @classmethod
    def load(cls) -> Self:
        """Read the environment.

        Raises:
            SettingsInvalid: names each variable with a bad value and what is allowed.
        """
        try:
            return cls()
        except ValidationError as error:
            raise SettingsInvalid("; ".join(map(cls._told, error.errors()))) from error

    @classmethod
    def _told(cls, error: ErrorDetails) -> str:
        if not error["loc"]:  # of several settings together: the message names them
            return error["msg"].removeprefix("Value error, ")
        name = cls.model_config["env_prefix"] + "_".join(map(str, error["loc"])).upper()
        field = cls.model_fields.get(str(error["loc"][0]))
        if field is not None and SecretStr in (field.annotation, *get_args(field.annotation)):
            return f"{name}: {error['msg']}"  # what was given is for nobody's eyes
        return f"{name}={error['input']!r}: {error['msg']}"
