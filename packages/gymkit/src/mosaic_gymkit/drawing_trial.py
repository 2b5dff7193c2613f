"""Program that makes one picture: `python -m mosaic_gymkit.drawing_trial ENVIRONMENT`. OpenGL may end the process."""

import os
import sys
from types import TracebackType
from typing import NoReturn


def _draw(environment: str) -> NoReturn:
    import gymnasium
    import numpy as np

    from mosaic_gymkit.families import find_registered

    find_registered(environment)
    env = gymnasium.make(environment, render_mode="rgb_array")
    env.reset(seed=1)
    if not np.any(np.asarray(env.render())):
        sys.stderr.write("the picture is black\n")
        sys.stderr.flush()
        os._exit(1)
    # Some versions of OpenGL fail when they are taken down, which says nothing of their pictures.
    os._exit(0)


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
