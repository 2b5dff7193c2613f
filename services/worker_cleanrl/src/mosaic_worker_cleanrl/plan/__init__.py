"""What a run would do: `check` reports it, `train` carries it out."""

from mosaic_worker_cleanrl.plan.draft import ScriptPlan
from mosaic_worker_cleanrl.plan.making import check_run, make_plan

__all__ = ["ScriptPlan", "check_run", "make_plan"]
