"""Runs a Python training script that knows nothing of MOSAIC, and records what `mosaic_hook` hears in it."""
