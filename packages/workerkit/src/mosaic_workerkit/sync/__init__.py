"""Sends an ended run to W&B. Needs `wandb` in the environment."""

from mosaic_workerkit.sync.verb import can_send, send

__all__ = ["can_send", "send"]
