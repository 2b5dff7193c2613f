"""Whether pictures of an environment can be made here, found out by making one. Also the program that makes it:
`python -m mosaic_worker_cleanrl.environment.rendering ENVIRONMENT`. OpenGL may end the process that asks it."""

import os
import subprocess
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn

from mosaic_contracts.interpreter import python_module
from mosaic_worker_cleanrl.environment.extras import known_environments

MUJOCO_GL = "MUJOCO_GL"
"""Environment variable that names the OpenGL for MuJoCo."""
_WITHOUT_SCREEN = ("egl", "osmesa")
_MUJOCO = "gymnasium.envs.mujoco."
_LIMIT_S = 60.0
_SHOWN_CHARS = 300


@dataclass(frozen=True)
class Renderer:
    """How pictures are made, or why they cannot be."""

    gl: str | None = None
    """Value of MUJOCO_GL that works; None: the environment needs no OpenGL."""
    problem: str = ""


def find_renderer(environment: str) -> Renderer:
    """Make a picture of an environment in a process of its own; MuJoCo's with each OpenGL that needs no screen.

    A value of MUJOCO_GL that somebody set is the only one tried.
    """
    if not str(known_environments()[environment].entry_point).startswith(_MUJOCO):
        return Renderer(problem=_try(environment, None))
    chosen = os.environ.get(MUJOCO_GL)
    problems = {}
    for gl in (chosen,) if chosen else _WITHOUT_SCREEN:
        problems[gl] = _try(environment, gl)
        if not problems[gl]:
            return Renderer(gl)
    said = "; ".join(f"{gl}: {why}" for gl, why in problems.items())
    return Renderer(
        problem=f"MuJoCo needs OpenGL without a screen, and none works here ({said}). Install EGL (Debian: libegl1 "
        "and libgl1-mesa-dri) or OSMesa (libosmesa6)"
    )


def _try(environment: str, gl: str | None) -> str:
    """Return why no picture came; empty: one came."""
    given = {} if gl is None else {MUJOCO_GL: gl}
    try:
        done = subprocess.run(
            python_module(sys.executable, __name__, environment),
            env={**os.environ, **given},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"no picture within {_LIMIT_S:g} s"
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(" ")]
    return (lines[-1] if lines else f"it ended with {done.returncode}")[:_SHOWN_CHARS]


def _draw(environment: str) -> NoReturn:
    import gymnasium
    import numpy as np

    known_environments()
    env = gymnasium.make(environment, render_mode="rgb_array")
    env.reset(seed=1)
    picture: Any = env.render()
    if not np.any(picture):
        sys.stderr.write("the picture is black\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(
        0
    )  # some versions of OpenGL fail when they are taken down, which says nothing of their pictures


def _report_error(
    kind: type[BaseException], error: BaseException, _trace: TracebackType | None
) -> None:
    """One line, and out: what fails while OpenGL is taken down would hide it."""
    sys.stderr.write(f"\n{kind.__name__}: {error}\n".replace("`", ""))
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    sys.excepthook = _report_error
    _draw(sys.argv[1])
