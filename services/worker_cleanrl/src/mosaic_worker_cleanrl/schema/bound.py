"""Bounds of arguments by name. The scripts declare types only; a discount of 5 would train nonsense for an hour."""

from typing import Any

_POSITIVE: dict[str, Any] = {"exclusiveMinimum": 0}
_NOT_NEGATIVE: dict[str, Any] = {"minimum": 0}
_AT_LEAST_ONE: dict[str, Any] = {"minimum": 1}
_SHARE: dict[str, Any] = {"minimum": 0, "maximum": 1}

BOUNDS: dict[str, dict[str, Any]] = {
    "total_timesteps": _AT_LEAST_ONE,
    "learning_rate": _NOT_NEGATIVE,  # 0 is a way to freeze a network
    "policy_lr": _NOT_NEGATIVE,
    "q_lr": _NOT_NEGATIVE,
    "num_envs": _AT_LEAST_ONE,
    "num_steps": _AT_LEAST_ONE,
    "num_minibatches": _AT_LEAST_ONE,
    "update_epochs": _AT_LEAST_ONE,
    "gamma": _SHARE,
    "gae_lambda": _SHARE,
    "clip_coef": _POSITIVE,
    "ent_coef": _NOT_NEGATIVE,
    "vf_coef": _NOT_NEGATIVE,
    "max_grad_norm": _POSITIVE,
    "target_kl": _POSITIVE,
    "buffer_size": _AT_LEAST_ONE,
    "batch_size": _AT_LEAST_ONE,
    "tau": _SHARE,
    "target_network_frequency": _AT_LEAST_ONE,
    "train_frequency": _AT_LEAST_ONE,
    "policy_frequency": _AT_LEAST_ONE,
    "update_frequency": _AT_LEAST_ONE,
    "target_entropy_scale": _NOT_NEGATIVE,
    "n_atoms": {"minimum": 2},  # the distance of two of them is divided by
    "alpha": _NOT_NEGATIVE,
    "learning_starts": _NOT_NEGATIVE,
    "start_e": _SHARE,
    "end_e": _SHARE,
    "exploration_fraction": {"exclusiveMinimum": 0, "maximum": 1},  # the script divides by it
}
