"""What is wrong with files of another program."""


class ForeignInvalid(ValueError):
    """A file is not what its program writes, or was damaged; the message says how."""
