"""Families of environments that need packages of their own: what is known of them without those packages."""

import os
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mosaic_contracts.tracking import WANDB
from mosaic_gymkit.families import ATARI, MUJOCO, is_atari
from mosaic_worker_cleanrl.environment import atari


@dataclass(frozen=True, kw_only=True)
class PackageExtra:
    """One optional set of packages; `worker.toml` and the project file name it too."""

    name: str
    packages: tuple[str, ...]
    title: str
    family: str | None = None
    """How the entry points of its environments begin; None: it brings none."""
    suffix: str = ""
    """How the module of such an entry point ends."""
    discrete: frozenset[str] = frozenset()
    """Environments with a discrete action space; all others have boxes."""
    pictures: frozenset[str] = frozenset()
    """Environments whose observation is no vector."""

    @property
    def is_installed(self) -> bool:
        """Whether all its packages are here."""
        try:
            return all(
                distribution(package) for package in self.packages
            )  # `version` parses a file
        except PackageNotFoundError:
            return False

    @property
    def install_command(self) -> str:
        """What a person runs in the checkout to have it, here or in the image that this is."""
        in_image = os.environ.get(IMAGE_EXTRAS)
        if in_image is None:
            return f"./mosaic sync worker_cleanrl --bundle {self.name}"
        names = f"{in_image} {self.name}".strip()
        return f'MOSAIC_BUNDLES="{names}" ./mosaic images build worker_cleanrl'

    def holds(self, spec: EnvSpec) -> bool:
        """Say whether an environment is one of these."""
        if self.family is None:
            return False
        module = str(spec.entry_point).partition(":")[0]
        return module.startswith(self.family) and module.endswith(self.suffix)


IMAGE_EXTRAS = "MOSAIC_IMAGE_BUNDLES"
"""Set in an image: the bundles that it was built with."""
VIDEO = PackageExtra(
    name="video",
    packages=("av", "imageio", "imageio-ffmpeg", "moviepy"),
    title="video encoding (PyAV, and moviepy with an ffmpeg)",
)
JAX = PackageExtra(
    name="jax",
    packages=("jax", "jaxlib", "flax", "optax", "chex"),
    title="JAX (with Flax and Optax)",
)
TRACKER = PackageExtra(name=WANDB, packages=("wandb",), title="Weights & Biases (wandb)")
EXTRAS = (
    PackageExtra(
        name="atari",
        packages=("ale-py", "opencv-python-headless"),
        title="Atari (ale-py and OpenCV)",
        family=ATARI,
    ),
    PackageExtra(
        name="box2d",
        packages=("Box2D", "pygame"),
        title="Box2D",
        family="gymnasium.envs.box2d.",
        discrete=frozenset({"LunarLander-v2"}),
        pictures=frozenset({"CarRacing-v2"}),
    ),
    PackageExtra(
        name="mujoco",
        packages=("mujoco", "imageio"),
        title="MuJoCo",
        family=MUJOCO,
        suffix="_v4",  # earlier versions want mujoco-py, which is no longer kept
    ),
    JAX,
    VIDEO,
    TRACKER,
)


def extra_named(name: str | None) -> PackageExtra | None:
    """Return a bundle by its name; None: there is no such bundle."""
    return next((extra for extra in EXTRAS if extra.name == name), None)


def extra_of(spec: EnvSpec) -> PackageExtra | None:
    """Return the bundle that an environment needs, or None."""
    return next((extra for extra in EXTRAS if extra.holds(spec)), None)


_BASE_FAMILIES = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
"""What the base environment of this worker can make."""


def is_offered(spec: EnvSpec) -> bool:
    """Say whether an environment can be made here, a bundle's when that is installed. One form of each game can."""
    if is_atari(spec):
        return atari.is_plain(spec)
    return str(spec.entry_point).startswith(_BASE_FAMILIES) or extra_of(spec) is not None


def find_environment(name: str) -> EnvSpec | None:
    """Return what gymnasium knows of an environment; None: nothing.

    The registry gets the Atari games only for a name that it lacks: ale-py takes longer to import than a check.
    """
    return gymnasium.registry.get(name) or known_environments().get(name)


def known_environments() -> dict[str, EnvSpec]:
    """Return gymnasium's registry with the Atari games in it."""
    atari.register_games()
    return gymnasium.registry
