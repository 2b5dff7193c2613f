"""TensorBoard's writers, W&B offline and mlflow: as loggers in the way of their own guides, and as readers.

python loggers.py log LOGGER FOLDER SCALARS RATE KILL_AT
python loggers.py count LOGGER FOLDER      prints how many of the scalars a reader finds
python loggers.py versions                 prints a JSON object
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from scalars import NAMES, Ask, Log, measure

BATCH = 1000
"""The most that mlflow takes in one log_batch."""
Logger = tuple[Log, Callable[[], None]]


def bare_logger(_data: Path) -> Logger:
    """Nothing: what the loop itself costs."""
    return (lambda _update, _row: None), (lambda: None)


def tensorboard_logger(data: Path) -> Logger:
    """TensorBoard's own event writer, on which the others stand; its defaults (queue of 10, flush every 120 s)."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(data))

    def log(update: int, row: dict[str, float]) -> None:
        for name, value in row.items():
            summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
            writer.add_event(Event(wall_time=time.time(), step=update, summary=summary))

    return log, writer.close


def torch_logger(data: Path) -> Logger:
    """SummaryWriter of torch, which CleanRL's scripts call; its defaults."""
    from torch.utils.tensorboard import SummaryWriter

    writer: Any = SummaryWriter(str(data))

    def log(update: int, row: dict[str, float]) -> None:
        for name, value in row.items():
            writer.add_scalar(name, value, update)

    return log, writer.close


def count_tensorboard(data: Path) -> int:
    """Every scalar in the event files."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    events = (e for f in data.glob("events.*") for e in LegacyEventFileLoader(str(f)).Load())
    return sum(value.tag in NAMES for event in events for value in event.summary.value)


def wandb_logger(data: Path) -> Logger:
    """A run without a server, one `log` an update. Its watching of the machine is off: others have none here."""
    os.environ |= {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "WANDB_DIR": str(data)}
    import wandb

    run = wandb.init(project="scalars", settings=wandb.Settings(x_disable_stats=True))

    def log(update: int, row: dict[str, float]) -> None:
        run.log(row, step=update)

    def finish() -> None:
        run.finish()
        wandb.teardown()

    return log, finish


def count_wandb(data: Path) -> int:
    """Every scalar in the run's file."""
    from wandb_file import read_records

    found = 0
    for file in data.rglob("*.wandb"):
        for record in read_records(file):
            for item in record.history.item:
                found += (item.key or "/".join(item.nested_key)) in NAMES
    return found


def mlflow_logger(data: Path) -> Logger:
    """`log_metrics` once an update, into SQLite: the default."""
    mlflow = _mlflow(data)
    mlflow.start_run()

    def log(update: int, row: dict[str, float]) -> None:
        mlflow.log_metrics(row, step=update)

    return log, mlflow.end_run


def mlflow_async_logger(data: Path) -> Logger:
    """The same with its asynchronous logging, which its guide advises for loops."""
    mlflow = _mlflow(data)
    mlflow.config.enable_async_logging(True)
    log, end_run = mlflow_logger(data)

    def finish() -> None:
        mlflow.flush_async_logging()
        end_run()

    return log, finish


def mlflow_batch_logger(data: Path) -> Logger:
    """`log_batch` of the most scalars that one may have; gathered by the caller, who loses them with its life."""
    mlflow = _mlflow(data)
    from mlflow.entities import Metric

    run_id = mlflow.start_run().info.run_id
    client, batch = mlflow.MlflowClient(), list[Any]()

    def flush() -> None:
        if batch:
            client.log_batch(run_id, metrics=batch)
            batch.clear()

    def log(update: int, row: dict[str, float]) -> None:
        now = int(time.time() * 1000)
        batch.extend(Metric(name, value, now, update) for name, value in row.items())
        if len(batch) >= BATCH:
            flush()

    def finish() -> None:
        flush()
        mlflow.end_run()

    return log, finish


def count_mlflow(data: Path) -> int:
    """Every point in the run's history."""
    client = _mlflow(data).MlflowClient()
    (run,) = client.search_runs(["0"])
    return sum(len(client.get_metric_history(run.info.run_id, name)) for name in NAMES)


def _mlflow(data: Path) -> Any:
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    import mlflow

    mlflow.set_tracking_uri(f"sqlite:///{data}/mlflow.db")
    return mlflow


LOGGERS: dict[str, tuple[Callable[[Path], Logger], Callable[[Path], int]]] = {
    "bare": (bare_logger, lambda _: 0),
    "tensorboard": (tensorboard_logger, count_tensorboard),
    "torch_summary_writer": (torch_logger, count_tensorboard),
    "wandb_offline": (wandb_logger, count_wandb),
    "mlflow": (mlflow_logger, count_mlflow),
    "mlflow_async": (mlflow_async_logger, count_mlflow),
    "mlflow_log_batch": (mlflow_batch_logger, count_mlflow),
}


def main() -> None:
    """Log, or count what is found."""
    verb, *words = sys.argv[1:]
    if verb == "versions":
        print(json.dumps({name: version(name) for name in ("tensorboard", "wandb", "mlflow")}))
        return
    name, where, *numbers = words
    folder = Path(where)
    make, count = LOGGERS[name]
    (folder / "data").mkdir(exist_ok=True)
    if verb == "count":
        print(count(folder / "data"))
        return
    scalars, rate, kill_at = numbers
    log, finish = make(folder / "data")
    measure(folder, Ask(int(scalars), float(rate), int(kill_at)), log, finish)


if __name__ == "__main__":
    main()
