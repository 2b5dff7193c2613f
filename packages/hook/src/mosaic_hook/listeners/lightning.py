"""Metrics and checkpoints of Lightning, as `lightning` and as `pytorch_lightning`."""

from __future__ import annotations

from typing import Any, Mapping

from mosaic_hook.listeners.metrics import report_all
from mosaic_hook.reporter import Reporter


def listen_to_trainer_log(reporter: Reporter, module: Any) -> None:
    """Hear what `self.log` of a module gives to the loggers, whichever the trainer has, also none."""

    def log(
        _result: Any, connector: Any, metrics: Mapping[str, Any], step: Any = None, *_: Any
    ) -> None:
        reporter.heard("lightning")
        at = metrics.get("step") if step is None else step
        if at is None:
            at = connector.trainer.global_step
        report_all(reporter, {name: metrics[name] for name in metrics if name != "step"}, at)

    reporter.replace(module._LoggerConnector, "log_metrics", "lightning", after=log)


def listen_to_fabric_log(reporter: Reporter, module: Any) -> None:
    """Hear `Fabric.log` and `Fabric.log_dict`."""

    def log(
        _result: Any, _fabric: Any, metrics: Mapping[str, Any], step: Any = None, *_: Any
    ) -> None:
        reporter.heard("lightning")
        report_all(reporter, metrics, step)

    reporter.replace(module.Fabric, "log_dict", "lightning", after=log)


def listen_to_trainer_save(reporter: Reporter, module: Any) -> None:
    """Hear the checkpoints that a trainer or its callbacks write."""

    def saved(_result: Any, _trainer: Any, filepath: Any, *_: Any, **__: Any) -> None:
        reporter.heard("lightning")
        reporter.checkpoint(filepath, "lightning")

    reporter.replace(module.Trainer, "save_checkpoint", "lightning", after=saved)
