"""What can go wrong in an export. Messages say what to do next."""


class ExportProblem(Exception):
    """The export cannot be made."""
