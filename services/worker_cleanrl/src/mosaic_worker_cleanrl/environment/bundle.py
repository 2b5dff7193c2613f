"""Families of environments that need packages of their own: what is known of them without those packages."""

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from gymnasium.envs.registration import EnvSpec


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """One optional set of packages; `worker.toml` and the project file name it too."""

    name: str
    packages: tuple[str, ...]
    title: str
    family: str
    """How the entry points of its environments begin."""
    suffix: str = ""
    """How the module of such an entry point ends."""
    discrete: frozenset[str] = frozenset()
    """Environments with a discrete action space; all others have boxes."""
    pictures: frozenset[str] = frozenset()
    """Environments whose observation is no vector."""
    chained: frozenset[str] = frozenset()
    """Environments whose simulator carries something over from episode to episode."""

    @property
    def is_installed(self) -> bool:
        """Whether all its packages are here."""
        try:
            return all(version(package) for package in self.packages)
        except PackageNotFoundError:
            return False

    @property
    def install_command(self) -> str:
        """What a person runs in the checkout to have it."""
        return f"./mosaic sync worker_cleanrl --bundle {self.name}"

    def holds(self, spec: EnvSpec) -> bool:
        """Say whether an environment is one of these."""
        module = str(spec.entry_point).partition(":")[0]
        return module.startswith(self.family) and module.endswith(self.suffix)


BUNDLES = (
    Bundle(
        name="box2d",
        packages=("Box2D", "pygame"),
        title="Box2D",
        family="gymnasium.envs.box2d.",
        discrete=frozenset({"LunarLander-v2"}),
        pictures=frozenset({"CarRacing-v2"}),
        chained=frozenset({"BipedalWalker-v3", "BipedalWalkerHardcore-v3"}),
    ),
    Bundle(
        name="mujoco",
        packages=("mujoco", "imageio"),
        title="MuJoCo",
        family="gymnasium.envs.mujoco.",
        suffix="_v4",  # earlier versions want mujoco-py, which is no longer kept
    ),
)


def bundle_of(spec: EnvSpec) -> Bundle | None:
    """Return the bundle that an environment needs, or None."""
    return next((bundle for bundle in BUNDLES if bundle.holds(spec)), None)


def is_chained(name: str) -> bool:
    """Say whether an episode can be rebuilt only after all those that the environment had before it."""
    return any(name in bundle.chained for bundle in BUNDLES)


_BASE_FAMILIES = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
"""What the base environment of this worker can make."""


def is_offered(spec: EnvSpec) -> bool:
    """Say whether an environment can be made here, a bundle's when that is installed."""
    return str(spec.entry_point).startswith(_BASE_FAMILIES) or bundle_of(spec) is not None
