"""Gymnasium environments in a worker: recording, live view, rebuilding of episodes.

`from mosaic_gymkit import EnvironmentRun, replay_run` is what most workers need.
"""

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
