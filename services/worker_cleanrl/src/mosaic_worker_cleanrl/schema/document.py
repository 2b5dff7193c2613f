"""JSON Schema of a script's arguments."""

import argparse
from functools import lru_cache
from pathlib import Path
from typing import Any

from mosaic_contracts.parameter_bounds import default_fault
from mosaic_contracts.tracking import X_TRACKING
from mosaic_contracts.worker import CHECKPOINT_MARK
from mosaic_worker_cleanrl.errors import SchemaUnreadable
from mosaic_worker_cleanrl.schema.bound import BOUNDS
from mosaic_worker_cleanrl.schema.extraction import ArgumentSource, read_arguments
from mosaic_worker_cleanrl.schema.tracking import SCRIPT_ROLES, TRACKING_PARAMETERS

NOTES = {
    "tensorboard": "The script's own TensorBoard files, kept with the run's: 3 to 7 MiB and 5 to 10 s of CPU a million "
    "steps of CartPole-v1 (PPO, DQN), less where episodes are longer. Curves are recorded without them too; only "
    "TensorBoard reads them",
    "capture_video": ". Films of the first environment episodes 0, 1, 8, 27, 64, ... and each 1000th; needs the bundle "
    "`video`. Each frame of these is drawn: a millisecond or less in most environments, 0.1 to 0.2 s in MuJoCo "
    "without a GPU, and kept in memory until its episode ends (0.1 MB an Atari frame)",
}
"""What a user should know of an argument beyond the script's own help: what it means here."""
TENSORBOARD, CHECKPOINT, SAMPLED = "tensorboard", "checkpoint", "sampled"
"""Arguments that are this worker's own and no script's."""
_FILES = {
    "type": "boolean",
    "default": True,
    "title": "TensorBoard files",
    "description": NOTES[TENSORBOARD],
    "x-group": "outputs",
}
_START = {
    "type": ["string", "null"],
    "default": None,
    "description": "Checkpoint: RUN/best, RUN/last, RUN/PATH, or an absolute path. A play acts with it. A training "
    "begins with its weights, optimizers and normalisers (warm start); counters and schedules begin new",
    "x-group": "run",
    CHECKPOINT_MARK: True,
}
_SAMPLED = {
    "type": "boolean",
    "default": False,
    "description": "Plays and evaluations only: draw actions as the training did, instead of always taking the most "
    "likely or best one. DQN and C51 then explore as often as at their training's end (end_e)",
    "x-group": "run",
}
_OUTPUTS = frozenset({"capture_video"})
"""Outputs of a run in addition to training: a form shows them separately, with what they cost."""
_TYPES = {int: "integer", float: "number", str: "string", None: "string"}
_RUN = ("env_id", "seed", "total_timesteps")
"""Arguments that every run sets from its own fields."""


def parameter_schema(path: Path) -> dict[str, Any]:
    """Return the JSON Schema (object) of the arguments of the script at `path`.

    A property is named as the script's variable is (`learning_rate`); `x-flag` is the option on its command
    line, `x-cli` how a value is written there, `x-group` is `run`, `outputs` or `algorithm`,
    `x-tracking` what it is to W&B.

    Raises:
        SchemaUnreadable: the arguments are declared in a form that is not known.
    """
    source = read_arguments(path)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            **{action.dest: _property(action, source) for action in source.actions},
            TENSORBOARD: _FILES,
            CHECKPOINT: _START,
            SAMPLED: _SAMPLED,
            **TRACKING_PARAMETERS,
        },
    }


@lru_cache(maxsize=128)
def unreadable_arguments(path: Path) -> str:
    """Say why no run can be made from the arguments of a script, and what to do; empty: one can be."""
    try:
        properties = parameter_schema(path)["properties"]
        missing = [name for name in _RUN if name not in properties]
        if missing:
            raise SchemaUnreadable(path, f"it has no argument {' and no '.join(missing)}")
    except SchemaUnreadable as error:
        return str(error)
    return ""


def _property(action: argparse.Action, source: ArgumentSource) -> dict[str, Any]:
    kind = _type_of(action, source.path)
    if is_list(action):
        return _list_property(action, source)
    # A default of None means that "not set" is a value of its own, e.g. target_kl.
    result: dict[str, Any] = {"type": [kind, "null"] if action.default is None else kind}
    result["default"] = action.default
    if kind == "integer" and isinstance(action.default, float):
        result["default"] = int(action.default)  # sac_continuous_action writes 5e3
    if action.help:
        result["description"] = action.help + NOTES.get(action.dest, "")
    if action.choices is not None:
        own = [
            *action.choices,
            action.default,
        ]  # argparse takes a default that is none of the choices
        result["enum"] = list(dict.fromkeys(own))
    if action.dest in source.constants:
        result["const"] = source.constants[action.dest]
    bounds = BOUNDS.get(action.dest, {})
    if default_fault(result | bounds) is None:  # in a checkout a name may mean something else
        result |= bounds
    if action.dest in SCRIPT_ROLES:
        result[X_TRACKING] = SCRIPT_ROLES[action.dest].value
    result["x-flag"] = flag_of(action)
    result["x-cli"] = "--flag or --no-flag" if is_switch(action) else "flag value"
    result["x-group"] = _group_of(action.dest, source)
    return result


def _list_property(action: argparse.Action, source: ArgumentSource) -> dict[str, Any]:
    """A parameter of a run has one value: of a list it is the text with blanks between the values."""
    default = " ".join(str(value) for value in action.default or ())
    return {
        "type": ["string", "null"],
        "default": default or None,
        "description": f"{action.help or ''} (several with blanks between them)".strip(),
        "x-flag": flag_of(action),
        "x-cli": "flag value value...",
        "x-group": _group_of(action.dest, source),
    }


def _group_of(name: str, source: ArgumentSource) -> str:
    if name in _OUTPUTS:
        return "outputs"
    return "run" if name in source.run_arguments else "algorithm"


def flag_of(action: argparse.Action) -> str:
    """Return the option of an argument on the command line; of a switch, the one that turns it on."""
    return action.option_strings[0 if is_switch(action) else -1]


def is_switch(action: argparse.Action) -> bool:
    """Say whether a value is written `--flag` or `--no-flag`."""
    return isinstance(action, argparse.BooleanOptionalAction)


def is_list(action: argparse.Action) -> bool:
    """Say whether an argument takes several values."""
    return action.nargs == "+"


def _type_of(action: argparse.Action, path: Path) -> str:
    if is_switch(action):
        return "boolean"
    if is_list(action):
        return "string"
    if action.nargs == "?" and action.const is True:
        return "boolean"
    if action.nargs is None and action.option_strings and action.type in _TYPES:
        return _TYPES[action.type]
    raise SchemaUnreadable(path, f"the form of argument {action.dest} is not known")
