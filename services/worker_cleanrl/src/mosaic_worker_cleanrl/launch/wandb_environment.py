"""The environment in which wandb is imported and starts its service process."""

import os
from pathlib import Path

from mosaic_worker_cleanrl.plan.tracking_plan import TrackingPlan

_FOLDERS = ("artifact", "cache", "config", "data")
"""What wandb writes next to its runs, below the home folder where nothing else is said."""


def prepare_environment(run_dir: Path, plan: TrackingPlan) -> None:
    """Make the environment that wandb finds the run's own. Call it before wandb is imported."""
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        del os.environ[name]
    folder = run_dir / "wandb"
    os.environ |= {
        "WANDB_DIR": str(run_dir),
        **{f"WANDB_{name.upper()}_DIR": str(folder / name) for name in _FOLDERS},
        "WANDB_ERROR_REPORTING": "false",  # to the makers of wandb, from offline runs too
        "NETRC": str(folder / "netrc"),  # is never there
    }
    for name, address in plan.proxies.items():
        os.environ[name] = os.environ[name.lower()] = address
