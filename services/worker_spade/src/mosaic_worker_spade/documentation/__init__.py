"""What a person should know of an algorithm before choosing it."""

from importlib.resources import files


def documentation_of(algorithm: str) -> str:
    """Return the Markdown page of one of the algorithms."""
    return (files(__package__) / f"{algorithm}.md").read_text("utf-8")
