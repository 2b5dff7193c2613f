"""Errors that keep the client from starting. Messages say what to do next."""


class GuiError(Exception):
    """Base class of all errors of this package."""


class ArgumentInvalid(GuiError):
    """An option of the command line has an invalid value."""


class StackUnknown(GuiError):
    """No address of a stack is known."""


class TokenFileUnreadable(GuiError):
    """A stack is known, but its token cannot be read."""


class CertificateUnreadable(GuiError):
    """The file of trusted certificates cannot be used."""


class DesktopEntryRefused(GuiError):
    """The file by which the desktop lists MOSAIC cannot be written or removed."""


class LibraryMissing(GuiError):
    """Qt cannot be loaded, for a library of the system is not there."""
