"""Draws an environment that was made without a render mode, and says in words why one cannot be drawn."""

import os
import subprocess
import sys
import warnings
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.interpreter import python_module
from mosaic_gymkit.families import is_mujoco

MUJOCO_GL = "MUJOCO_GL"
"""Environment variable that names the OpenGL for MuJoCo."""
PICTURE_MODE = "rgb_array"
_WITHOUT_SCREEN = ("egl", "osmesa")
_LIMIT_S = 60.0
_SHOWN_CHARS = 300


class NotDrawable(Exception):
    """There is no picture of the environment; the message says why."""


class Drawer:
    """Draws one environment.

    The render mode of the innermost environment is set while it draws and put back afterwards: steps go on as if
    nobody had drawn.

    Args:
        env: the environment, wrapped or not.
    """

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        self._inner: Any = env.unwrapped
        self._name = env.spec.id if env.spec is not None else type(self._inner).__name__
        self._is_mujoco = is_mujoco(env.spec)
        self._refusal = self._find_refusal()

    @property
    def fps(self) -> float:
        """Frames per second at which the environment is meant to be seen."""
        return render_fps(self._inner)

    def draw(self) -> NDArray[Any]:
        """Return the picture of this moment, as the environment gives it.

        Raises:
            NotDrawable: there is none.
        """
        if self._refusal:
            raise NotDrawable(self._refusal)
        inner = self._inner
        before = inner.render_mode
        # no window system and no sound: SDL would look for both
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
        os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
        try:
            inner.render_mode = PICTURE_MODE
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # a run that turns warnings into errors is drawn too
                picture = inner.render()
        except Exception as error:
            # The environment's own code: a run must not end because somebody looks at it.
            raise self._refuse(f"it failed: {type(error).__name__}: {error}") from error
        finally:
            inner.render_mode = before
        if isinstance(picture, list) and picture:
            picture = picture[-1]
        if not isinstance(picture, np.ndarray):
            raise self._refuse(f"it returned {type(picture).__name__} and no array")
        return picture

    def _find_refusal(self) -> str:
        modes = list((getattr(self._inner, "metadata", None) or {}).get("render_modes") or [])
        if PICTURE_MODE not in modes:
            has = (
                f"its render modes are {', '.join(map(str, modes))}"
                if modes
                else "it has no render modes"
            )
            return f"{self._name} makes no pictures: {has}."
        if not hasattr(self._inner, "render_mode"):
            return f"{self._name} makes no pictures: it has no attribute render_mode."
        if self._is_mujoco:
            gl, problem = find_opengl(self._name)
            if problem:
                return f"{self._name} cannot be drawn here: {problem}."
            os.environ[MUJOCO_GL] = gl
        return ""

    def _refuse(self, why: str) -> NotDrawable:
        text = " ".join(f"{self._name} cannot be drawn: {why}".split())[:_SHOWN_CHARS]
        self._refusal = text
        return NotDrawable(text)


def render_fps(env: Any) -> float:
    """Return the frames per second at which an environment is meant to be seen."""
    rate = (getattr(env, "metadata", None) or {}).get("render_fps")
    return float(rate) if isinstance(rate, int | float) and rate > 0 else 30.0


def find_opengl(environment: str) -> tuple[str, str]:
    """Find an OpenGL that draws a MuJoCo environment without a screen, in a process of its own: it may end that.

    Args:
        environment: id of the environment.

    Returns:
        Value for MUJOCO_GL, and why none works: one of both is empty. A value that somebody set is the only one tried.
    """
    chosen = os.environ.get(MUJOCO_GL)
    problems = {}
    for gl in (chosen,) if chosen else _WITHOUT_SCREEN:
        problems[gl] = try_drawing(environment, gl)
        if not problems[gl]:
            return gl, ""
    said = "; ".join(f"{gl}: {why}" for gl, why in problems.items())
    return "", (
        f"MuJoCo needs OpenGL without a screen, and none works here ({said}). Install EGL (Debian: libegl1 "
        "and libgl1-mesa-dri) or OSMesa (libosmesa6)"
    )


def try_drawing(environment: str, gl: str | None = None) -> str:
    """Make one picture in a process of its own.

    Args:
        environment: id of the environment.
        gl: value of MUJOCO_GL; None: as it is.

    Returns:
        Why no picture came, in words; empty: one came.
    """
    given = {} if gl is None else {MUJOCO_GL: gl}
    try:
        done = subprocess.run(
            python_module(sys.executable, "mosaic_gymkit.drawing_trial", environment),
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
