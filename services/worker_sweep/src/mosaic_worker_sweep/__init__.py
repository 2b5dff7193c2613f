"""Sweeps: Optuna chooses the parameters of runs, as a MOSAIC worker."""

VERSION = "0.1.0"
