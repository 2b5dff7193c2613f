"""The record of the episodes that a replay rebuilds, as the scheduler wrote it (`mosaic_contracts.replays`)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic_contracts.wire import StepFlag

_END = int(StepFlag.TERMINATED | StepFlag.TRUNCATED)


class RecordInvalid(ValueError):
    """The record of a replay cannot be read; the message says where."""


@dataclass(frozen=True)
class RecordedStep:
    """One recorded step, with the action in plain values."""

    step: int
    action: Any
    reward: float
    flags: int
    hash: bytes
    actor: int


@dataclass
class EpisodeLines:
    """One recorded episode."""

    env: int
    episode: int
    reset: Mapping[str, Any]
    hash: bytes
    """Hash of the first observation."""
    steps: list[RecordedStep] = field(default_factory=list)

    @property
    def is_cut(self) -> bool:
        """Whether the record ends before the episode did."""
        return not self.steps or not self.steps[-1].flags & _END


@dataclass(frozen=True)
class ReplayRecord:
    """What a replay is made from.

    Attributes:
        config: data of the recorded `config` event.
        episodes: the episodes that its reset needs, in order, and the replayed one last.
    """

    config: Mapping[str, Any]
    episodes: list[EpisodeLines]

    @property
    def alone(self) -> "ReplayRecord":
        """The record without earlier episodes."""
        return ReplayRecord(self.config, self.episodes[-1:])


def read_record(path: Path) -> ReplayRecord:
    """Read the record of a replay.

    Args:
        path: file with one event a line.

    Returns:
        The record, with at least one episode.

    Raises:
        RecordInvalid: it is none.
        OSError: it cannot be read.
    """
    config: Mapping[str, Any] | None = None
    episodes: list[EpisodeLines] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            try:
                event = json.loads(line)
                if event["type"] == "config":
                    config = dict(event["data"])
                elif event["type"] == "episode_start":
                    episodes.append(_episode(event))
                elif event["type"] == "step":
                    _add(episodes, event)
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise RecordInvalid(f"line {number} of {path.name}: {error!r}") from error
    if config is None or not episodes:
        raise RecordInvalid(f"{path.name} holds no config or no episode")
    return ReplayRecord(config, episodes)


def _episode(event: Mapping[str, Any]) -> EpisodeLines:
    return EpisodeLines(
        int(event["env"]), int(event["episode"]), dict(event["reset"]), bytes.fromhex(event["hash"])
    )


def _add(episodes: list[EpisodeLines], event: Mapping[str, Any]) -> None:
    steps = episodes[-1].steps
    step = RecordedStep(
        int(event["step"]),
        event["action"],
        float(event["reward"]),
        int(event["flags"]),
        bytes.fromhex(event["hash"]),
        int(event.get("actor", 0)),
    )
    if step.step != len(steps) + 1:
        raise ValueError(f"step {step.step} follows step {len(steps)}: the record has a gap")
    steps.append(step)
