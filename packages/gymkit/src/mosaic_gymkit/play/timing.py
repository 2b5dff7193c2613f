"""How fast a play goes: by turns or in real time, and at which rate."""

from dataclasses import dataclass
from typing import Any

import gymnasium

from mosaic_contracts.play import MAX_AXES, PlayControls
from mosaic_gymkit.drawing import render_fps
from mosaic_gymkit.families import is_atari
from mosaic_gymkit.play.keymap import KeyMap, axis_ranges
from mosaic_gymkit.play.known_keys import has_turns, meanings

CONSOLE_FPS = 60
"""Frames per second of an Atari console."""
LEAVE_S = 60.0
"""Seconds without anybody after which a play that waits for a person ends, where the run says nothing else."""
RAMP_S = 0.15
"""Seconds from the middle of a continuous action to its end while a key is held, where the run says nothing else."""


@dataclass(frozen=True)
class PlayTiming:
    """How fast a play goes.

    Attributes:
        has_turns: each press of a key is one step of the person. False: the environment goes on by itself.
        own_rate: steps per second at which a person plays, where nothing else is asked for.
        rate: steps per second that were asked for; None: a policy that nobody interferes with is not held back.
        ramp_s: seconds from the middle of a continuous action to its end while a key is held.
        waits: whether an episode of the person begins with the first key.
        leave_s: seconds without anybody after which a play that waits for a person ends.
    """

    has_turns: bool
    own_rate: float
    rate: float | None = None
    ramp_s: float = RAMP_S
    waits: bool = True
    leave_s: float = LEAVE_S

    @classmethod
    def of_policy(
        cls, env: gymnasium.Env[Any, Any], pace: float | None, frames_per_step: int = 1
    ) -> "PlayTiming":
        """Return the timing of a play of a policy.

        Args:
            env: the environment.
            pace: steps per second that the run asks for; None: as fast as it goes.
            frames_per_step: steps of the environment that one action lasts.
        """
        return cls(has_turns(env), own_rate(env) / frames_per_step, pace)

    @property
    def ramp(self) -> float:
        """Steps from the middle of a continuous action to its end; by turns 0: at once."""
        return 0.0 if self.has_turns else self.ramp_s * self.own_rate


def own_rate(env: gymnasium.Env[Any, Any]) -> float:
    """Return the steps per second at which an environment is meant to be seen."""
    if is_atari(env.spec):
        skipped = getattr(env.unwrapped, "_frameskip", 1)
        return CONSOLE_FPS / (skipped if isinstance(skipped, int) else 4)
    return render_fps(env.unwrapped)


def controls_of(
    env: gymnasium.Env[Any, Any], keymap: KeyMap, timing: PlayTiming, *, has_policy: bool = False
) -> PlayControls:
    """Return what the config event of a play says of how a person acts."""
    return PlayControls(
        timing="turns" if timing.has_turns else "real_time",
        rate=timing.own_rate if timing.rate is None else timing.rate,
        keys=keymap.named,
        idle=keymap.idle,
        meanings=meanings(env, keymap.named),
        default_keys=keymap.default,
        axes=axis_ranges(env.action_space)[:MAX_AXES],
        has_policy=has_policy,
    )
