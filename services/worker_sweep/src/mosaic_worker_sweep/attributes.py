"""User attributes of a trial in the study, which optuna-dashboard shows too."""

RUNS = "runs"
"""Ids of its runs by key; None: the run is not known yet."""
STATE = "state"
"""How it ends, where it is not complete: a `TrialState`."""
REASON = "reason"
"""Why it ends so."""
STEPS = "steps"
"""Environment steps of its runs together, once it has ended."""

SWEEP_STOPPED = "The sweep was stopped."
"""`REASON` of a trial that was stopped with the sweep. Where the sweep goes on, it is tried again."""
