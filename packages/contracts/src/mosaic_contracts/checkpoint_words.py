"""Words about checkpoints. Without pydantic, for programs that only list them."""

from mosaic_contracts.compat import StrEnum

REASON_BEST = "best"
"""`reason` of a checkpoint that a worker keeps because no earlier one had a higher mean return."""
RECENT_EPISODES = 20
"""Number of episodes in the mean return of a checkpoint."""
MEAN_RETURN = "mean_return_20"
"""Key of a checkpoint event's data: mean return of the last episodes before it, `RECENT_EPISODES` at most."""
MEAN_EPISODES = "mean_return_episodes"
"""Key of a checkpoint event's data: number of episodes in that mean."""
REASON_IMPORTED = "imported"
"""`reason` of a checkpoint that came from a file (`RunKind.IMPORT`)."""
STEP_UNKNOWN = "step_unknown"
"""Key of a checkpoint event's data: true where the file does not say after how many steps it was saved."""
MAX_CHECKPOINT_BYTES = 2 * 2**30
"""Size in bytes of the largest file that is imported."""
EXPORT_FACTS = "mosaic-checkpoint.json"
"""Name of the file with the facts (`mosaic_contracts.exported.ExportedCheckpoint`) in an exported checkpoint. It is
the first file of the zip."""
NORMALIZER = "normalizer"
"""Key of a checkpoint event's data: whether the file has the statistics by which observations are normalised."""


class CheckpointState(StrEnum):
    """State of a checkpoint's file."""

    PRESENT = "present"
    """It is there, with its recorded size."""
    ALTERED = "altered"
    """It is there, and its size or its hash is not the recorded one."""
    PRUNED = "pruned"
    """It was deleted on purpose, and its run recorded that."""
    MISSING = "missing"
    """It is gone, and nothing says why."""


class CheckpointMark(StrEnum):
    """What a checkpoint is among those of its worker, algorithm and environment."""

    BEST = "best"
    NEWEST = "newest"
