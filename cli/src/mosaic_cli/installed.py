"""The console script `mosaic` of an installed package: the same verbs under the name that the user has."""

from mosaic_cli import command_name
from mosaic_cli import main as verbs


def main() -> None:
    """Run one verb as `mosaic VERB`."""
    command_name.use("mosaic")
    verbs.main()
