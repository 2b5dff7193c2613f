"""The arguments that a script declares, read from its syntax tree. Nothing of the script is run."""

from mosaic_worker_script.arguments.argument import ScriptArgument
from mosaic_worker_script.arguments.reading import read_arguments

__all__ = ["ScriptArgument", "read_arguments"]
