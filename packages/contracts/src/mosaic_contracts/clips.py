"""Names of clips: short videos of a run's episodes, in its folder `videos`."""

import re

CLIPS_DIR = "videos"
CLIP_KIND = "video"
"""`kind` of the event `artifact` that announces one."""
_NAME = re.compile(r"env-([0-9]{1,9})-episode-([0-9]{1,18})\.mp4")


def clip_name(env: int, episode: int) -> str:
    """Return the name of the file with the clip of an episode.

    Args:
        env: number of the sub-environment.
        episode: number of its episode.
    """
    return f"env-{env}-episode-{episode:08d}.mp4"


def parse_clip_name(name: str) -> tuple[int, int] | None:
    """Return sub-environment and episode of the clip with this file name; None: it is not the name of a clip."""
    found = _NAME.fullmatch(name)
    return (int(found[1]), int(found[2])) if found else None
