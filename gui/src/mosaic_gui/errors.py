"""What can keep the client from starting. Messages say what to do next."""


class GuiError(Exception):
    """Root of everything that this package raises on purpose."""


class ArgumentInvalid(GuiError):
    """An option of the command line has a value that it cannot have."""


class StackUnknown(GuiError):
    """No address of a stack is known."""


class TokenFileUnreadable(GuiError):
    """A stack is known, but its token cannot be read."""


class CertificateUnreadable(GuiError):
    """The file that names whose certificates are believed cannot be used."""


class LibraryMissing(GuiError):
    """Qt cannot be loaded, for a library of the system is not there."""
