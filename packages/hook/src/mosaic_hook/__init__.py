"""Listens to a Python training script that knows nothing of MOSAIC.

The folder `start` is put in front of `PYTHONPATH` for one run. Python imports its `sitecustomize` before the script, in
every Python process that the script starts. When the script imports a library that is known here, its functions are
replaced by ones that call the original and append what happened as a line of JSON to the spool of the run. Nothing is
imported that the script does not import, and no random number is drawn.

Every Python from 3.8 on must be able to run this package. It needs the standard library only.
"""
