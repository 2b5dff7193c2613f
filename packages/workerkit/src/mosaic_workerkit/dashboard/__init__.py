"""Serves TensorBoard for selected runs on a Unix socket in the run's folder. Needs `tensorboard` in the environment."""

from mosaic_workerkit.dashboard.verb import serve

__all__ = ["serve"]
