"""A module of the standard library that Python 3.10 lacks."""

import sys

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found] # installed on 3.10 alone

__all__ = ["tomllib"]
