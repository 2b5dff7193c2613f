"""The environments that are offered by name: those that at least one algorithm can act in."""

from typing import Any

from gymnasium.envs.registration import EnvSpec

from mosaic_contracts.worker import Environment
from mosaic_gymkit.families import is_atari
from mosaic_worker_cleanrl.algorithm import algorithms_for
from mosaic_worker_cleanrl.environment.extras import (
    PackageExtra,
    extra_of,
    is_offered,
    known_environments,
)
from mosaic_worker_cleanrl.environment.probe import probe_environment


def list_environments() -> list[Environment]:
    """Return the environments offered by name, in the registry's order.

    Those of a bundle are among them when it is not installed: `check` then says how to have it. They are not
    made for this, for that would cost a second of imports.
    """
    offered = []
    for name, spec in known_environments().items():
        if not is_offered(spec):
            continue
        extra = extra_of(spec)
        facts = _probed(name) if extra is None else _from_extra(spec, extra)
        algorithms = algorithms_for(
            facts["action_space"], facts["observation_space"], facts.pop("form")
        )
        if algorithms:
            offered.append(
                Environment.model_validate(
                    {"id": name, "title": name, "algorithms": algorithms, **facts}
                )
            )
    return offered


def _probed(name: str) -> dict[str, Any]:
    probe = probe_environment(name)
    return {
        "action_space": probe.action_kind,
        "observation_space": probe.observation_kind,
        "form": probe.form,
        "max_steps": probe.max_steps,
        "render": "rgb_array" in probe.render_modes,
    }


def _from_extra(spec: EnvSpec, extra: PackageExtra) -> dict[str, Any]:
    form = "picture" if spec.id in extra.pictures else "vector"
    is_game = is_atari(spec)
    return {
        "action_space": "discrete" if is_game or spec.id in extra.discrete else "box",
        "observation_space": "box",
        "form": "atari" if is_game else form,
        "max_steps": spec.max_episode_steps,
        "render": True,
        "bundle": extra.name,
    }
