"""The two base models: strict on what a person sends, lenient on what a peer or the disk sends.

Non-finite floats become "NaN", "Infinity" and "-Infinity" in JSON, so that every JSON output parses
strictly, and are read back from those words.
"""

from pydantic import BaseModel, ConfigDict


class UserModel(BaseModel):
    """What a person or their script sends: an unknown field is an error they want to hear about."""

    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,  # a program builds the validators that it uses; there are about 95
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )


class PeerModel(BaseModel):
    """What a peer service, a worker or the disk sends: unknown fields are kept, for they may be newer."""

    model_config = ConfigDict(
        extra="allow",
        defer_build=True,
        ser_json_inf_nan="strings",
        ser_json_bytes="base64",
        val_json_bytes="base64",
    )
