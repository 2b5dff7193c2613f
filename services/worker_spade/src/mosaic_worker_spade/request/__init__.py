"""What a run would do: `check` reports it, `train` carries it out."""

from mosaic_worker_spade.request.draft import RunDraft
from mosaic_worker_spade.request.making import check_run, make_draft

__all__ = ["RunDraft", "check_run", "make_draft"]
