"""Where the stand-in for the old `gym` lies; see `gym/__init__.py` below."""

from pathlib import Path

OLD_GYM_PATH = Path(__file__).parent
"""Goes in front of sys.path, and only for a script that imports `gym`."""
