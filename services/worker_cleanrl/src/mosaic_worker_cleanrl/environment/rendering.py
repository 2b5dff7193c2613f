"""Whether pictures of an environment can be made here, found out by making one."""

from dataclasses import dataclass

from mosaic_gymkit.drawing import find_opengl, try_drawing
from mosaic_gymkit.families import is_mujoco
from mosaic_worker_cleanrl.environment.extras import find_environment


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
    spec = find_environment(environment)
    if spec is None or not is_mujoco(spec):
        return Renderer(problem=try_drawing(environment))
    gl, problem = find_opengl(environment)
    return Renderer(gl or None, problem)
