"""Words of the search language of the run list (`mosaic_contracts.run_search`). Imports nothing that is slow."""

ALIASES = {
    "algorithm": "algo",
    "environment": "env",
    "return": "last",
    "best_return": "best",
    "last_return": "last",
    "mean_return": "mean",
    "step": "steps",
    "duration": "took",
    "tags": "tag",
}
"""Second names of keys."""
TEXT_KEYS = {
    "state": "State: running, failed, ...; live: not ended; ended: any final state.",
    "tag": "Tag.",
    "env": "Environment, e.g. CartPole-v1.",
    "algo": "Algorithm, e.g. ppo.",
    "worker": "Worker, e.g. cleanrl.",
    "kind": "What the run does: train, evaluate, play, sweep, import.",
    "name": "Part of the name.",
    "note": "Part of the note.",
    "id": "Beginning of the id.",
    "parent": "Beginning of the id of the run that it was made from.",
    "group": "Beginning of the id of its group or sweep, or part of the group's name.",
    "cause": "Cause of its end, e.g. exit_code or out_of_memory.",
    "record": "Recording level.",
}
"""Keys that are compared with text, and what each means."""
NUMBER_KEYS = {
    "seed": "Seed.",
    "priority": "Priority in the queue.",
    "cpus": "Cores.",
    "gpus": "GPUs.",
    "took": "Duration of an ended run, e.g. took>10m.",
}
"""Keys of the run's record that are compared with numbers."""
STORED_KEYS = {
    "steps": "Environment steps done.",
    "episodes": "Episodes played.",
    "last": "Return of the last episode.",
    "best": "Best return of an episode.",
    "mean": "Mean return of the last 20 episodes.",
}
"""Keys that are compared with what the store has of the run."""
TIME_KEYS = {
    "since": "Created since then: 90m, 2d, or a date such as 2026-01-31.",
    "until": "Created before then.",
}
KEYS = {**TEXT_KEYS, **NUMBER_KEYS, **STORED_KEYS, **TIME_KEYS}
PARAMETER, METRIC = "p.", "m."
"""Beginnings of keys that name a parameter or a metric."""
METRIC_FIGURES = ("last", "best", "mean", "min", "max")
"""What may follow a metric's name after a dot. `best` is the highest value, as is `max`; `mean` is over all points."""
LIVE, ENDED = "live", "ended"
"""Values of `state` for all states that are not final, and for all that are."""
SHORT_PARAMETERS = {
    "learning_rate": "lr",
    "total_timesteps": "total_steps",
    "ent_coef": "ent",
    "vf_coef": "vf",
    "batch_size": "batch",
    "minibatch_size": "minibatch",
    "num_minibatches": "minibatches",
    "update_epochs": "epochs",
    "exploration_fraction": "explore",
    "target_network_frequency": "target_freq",
    "train_frequency": "train_freq",
}
"""Names that people in the field use for parameters. Both are understood, the short one is shown."""
