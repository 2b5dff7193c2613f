"""What is listened to: a module for each library, with a function that is called when the library is imported."""

from __future__ import annotations

from typing import Callable

from mosaic_hook.imports import OnImport
from mosaic_hook.listeners import environments, files, metrics
from mosaic_hook.reporter import Reporter

_LISTENERS: dict[str, Callable[[Reporter, object], None]] = {
    "gymnasium.envs.registration": environments.listen_to_make,
    "gymnasium": environments.listen_to_make,
    "gym.envs.registration": environments.listen_to_make,
    "gym": environments.listen_to_make,
    "torch.utils.tensorboard.writer": metrics.listen_to_summary_writer,
    "tensorboardX.writer": metrics.listen_to_summary_writer,
    "wandb.sdk.wandb_run": metrics.listen_to_wandb,
    "mlflow.tracking.fluent": metrics.listen_to_mlflow,
    "stable_baselines3.common.logger": metrics.listen_to_sb3_logger,
    "stable_baselines3.common.base_class": files.listen_to_sb3_save,
    "torch.serialization": files.listen_to_torch_save,
    "safetensors.torch": files.listen_to_safetensors,
}


def listeners(reporter: Reporter) -> dict[str, OnImport]:
    """Return for each module that is listened to what to call when it has been imported.

    Args:
        reporter: what the listeners report to.
    """
    return {name: _guarded(reporter, name, listen) for name, listen in _LISTENERS.items()}


def _guarded(reporter: Reporter, name: str, listen: Callable[[Reporter, object], None]) -> OnImport:
    def on_import(module: object) -> None:
        try:
            listen(reporter, module)
        except Exception as error:  # noqa: BLE001 - an unknown version of a library must not break the script
            reporter.fail(name, error)

    return on_import
