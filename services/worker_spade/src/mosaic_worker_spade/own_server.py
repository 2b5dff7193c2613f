"""Leaves SPADE's own XMPP server out of a run, which uses ejabberd: its import takes as long as all the rest of SPADE.

`spade.container` imports two names of pyjabber for it. With them come SQLAlchemy, Alembic and a web server, and a
temporary folder that nobody removes.
"""

import sys
from types import ModuleType
from typing import Any

_PACKAGE = "pyjabber"
_IMPORTED = {"server": "Server", "server_parameters": "Parameters"}
"""What SPADE imports of it: class by module."""


class OwnServerLeftOut:
    """Takes the place of each of these classes; nothing of a run makes one."""

    def __init__(self, *_: Any, **__: Any) -> None:
        """Refuse.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "SPADE's own XMPP server is no part of a run: its agents use the stack's (`./mosaic xmpp up`)"
        )


def leave_out_own_server() -> None:
    """Have `import spade` find stand-ins; does nothing where pyjabber was imported before."""
    if _PACKAGE in sys.modules:
        return
    package = ModuleType(_PACKAGE)
    package.__path__ = []
    sys.modules[_PACKAGE] = package
    for name, imported in _IMPORTED.items():
        module = ModuleType(f"{_PACKAGE}.{name}")
        setattr(module, imported, OwnServerLeftOut)
        sys.modules[module.__name__] = module
