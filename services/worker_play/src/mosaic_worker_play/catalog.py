"""The environments that are offered by name, and what is known of each."""

import importlib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mosaic_contracts.worker import Environment
from mosaic_gymkit.families import ATARI, MUJOCO, find_registered
from mosaic_gymkit.play.known_keys import TURNS
from mosaic_worker_play.options import EntryPoint
from mosaic_workerkit.spaces import space_of

_BASE = ("gymnasium.envs.classic_control.", "gymnasium.envs.toy_text.")
_BUNDLES = {
    "gymnasium.envs.box2d.": ("box2d", "Box2D"),
    MUJOCO: ("mujoco", "mujoco"),
    ATARI: ("atari", "ale-py"),
    "minigrid.": ("minigrid", "minigrid"),
}
"""How entry points begin, with the bundle and its package."""


def list_environments() -> list[Environment]:
    """Return the newest version of each environment, with those of bundles that Gymnasium itself registers.

    Nothing of them is imported: see `describe_environments`.
    """
    return [Environment(id=spec.id, title=spec.id) for spec in _newest_specs()]


def describe_environments() -> list[Environment]:
    """Return the same with their spaces, options, rates, and what each lacks here. It imports what is installed."""
    return [_described(spec) for spec in _newest_specs()]


def _newest_specs() -> list[EnvSpec]:
    find_registered("ALE/Pong-v5")
    with suppress(ImportError):
        importlib.import_module("minigrid")
    newest: dict[str, EnvSpec] = {}
    for spec in gymnasium.registry.values():
        name = f"{spec.namespace or ''}/{spec.name}"
        if _is_offered(spec) and (spec.version or 0) >= (getattr(newest.get(name), "version", 0) or 0):  # fmt: skip
            newest[name] = spec
    return list(newest.values())


def install_hint(environment: str) -> str:
    """Return how to install the bundle that an environment needs; empty: it needs none, or has it."""
    name = _missing_bundle(environment)
    return f"It needs the bundle {name}: `{_install_command(name)}`." if name else ""


def _install_command(bundle: str) -> str:
    return f"./mosaic sync worker_play --bundle {bundle}" if bundle else ""


def _missing_bundle(environment: str) -> str:
    """The bundle that an environment needs and that is not installed; empty: none."""
    spec = gymnasium.registry.get(environment)
    if environment.startswith("ALE/"):
        name, package = _BUNDLES[ATARI]
    elif environment.startswith(("MiniGrid-", "BabyAI-")):
        name, package = _BUNDLES["minigrid."]
    else:
        bundle = None if spec is None else _bundle_of(spec)
        if bundle is None:
            return ""
        name, package = bundle
    with suppress(PackageNotFoundError):
        version(package)
        return ""
    return name


def _is_offered(spec: EnvSpec) -> bool:
    entry = str(spec.entry_point)
    if entry.startswith(ATARI):
        return spec.namespace == "ALE"
    return entry.startswith(_BASE) or (_bundle_of(spec) is not None and "_v4" not in entry)


def _bundle_of(spec: EnvSpec) -> tuple[str, str] | None:
    entry = str(spec.entry_point)
    return next((bundle for begin, bundle in _BUNDLES.items() if entry.startswith(begin)), None)


def _described(spec: EnvSpec) -> Environment:
    bundle = _bundle_of(spec)
    entry = EntryPoint(spec)
    return Environment(
        id=spec.id,
        title=spec.id,
        max_steps=spec.max_episode_steps,
        render=True,
        bundle=None if bundle is None else bundle[0],
        install=_install_command(_missing_bundle(spec.id)),
        options=entry.options(),
        rate=entry.rate(),
        turns=TURNS.match(str(spec.entry_point)) is not None,
        **({} if bundle is not None else _spaces(spec)),
    )


def _spaces(spec: EnvSpec) -> dict[str, Any]:
    """What spaces an environment without further packages has."""
    try:
        env = gymnasium.make(spec, disable_env_checker=True)
    except (gymnasium.error.Error, ImportError):
        return {}
    spaces = {
        "action_space": space_of(env.action_space)["kind"],
        "observation_space": space_of(env.observation_space)["kind"],
    }
    env.close()
    return spaces
