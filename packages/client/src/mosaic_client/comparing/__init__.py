"""Comparisons: finds the actors, has them evaluated, and gathers their returns for `mosaic_analysis`."""
