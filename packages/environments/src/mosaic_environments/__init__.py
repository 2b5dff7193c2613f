"""One Python environment for each component: which components there are, and how their environments are made.

Standard library only, for this runs before any environment exists. Every verb of the command line passes through here,
so `tree` and `stamp` import as little as they can; `installer`, `making` and `syncing` are imported when an environment
has to be made.
"""
