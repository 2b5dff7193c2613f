"""The two base models: strict on what a person sends, lenient on what a peer or the disk sends.

Non-finite floats become "NaN", "Infinity" and "-Infinity" in JSON, so that every JSON output parses
strictly, and are read back from those words.
"""

from pydantic import BaseModel, ConfigDict


class UserModel(BaseModel):
    """Base of models that users send: unknown fields are an error."""

    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,  # a program builds the validators that it uses; there are about 95
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )


class PeerModel(BaseModel):
    """Base of models that services, workers or files hold: unknown fields are kept, because the sender may be
    newer."""

    model_config = ConfigDict(
        extra="allow",
        defer_build=True,
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )
