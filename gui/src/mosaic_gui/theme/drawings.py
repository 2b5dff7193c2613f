"""Drawings that the style sheet names. They are Qt resources in memory: a killed program leaves no file."""

import struct
from functools import cache

from PyQt6.QtCore import qRegisterResourceData

from mosaic_gui.theme.icon import svg

ROOT = "mosaic"
_FORMAT = 1
"""Version of Qt's resource format, in which a node has no time."""
_FOLDER = 0x02
"""Flag of a node."""
_NODE = struct.Struct(">IHII")
"""Offset of the name, flags; of a folder: number and place of its children, of a file: language, offset of the data."""
_ANY_LANGUAGE = 0x0001
_registered: list[tuple[bytes, bytes, bytes]] = []
"""Qt keeps pointers to these bytes."""


@cache
def drawing(name: str, colour: str) -> str:
    """The address of an icon in a colour, for `url()` of a style sheet."""
    file = f"{name}-{colour.removeprefix('#')}.svg"
    parts = _resource(file, svg(name, colour).encode())
    qRegisterResourceData(_FORMAT, *parts)
    _registered.append(parts)
    return f":/{ROOT}/{file}"


def _resource(file: str, content: bytes) -> tuple[bytes, bytes, bytes]:
    """Tree, names and data of one file in the folder ROOT, in the form that Qt's `rcc` writes."""
    folder = _name(ROOT)
    tree = (
        _NODE.pack(0, _FOLDER, 1, 1),
        _NODE.pack(0, _FOLDER, 1, 2),
        _NODE.pack(len(folder), 0, _ANY_LANGUAGE, 0),
    )
    return b"".join(tree), folder + _name(file), struct.pack(">I", len(content)) + content


def _name(text: str) -> bytes:
    return struct.pack(">HI", len(text), _hash(text)) + text.encode("utf-16-be")


def _hash(text: str) -> int:
    """The hash by which Qt finds a name among its siblings."""
    found = 0
    for sign in text:
        found = (found << 4) + ord(sign)
        found = (found ^ (found & 0xF0000000) >> 23) & 0x0FFFFFFF
    return found
