"""What is listened to: a module for each library, with a function that is called when the library is imported."""

from __future__ import annotations

from typing import Any, Callable

from mosaic_hook.imports import OnImport
from mosaic_hook.listeners import direct, environments, files, lightning, metrics, progress, vectors
from mosaic_hook.reporter import Reporter


def _listen_to_registration(reporter: Reporter, module: Any) -> None:
    environments.listen_to_make(reporter, module)
    if hasattr(module, "make_vec"):
        vectors.listen_to_make_vec(reporter, module)


_LISTENERS: dict[str, Callable[[Reporter, object], None]] = {
    "gymnasium.envs.registration": _listen_to_registration,
    "gymnasium": _listen_to_registration,
    "gymnasium.core": direct.listen_to_classes,
    "gym.core": direct.listen_to_classes,
    "envpool.registration": vectors.listen_to_envpool,
    "gym.envs.registration": environments.listen_to_make,
    "gym": environments.listen_to_make,
    "torch.utils.tensorboard.writer": metrics.listen_to_summary_writer,
    "tensorboardX.writer": metrics.listen_to_summary_writer,
    "wandb.sdk.wandb_run": metrics.listen_to_wandb,
    "mlflow.tracking.fluent": metrics.listen_to_mlflow,
    "stable_baselines3.common.logger": metrics.listen_to_sb3_logger,
    "stable_baselines3.common.base_class": files.listen_to_sb3_save,
    "d3rlpy.logging.logger": metrics.listen_to_d3rlpy,
    "tensorboard.plugins.scalar.summary_v2": metrics.listen_to_tensorflow_summary,
    "tqdm.std": progress.listen_to_tqdm,
    "rich.progress": progress.listen_to_rich,
    "torch.serialization": files.listen_to_torch_save,
    "safetensors.torch": files.listen_to_safetensors,
}
for _root in ("lightning.pytorch", "pytorch_lightning"):
    _connector = f"{_root}.trainer.connectors.logger_connector.logger_connector"
    _LISTENERS[_connector] = lightning.listen_to_trainer_log
    _LISTENERS[f"{_root}.trainer.trainer"] = lightning.listen_to_trainer_save
for _root in ("lightning.fabric", "lightning_fabric"):
    _LISTENERS[f"{_root}.fabric"] = lightning.listen_to_fabric_log


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
