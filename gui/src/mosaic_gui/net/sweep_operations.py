"""Operations of the HTTP API for sweeps."""

from typing import Any

from mosaic_contracts.http_api import PREFIX, Operation

SWEEP: Operation[Any] = Operation("GET", f"{PREFIX}/sweeps/{{sweep_id}}", "sweeps.SweepView")
SWEEP_TRIALS: Operation[Any] = Operation(
    "GET", f"{PREFIX}/sweeps/{{sweep_id}}/trials", "sweeps.TrialPage"
)
SWEEP_BEST: Operation[Any] = Operation("GET", f"{PREFIX}/sweeps/{{sweep_id}}/best", form="objects")
STOP_SWEEP: Operation[Any] = Operation(
    "POST", f"{PREFIX}/sweeps/{{sweep_id}}/stop", "runs.RunView", repeats=True
)
RESUME_SWEEP: Operation[Any] = Operation(
    "POST", f"{PREFIX}/sweeps/{{sweep_id}}/resume", "runs.RunView", takes_key=True
)
START_SWEEP: Operation[Any] = Operation("POST", f"{PREFIX}/sweeps", "runs.RunView", takes_key=True)
CHECK_SWEEP: Operation[Any] = Operation(
    "POST", f"{PREFIX}/sweeps/check", "worker.CheckReport", is_slow=True
)
