"""`./mosaic build`: the wheels of a release."""

from mosaic_environments.errors import EnvironmentProblem
from mosaic_environments.tree import Tree


def build_verb(tree: Tree, words: list[str]) -> None:
    """Run `build [FOLDER]`."""
    raise EnvironmentProblem("not written yet")
