"""Gymnasium environments in a worker: recording, live view, rebuilding of episodes.

`from mosaic_gymkit import EnvironmentRun, replay_run` is what most workers need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_gymkit.agents import register_agents
    from mosaic_gymkit.describing import describe_environments
    from mosaic_gymkit.live import LiveView
    from mosaic_gymkit.play.policy import PolicyPlay
    from mosaic_gymkit.recording import RecordedRun, StepBatch, recorded
    from mosaic_gymkit.replay.verb import replay_run
    from mosaic_gymkit.run import EnvironmentRun
    from mosaic_gymkit.specs import EnvironmentSpec

__all__ = [
    "EnvironmentRun",
    "EnvironmentSpec",
    "LiveView",
    "PolicyPlay",
    "RecordedRun",
    "StepBatch",
    "describe_environments",
    "recorded",
    "register_agents",
    "replay_run",
]
_MODULES = {
    "EnvironmentRun": "run",
    "EnvironmentSpec": "specs",
    "LiveView": "live",
    "PolicyPlay": "play.policy",
    "RecordedRun": "recording",
    "StepBatch": "recording",
    "describe_environments": "describing",
    "recorded": "recording",
    "register_agents": "agents",
    "replay_run": "replay.verb",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is first used: programs of this package need few of them, and start often."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
