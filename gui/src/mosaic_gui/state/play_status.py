"""What a play waits for, as its worker reports it and its frames show it."""

from dataclasses import dataclass, replace

from pydantic import ValidationError

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_contracts.play import PlayStatus
from mosaic_contracts.wire import Actor, StepFlag

ENDS = StepFlag.TERMINATED | StepFlag.TRUNCATED


@dataclass(frozen=True)
class PlayMoment:
    """What a play waits for, and who is in control."""

    paused: bool = False
    waiting: bool = False
    """The episode begins with the first key."""
    over: bool = False
    rate: float | None = None
    """Steps per second; None: not reported."""
    person: bool = True
    """A person is in control. Each step says who chose its action."""

    @classmethod
    def of_event(cls, data: object) -> "PlayMoment | None":
        """The data of a `play.state` event; None: not of this version."""
        try:
            found = PlayStatus.model_validate(data)
        except ValidationError:
            return None
        person = found.actor == Actor.HUMAN
        return cls(found.paused, found.waiting, found.over, found.rate, person)

    def with_frame(self, frame: EnvironmentFrame) -> "PlayMoment":
        """The same where a frame is newer: events come a little later than frames."""
        return replace(
            self, waiting=self.waiting and frame.step == 0, over=bool(frame.flags & ENDS)
        )


@dataclass(frozen=True)
class PlayedEpisode:
    """An episode that has ended in this play."""

    episode: int
    episode_return: float
    length: int


def ended_episode(frame: EnvironmentFrame) -> PlayedEpisode | None:
    """The episode that a frame ends; None: it goes on."""
    if not frame.flags & ENDS:
        return None
    return PlayedEpisode(frame.episode, frame.episode_return, frame.step)
