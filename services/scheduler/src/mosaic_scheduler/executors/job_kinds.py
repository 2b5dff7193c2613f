"""Which runs an engine with a queue gets."""

from mosaic_contracts.spec import RunKind

JOB_KINDS = frozenset({RunKind.TRAIN, RunKind.EVALUATE})
"""Kinds of runs that are jobs of a cluster. The others are small and belong to a person or to the stack: replays,
plays, TensorBoards, syncs and sweeps, which only choose other runs. They are processes of the scheduler's machine."""
