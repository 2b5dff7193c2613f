"""What the children of the fork server share: it imports this module once, and each child has all of it already."""

import gc

import tests.real_run  # noqa: F401 - each child finds its own function there

gc.freeze()  # else a collection in a child writes to, and so copies, every page that they share
