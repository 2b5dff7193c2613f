"""Judges a worker: does it keep the contract that the rest of MOSAIC relies on? Run by `./mosaic worker-check PATH`."""
