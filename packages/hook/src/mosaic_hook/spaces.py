"""Gymnasium spaces as the `config` event has them (docs/interfaces.md), known by class name."""

from __future__ import annotations

from typing import Any


def space_of(space: Any) -> dict[str, Any]:
    """Return a description of a space: box, discrete, multi_discrete, dict, or other."""
    names = {kind.__name__ for kind in type(space).__mro__}
    if "Box" in names:
        dtype = space.dtype.newbyteorder("<").str
        return {"kind": "box", "dtype": dtype, "shape": [int(size) for size in space.shape]}
    if "Discrete" in names:
        start = int(getattr(space, "start", 0))
        described = {"kind": "discrete", "n": int(space.n)}
        return dict(described, start=start) if start else described
    if "MultiDiscrete" in names:
        return {"kind": "multi_discrete", "nvec": space.nvec.tolist()}
    if "Dict" in names:
        parts = dict(space.spaces)
        return {"kind": "dict", "spaces": {str(key): space_of(parts[key]) for key in sorted(parts)}}
    return {"kind": "other", "repr": repr(space)[:500]}
