"""Words of alert rules (`mosaic_contracts.alert_rules`). Imports nothing that is slow."""

ALERT_RAISED, ALERT_CLEARED = "alert.raised", "alert.cleared"
"""Types of the events by which the scheduler says that an alert began and ended: see `alerts.AlertEventData`."""
RETURN, MEAN, BEST, LENGTH = "return", "mean", "best", "length"
EPISODE_WORDS = {
    RETURN: "return of an episode",
    MEAN: "mean return of the last 20 episodes",
    BEST: "best return",
    LENGTH: "length of an episode",
}
"""What a rule may compare besides metrics, in words."""
EPISODE_ALIASES = {
    "last": RETURN,
    "last_return": RETURN,
    "mean_return": MEAN,
    "best_return": BEST,
}
"""Second names, as in the search of the run list."""
MEAN_EPISODES = 20
LOSS_PATTERN = "*loss*"
"""Metrics that `nan` and `inf` look at where the rule names none."""
NAN, INF = "nan", "inf"
FAILED_STATES = ("failed", "crashed")
"""States that the word `failed` means."""
EXAMPLES = (
    "return<50 for 50k steps",
    "nan or inf",
    "no episode for 20k steps",
    "m.losses/value_loss>1e3",
    "disk low",
    "failed",
)
MAX_RULE = 200
"""Characters of a rule."""
MAX_ALERTS = 100
"""Alerts of one rule in one run. The rule is silent in this run after that."""
RUN_KINDS = frozenset({"train", "evaluate", "sweep"})
"""Kinds of runs that a rule for all runs looks at, where its search names no kind."""
TARGETS_DIR = "secrets/alert_targets"
"""Folder below MOSAIC_HOME with a file for each target, readable for its user only."""
TARGET_PATTERN = r"^[a-z][a-z0-9_-]{0,39}$"
"""Names of targets."""
