"""Parameters that are JSON objects: how an environment is made and reset."""

import json
from typing import Any


class ObjectInvalid(ValueError):
    """A parameter is no JSON object; the message names it."""


def read_object(text: str, name: str) -> dict[str, Any]:
    """Return the object in a parameter; {} for an empty one.

    Args:
        text: value of the parameter.
        name: its name, for the message.

    Raises:
        ObjectInvalid: it is no JSON object, or names what may not be set.
    """
    if not text.strip():
        return {}
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise ObjectInvalid(f"{name} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ObjectInvalid(f"{name} must be a JSON object")
    if "render_mode" in found:
        raise ObjectInvalid(f"{name} may not name render_mode: frames are drawn anyway")
    return found
