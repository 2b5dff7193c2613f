"""What can go wrong in this worker. Every message says what to do next."""

import shlex

from mosaic_workerkit.errors import EnvironmentUnusable, RunRefused


class ScriptMissing(RuntimeError):
    """The cleanrl package, or one script of it, is not installed."""

    def __init__(self, module: str) -> None:
        super().__init__(
            f"The script {module} is not installed here. Make the environment again: ./mosaic sync worker_cleanrl"
        )


class CheckoutMissing(RuntimeError):
    """A folder that was added as a checkout of CleanRL has no scripts."""

    def __init__(self, folder: object, worker: str) -> None:
        super().__init__(
            f"There are no scripts of CleanRL in {folder}: a checkout has them in its folder `cleanrl`. Put it back, "
            f"or take the worker off with ./mosaic add {shlex.quote(str(folder))} --name {worker} --remove"
        )


class SchemaUnreadable(RuntimeError):
    """The script's arguments are not declared in a way that this worker can read."""

    def __init__(self, path: object, why: str) -> None:
        super().__init__(
            f"Cannot read the arguments of {path}: {why}. Declare numbers, texts, switches and lists of them in a "
            "dataclass `Args`, as the scripts of CleanRL do, or run the file in an environment of your own: "
            f"`./mosaic run {path} --python PATH` (docs/scripts.md)."
        )


class ArgumentsRefused(ValueError):
    """The script's own argument parser does not take these arguments."""


class ExtraMissing(EnvironmentUnusable):
    """An environment needs packages that are offered as a bundle and are not installed."""

    def __init__(self, environment: str, title: str, install_command: str) -> None:
        super().__init__(
            f"{environment} needs {title}, which is not installed here. Run {install_command} and ask again."
        )


class HookNotInstalled(RuntimeError):
    """A place for a hook is not there; training without it would record nothing."""


class HookSilent(RuntimeError):
    """The script ended and a hook never fired: nothing was recorded, so the run is no success."""


class TrackerRefused(RunRefused):
    """W&B did not take a run that requires it."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"W&B did not take this run, which requires it (`wandb_required`): {why}. Mend that and retry, or train "
            "without `wandb_required`: W&B's files are then kept to send later."
        )


class CheckpointRefused(ValueError):
    """A file cannot be used as a checkpoint of this run. The message says why, and what to do."""

    def __init__(self, message: str, **offers: str) -> None:
        super().__init__(message)
        self.offers = offers
        """Fields of the spec that would fit, e.g. the checkpoint's own environment."""


class FileUnknown(CheckpointRefused):
    """Nothing is known of a file but that it is no checkpoint of this worker."""
