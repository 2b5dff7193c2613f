"""Names of clips: short videos of a run's episodes, in its folder `videos`.

A clip is named before its first frame, so that its name says what it shows also where the run was killed.
"""

import re
from typing import NamedTuple

CLIPS_DIR = "videos"
CLIP_KIND = "video"
"""`kind` of the event `artifact` that announces one."""
_NAME = re.compile(r"env-([0-9]{1,9})-episode-([0-9]{1,18})(?:-step-([0-9]{1,18}))?\.mp4")


class ShownEpisode(NamedTuple):
    """What a clip shows."""

    env: int
    """Number of the sub-environment."""
    episode: int
    """Number of its episode."""
    step: int | None
    """Environment steps of the run at the episode's begin; None: an older clip, whose name does not say."""


def clip_name(env: int, episode: int, step: int) -> str:
    """Return the name of the file with the clip of an episode.

    Args:
        env: number of the sub-environment.
        episode: number of its episode.
        step: environment steps of the run at the episode's begin.
    """
    return f"env-{env}-episode-{episode:08d}-step-{step:012d}.mp4"


def parse_clip_name(name: str) -> ShownEpisode | None:
    """Return what the clip with this file name shows; None: it is not the name of a clip."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    env, episode, step = found.groups()
    return ShownEpisode(int(env), int(episode), None if step is None else int(step))
