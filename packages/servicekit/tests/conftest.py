"""Fixtures of servicekit's tests."""

pytest_plugins = ["mosaic_servicekit.testing.fixtures"]
