"""Videos that the script takes: each is announced once it is whole, also the one that a stop cuts short."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymnasium.wrappers.record_video import RecordVideo

from mosaic_worker_cleanrl.launch.patch import replaced
from mosaic_worker_cleanrl.launch.session import ScriptSession

KIND = "video"


@contextmanager
def video_hooks(session: ScriptSession) -> Iterator[None]:
    """Hook into gymnasium's video wrapper while the block runs; at its end close what is still open.

    Raises:
        HookNotInstalled: gymnasium is not as expected.
    """
    open_now: dict[int, Any] = {}

    def wrap_start(original: Callable[..., Any]) -> Callable[..., Any]:
        def start(wrapper: Any) -> None:
            original(wrapper)
            open_now[id(wrapper)] = wrapper

        return start

    def wrap_close(original: Callable[..., Any]) -> Callable[..., Any]:
        def close(wrapper: Any) -> None:
            was_open = open_now.pop(id(wrapper), None) is not None
            original(wrapper)
            if was_open:
                _announce(wrapper, session)

        return close

    with (
        replaced(RecordVideo, "start_video_recorder", wrap_start),
        replaced(RecordVideo, "close_video_recorder", wrap_close),
    ):
        try:
            yield
        finally:
            for wrapper in list(open_now.values()):
                wrapper.close_video_recorder()


def _announce(wrapper: Any, session: ScriptSession) -> None:
    recorder = wrapper.video_recorder
    path = Path(recorder.path)
    if path.is_file():  # a recorder that never got a picture writes none
        facts = {
            "episode": recorder.metadata["episode_id"],
            "frames": len(recorder.recorded_frames),
            "fps": float(recorder.frames_per_sec),
            "env": 0,
            "step": session.global_step,
        }
        session.telemetry.artifact(path, KIND, facts)
