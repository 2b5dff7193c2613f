"""The first pass of a replay: every recorded step is rebuilt and compared."""

import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from mosaic_contracts.replays import PackageDifference, ReplayResult, ReplaySource, ResetWay
from mosaic_gymkit.replay.rebuilding import RebuiltEpisode, RebuiltMoment
from mosaic_gymkit.replay.record import ReplayRecord

_WITHOUT_EFFECT = frozenset({"torch", "cleanrl", "stable-baselines3", "spade", "spade_bdi"})
"""Packages of the agent, which no environment depends on."""


def compare_episode(
    rebuilt: RebuiltEpisode,
    record: ReplayRecord,
    source: ReplaySource,
    on_step: Callable[[RebuiltMoment], None],
    *,
    stops_at_difference: bool = False,
) -> ReplayResult:
    """Rebuild all steps of an episode and compare them.

    Steps behind the first difference are rebuilt too, as long as the environment takes them: their frames are
    approximate.

    Args:
        rebuilt: the episode, at its reset.
        record: what was recorded.
        source: names the episode in the result.
        on_step: called with each moment, the reset included.
        stops_at_difference: whether to rebuild nothing behind the first difference.

    Returns:
        The result; `can_draw` and `drawing_problem` are left at their defaults.
    """
    began = time.monotonic()
    episode, moment = rebuilt.episode, rebuilt.now
    first, equal, problem = moment.difference, 0, ""
    on_step(moment)
    try:
        while moment.step < rebuilt.last_step and not (stops_at_difference and first):
            moment = rebuilt.advance()
            first = first or moment.difference
            equal += first is None
            on_step(moment)
    except (ValueError, TypeError, KeyError, RuntimeError, AssertionError, IndexError) as error:
        # the environment's own refusal of a step, e.g. of an action after its end
        problem = f"Step {moment.step + 1} could not be taken: {type(error).__name__}: {error}"
    return ReplayResult(
        source=source,
        way=way_of(record),
        steps=len(episode.steps),
        equal=equal,
        first_difference=first,
        packages=package_differences(record.config),
        is_cut=episode.is_cut,
        problem="" if first is not None else problem,
        episodes_before=len(record.episodes) - 1,
        duration_s=time.monotonic() - began,
    )


def way_of(record: ReplayRecord) -> str:
    """Return how the reset of a record's last episode is rebuilt (`ResetWay`)."""
    reset = record.episodes[-1].reset
    if reset.get("way") == ResetWay.CHAIN.value and len(record.episodes) == 1:
        return ResetWay.SEED.value if "seed" in reset else ResetWay.GENERATOR.value
    return str(reset.get("way", ""))


def package_differences(config: Mapping[str, Any]) -> list[PackageDifference]:
    """Return the packages whose installed versions are not those of the record.

    Args:
        config: data of the recorded `config` event, whose `packages` maps names to versions.
    """
    packages = config.get("packages")
    differences = []
    for name, recorded in (packages if isinstance(packages, Mapping) else {}).items():
        if name in _WITHOUT_EFFECT:
            continue
        installed = _installed(str(name))
        if installed != recorded:
            differences.append(
                PackageDifference(package=str(name), recorded=str(recorded), installed=installed)
            )
    return differences


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
