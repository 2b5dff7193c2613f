"""Orders to the comparer and what it reports.

The comparer (`python -m mosaic_analysis.comparer`) is started by the desktop client, as the exporter is: it reads one
`ComparisonOrder` as a line of JSON on its standard input, which stays open. When it is closed, because the comparison
is cancelled or the program that started it has died, the comparer stops the evaluations that it has started, and ends.
It writes one `ComparerLine` a line on its standard output: progress, and at the end a result or a problem.
"""

from typing import Annotated, Literal

from pydantic import Field

from mosaic_contracts.comparisons import (
    ActorsResult,
    ComparisonFile,
    ScoreRange,
    TrainingResult,
)
from mosaic_contracts.exports import StackAddress
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.models import PeerModel, UserModel

COMPARER = "analysis"
"""Component that has the comparer."""
COMPARER_PATIENCE_S = 15.0
"""Seconds in which a cancelled comparer stops its evaluations."""
PICTURE, DARK_PICTURE = "picture.png", "picture-dark.png"
"""Files of the folder: the picture of the result, and the same on a dark ground."""


class PolicyOrder(UserModel):
    """Policies on equal seeds. Runs are named by whole ids, checkpoints by paths, `best` or `last`."""

    kind: Literal["policies"] = "policies"
    plan: ComparisonFile
    again: bool = False
    """Whether earlier evaluations of the same files on the same seeds are left out."""


class TrainingOrder(UserModel):
    """Trainings over their seeds."""

    kind: Literal["training"] = "training"
    runs: Annotated[list[str], Field(min_length=1)]
    """Whole ids."""
    thresholds: dict[str, float] = Field(default_factory=dict)
    """Return by environment; an empty name is for each of them."""
    score_ranges: dict[str, ScoreRange] = Field(default_factory=dict)


class ComparisonOrder(UserModel):
    """What the comparer reads."""

    stack: StackAddress
    comparison: Annotated[PolicyOrder | TrainingOrder, Field(discriminator="kind")]
    folder: str
    """Gets result, tables and pictures; it is made."""


class ActorProgress(PeerModel):
    """How far the evaluation of one actor is."""

    name: str
    run_id: str | None = None
    """Its evaluation; None: it could not be started."""
    state: str = ""
    """State of that run, with the reason for which it waits."""
    episodes: int = 0
    """Episodes that have ended."""
    is_reused: bool = False
    """Whether the evaluation was there before."""
    problem: str = ""


class ComparerLine(PeerModel):
    """One line of the comparer's output. It has one of these fields."""

    progress: list[ActorProgress] | None = None
    """All actors that are evaluated."""
    analysing: bool = False
    """The returns are gathered, and the statistics are made."""
    policies: ActorsResult | None = None
    training: TrainingResult | None = None
    left_out: list[str] = Field(default_factory=list)
    """With a result: actors without returns, and why."""
    problem: str = ""
    """Why there is no result, in words."""


def comparer_argv(python: str) -> list[str]:
    """Return the command that starts the comparer.

    Args:
        python: interpreter of its environment.
    """
    return python_module(python, "mosaic_analysis.comparer")
