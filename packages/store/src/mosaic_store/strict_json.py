"""JSON that every parser takes: non-finite numbers as the words NaN, Infinity and -Infinity."""

import json
import math
from typing import Any


def strict_json(value: Any) -> bytes:
    """Serialise a plain value. Raises TypeError for what is no JSON value (bytes, for one)."""
    try:
        return _dump(value)
    except ValueError:
        # rare: only then is it worth the walk
        return _dump(with_words(value))


def with_words(value: Any) -> Any:
    """A copy of `value` with words in place of non-finite floats."""
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: with_words(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_words(item) for item in value]
    return value


def _dump(value: Any) -> bytes:
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.encode()
