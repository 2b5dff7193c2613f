"""What the children of the fork server share: it imports this module once, and each child has all of it already.

A run imports its agents after its config; here they are imported before, without SPADE's own server too.
"""

from mosaic_base.imports import large_imports
from mosaic_worker_spade.own_server import leave_out_own_server

with large_imports():
    leave_out_own_server()
    import mosaic_worker_spade.team
    import mosaic_worker_spade.worker  # noqa: F401 - for the children
