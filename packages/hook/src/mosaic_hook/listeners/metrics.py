"""What a script gives to TensorBoard, W&B, mlflow or Stable-Baselines3: metrics, texts, histograms and images."""

from __future__ import annotations

import sys
from typing import Any, Mapping

from mosaic_hook.listeners.media import MediaReporter, listen_to_writer_media
from mosaic_hook.reporter import Reporter


def listen_to_summary_writer(reporter: Reporter, module: Any) -> None:
    """Hear what `SummaryWriter` of PyTorch and of tensorboardX is given: scalars, texts, histograms and images."""
    library = module.__name__.rpartition(".")[0]
    writer = module.SummaryWriter

    def scalar(
        _result: Any,
        _self: Any,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        *_: Any,
        **__: Any,
    ) -> None:
        reporter.heard(library)
        reporter.metric(tag, scalar_value, global_step)

    def scalars(
        _result: Any,
        _self: Any,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        *_: Any,
        **__: Any,
    ) -> None:
        reporter.heard(library)
        for tag, value in tag_scalar_dict.items():
            reporter.metric(f"{main_tag}/{tag}", value, global_step)

    reporter.replace(writer, "add_scalar", library, after=scalar)
    reporter.replace(writer, "add_scalars", library, after=scalars)
    listen_to_writer_media(reporter, library, writer)


def listen_to_wandb(reporter: Reporter, module: Any) -> None:
    """Hear `wandb.log` and `run.log`, with or without an account."""
    counts, media = {"steps": 0}, MediaReporter(reporter)

    def log(
        _result: Any, _self: Any, data: Mapping[str, Any], step: Any = None, *_: Any, **__: Any
    ) -> None:
        reporter.heard("wandb")
        at = counts["steps"] if step is None else step
        counts["steps"] = int(at) + 1
        report_all(reporter, data, at, media=media)

    reporter.replace(module.Run, "log", "wandb", after=log)


def listen_to_mlflow(reporter: Reporter, module: Any) -> None:
    """Hear `mlflow.log_metric` and `mlflow.log_metrics`."""

    def one(_result: Any, key: str, value: Any, step: Any = None, *_: Any, **__: Any) -> None:
        reporter.heard("mlflow")
        reporter.metric(key, value, step)

    def several(
        _result: Any, metrics: Mapping[str, Any], step: Any = None, *_: Any, **__: Any
    ) -> None:
        reporter.heard("mlflow")
        report_all(reporter, metrics, step)

    reporter.replace(module, "log_metric", "mlflow", after=one)
    reporter.replace(module, "log_metrics", "mlflow", after=several)


def listen_to_sb3_logger(reporter: Reporter, module: Any) -> None:
    """Hear what Stable-Baselines3's logger dumps, whichever outputs the script gave it."""
    media = MediaReporter(reporter)

    def dump(logger: Any, step: int = 0, *_: Any) -> None:
        reporter.heard("stable_baselines3")
        for name, value in dict(logger.name_to_value).items():
            if isinstance(value, module.Image):
                media.pixels(name, value.image, step, value.dataformats)
            elif getattr(value, "ndim", 0):
                media.histogram(name, value, step)
            else:
                reporter.metric(name, value, step)

    reporter.replace(module.Logger, "dump", "stable_baselines3", before=dump)


def listen_to_d3rlpy(reporter: Reporter, module: Any) -> None:
    """Hear the means that d3rlpy's logger writes at the end of an epoch."""

    def commit(metrics: Any, _logger: Any, _epoch: int, step: int, *_: Any) -> None:
        reporter.heard("d3rlpy")
        report_all(reporter, metrics or {}, step)

    reporter.replace(module.D3RLPyLogger, "commit", "d3rlpy", after=commit)


def listen_to_tensorflow_summary(reporter: Reporter, module: Any) -> None:
    """Hear `tf.summary.scalar`, which TensorFlow has from TensorBoard; Keras' callback calls it, too."""

    def scalar(_result: Any, name: str, data: Any, step: Any = None, *_: Any, **__: Any) -> None:
        tensorflow = sys.modules.get("tensorflow")
        if step is None and tensorflow is not None:
            step = tensorflow.summary.experimental.get_step()
        reporter.heard("tf.summary")
        reporter.metric(name, data, step)

    reporter.replace(module, "scalar", "tf.summary", after=scalar)


def report_all(
    reporter: Reporter,
    data: Mapping[str, Any],
    step: Any,
    prefix: str = "",
    media: MediaReporter | None = None,
) -> None:
    """Report each number of a map; maps in it have their name in front.

    Args:
        data: by the names of metrics.
        step: of all of them.
        prefix: of their names.
        media: reports what is an image or a histogram of W&B; None: these are left out.
    """
    for name, value in data.items():
        if isinstance(value, dict):
            report_all(reporter, value, step, f"{prefix}{name}/", media)
        elif media is None or not media.of_wandb(prefix + str(name), value, step):
            reporter.metric(prefix + str(name), value, step)
