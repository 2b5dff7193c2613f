"""Whether two runs of one spec did the same: episodes, checkpoints, and what differs around them."""

import hashlib
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic_cli.output import json_line
from mosaic_client import Client
from mosaic_client.comparing.returns import config_of
from mosaic_client.comparing.trainings import metric_points
from mosaic_contracts.comparisons import ComparedCheckpoint, DifferingFact
from mosaic_contracts.run_diff import code_facts, package_versions
from mosaic_contracts.runs import RunView

_TENSORS = "/data/"
"""Folder of the tensors' bytes in a file of PyTorch."""
_ABOUT_THE_FILE = ("packages.npy",)
"""Members of an npz that say how it was made."""
_OF_SPEC = ("worker", "algorithm", "environment", "seed", "steps", "parameters", "cpus", "gpus")
_OF_RECORD = ("worker_version", "worker_lock", "image")


class EndedEpisode(NamedTuple):
    """What is compared of a complete episode."""

    episode_return: float
    length: int | None


def ended_episodes(client: Client, run: RunView) -> list[EndedEpisode]:
    """Return the complete episodes in the order in which they ended; where none was recorded, points of the returns."""
    rows = [
        row
        for row in client.each_episode(run.run_id)
        if row.length is not None and row.episode_return is not None
    ]
    rows.sort(key=lambda row: (row.attempt, row.global_step or 0, row.env))
    if rows:
        return [EndedEpisode(float(row.episode_return or 0.0), row.length) for row in rows]
    return [EndedEpisode(value, None) for _, value in metric_points(client, run)]


def digest_of(episodes: Sequence[EndedEpisode]) -> str:
    """Return the SHA-256 over return and length of each episode."""
    digest = hashlib.sha256()
    for episode in episodes:
        digest.update(f"{episode.episode_return.hex()} {episode.length}\n".encode())
    return digest.hexdigest()


def first_difference(first: Sequence[EndedEpisode], second: Sequence[EndedEpisode]) -> int | None:
    """Return the number of the first episode that differs, from 1; None: all are equal."""
    for number, (one, other) in enumerate(zip(first, second, strict=False), 1):
        if one != other:
            return number
    shorter, longer = sorted((len(first), len(second)))
    return None if shorter == longer else shorter + 1


def compare_checkpoints(
    client: Client, first: RunView, second: RunView
) -> list[ComparedCheckpoint]:
    """Compare the tensors of the checkpoints that both runs have."""
    paths = [
        {
            row.path
            for row in client.artifacts(run.run_id)
            if row.kind == "checkpoint" and row.exists
        }
        for run in (first, second)
    ]
    compared = []
    with tempfile.TemporaryDirectory() as folder:
        for path in sorted(paths[0] & paths[1]):
            digests = []
            for run in (first, second):
                file = Path(folder, run.run_id)
                client.download(run.run_id, path, file)
                digests.append(tensors_digest(file))
            compared.append(ComparedCheckpoint(path=path, is_equal=digests[0] == digests[1]))
    return compared


def tensors_digest(file: Path) -> str:
    """Return the SHA-256 over the tensors of a checkpoint; of a file of another form, over all of it.

    Nothing in the file is run: the tensors of PyTorch's files and NumPy's archives are members of a zip.
    """
    digest = hashlib.sha256()
    if not zipfile.is_zipfile(file):
        digest.update(file.read_bytes())
        return digest.hexdigest()
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        tensors = [name for name in names if _TENSORS in name]
        for name in sorted(tensors or [name for name in names if name not in _ABOUT_THE_FILE]):
            digest.update(f"{name.rpartition('/')[2]}\n".encode())
            digest.update(archive.read(name))
    return digest.hexdigest()


def differing_facts(client: Client, first: RunView, second: RunView) -> list[DifferingFact]:
    """Return what differs around two runs: specs, locks, code, and what their config events say."""
    known = []
    for run in (first, second):
        config = config_of(client, run.run_id)
        spec = run.spec.model_dump(mode="json")
        facts = {f"spec.{name}": spec[name] for name in _OF_SPEC}
        facts |= {name: getattr(run, name) for name in _OF_RECORD}
        facts |= {f"code.{name}": value for name, value in code_facts(config).items()}
        facts |= dict(_flat("packages", package_versions(config)))
        facts |= dict(_flat("surroundings", config.get("surroundings") or {}))
        known.append(facts)
    one, other = known
    return [
        DifferingFact(what=name, first=_shown(one.get(name)), second=_shown(other.get(name)))
        for name in sorted(one.keys() | other.keys())
        if one.get(name) != other.get(name)
    ]


def _flat(part: str, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((f"{part}.{name}", value) for name, value in values.items())


def _shown(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json_line(value)
