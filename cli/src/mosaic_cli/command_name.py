"""The name by which the user calls this program: `./mosaic` in a checkout, `mosaic` where the package is installed."""

import re

IN_CHECKOUT = "./mosaic"
_WRITTEN = re.compile(r"(?<![\w/.])\./mosaic\b(?!/)")
_name = IN_CHECKOUT


def use(name: str) -> None:
    """Set the name for this process."""
    global _name  # a property of the process, as sys.argv is
    _name = name


def command_name() -> str:
    """The name to type."""
    return _name


def with_command_name(text: str) -> str:
    """The text, which names commands as in a checkout, with the name that this user has."""
    return text if _name == IN_CHECKOUT else _WRITTEN.sub(_name, text)
