"""Writes recorded episodes as a Minari dataset (Younis et al., Minari, 2024)."""

import copy
import shutil
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import gymnasium
import minari
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from minari.data_collector import EpisodeBuffer
from minari.dataset.minari_storage import MinariStorage

from mosaic_client import Client
from mosaic_contracts import VERSION
from mosaic_contracts.exports import (
    DatasetExport,
    DatasetReport,
    ExportPhase,
    ExportProgress,
    dataset_name,
    datasets_folder,
)
from mosaic_exporter.episodes import RecordedEpisode, Selection, whole_episodes
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.rebuilt import RebuiltEpisodes
from mosaic_exporter.spaces import collected, environment_spaces, space_of, value_of
from mosaic_exporter.talk import Progress
from mosaic_exporter.unfinished import unfinished_folder


def make_dataset(client: Client, export: DatasetExport, progress: Progress) -> DatasetReport:
    """Write episodes of a run as a new dataset. It appears under its name when it is complete and was loaded.

    A run that recorded no observations is rebuilt by replays, and what they return is recorded.

    Args:
        client: of the stack that has the run.
        export: which run and episodes, and the name.
        progress: called with how far it is.

    Returns:
        What was written.

    Raises:
        ExportProblem: the dataset exists, or the episodes cannot be written as one.
        ClientError: the stack does not send them.
        OSError: the folder cannot be written.
    """
    try:
        report = DatasetReport(name=dataset_name(export.name))
    except ValueError as error:
        raise ExportProblem(str(error)) from error
    target = datasets_folder() / report.name
    if target.exists():
        raise ExportProblem(
            f"The Minari dataset {report.name} exists ({target}). Use another name or version."
        )
    config = next(iter(client.each_event(export.run_id, types=["config"])), {}).get("data", {})
    part = unfinished_folder(target)
    try:
        writer = DatasetWriter(part / "data", _environment_spec(config))
        with closing(_episodes(client, export, progress, report)) as episodes:
            report.steps = writer.write(episodes, _metadata(client, export, report, config))
        progress(ExportProgress(phase=ExportPhase.CHECKING))
        report.episodes = _checked(part / "data", report)
        report.has_environment = writer.spec is not None
        part.rename(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    report.folder = str(target)
    return report


def _episodes(
    client: Client, export: DatasetExport, progress: Progress, report: DatasetReport
) -> Generator[RecordedEpisode, None, None]:
    level = client.run(export.run_id).spec.record
    if not level.has_steps:
        raise ExportProblem(
            f"The run has the recording level `{level}`, which keeps no steps: a dataset needs `replay` or `full`. "
            "`./mosaic clone RUN --record replay` runs it again with its steps."
        )
    selection = Selection(export.ranges)
    if level.has_observations:
        yield from whole_episodes(
            client,
            export.run_id,
            selection,
            lambda steps: progress(ExportProgress(phase=ExportPhase.READING, done=steps)),
            report.left_out,
        )
        return
    report.is_rebuilt = True
    rebuilt = RebuiltEpisodes(
        client,
        export.run_id,
        selection,
        progress,
        report,
        allow_unverified=export.allow_unverified,
    )
    yield from rebuilt.read()


class DatasetWriter:
    """Writes episodes into the folder of one dataset.

    Args:
        folder: new folder.
        spec: of the environment, where it is installed here.
    """

    def __init__(self, folder: Path, spec: EnvSpec | None) -> None:
        self.spec = spec
        self._folder = folder
        self._recorded: Mapping[str, Any] = {}
        self._spaces: tuple[spaces.Space[Any], spaces.Space[Any]] | None = None

    def write(self, episodes: Iterator[RecordedEpisode], metadata: dict[str, Any]) -> int:
        """Write all episodes and return the number of their steps.

        Raises:
            ExportProblem: there are none, or their spaces differ.
        """
        first = next(episodes, None)
        if first is None:
            raise ExportProblem(
                "None of these episodes has a recorded beginning and end. `./mosaic episodes RUN` lists what was "
                "recorded."
            )
        self._recorded = first.spaces
        observed, acted = environment_spaces(self.spec)
        observation = space_of(first.spaces.get("observation") or {}, observed)
        action = space_of(first.spaces.get("action") or {}, acted)
        self._spaces = observation, action
        self._folder.mkdir(parents=True)
        # lossless: what was recorded is what is loaded
        storage = MinariStorage.new(
            self._folder, observation, action, self.spec, jpeg_encoding=False
        )
        storage.update_metadata(metadata)
        storage.update_episodes(self._buffers(first, episodes))
        return int(storage.total_steps)

    def _buffers(
        self, first: RecordedEpisode, others: Iterator[RecordedEpisode]
    ) -> Iterator[EpisodeBuffer]:
        yield self._buffer(first)
        for episode in others:
            if episode.spaces != self._recorded:
                raise ExportProblem(
                    f"Attempt {episode.key.attempt} of the run has other spaces than the one before."
                )
            yield self._buffer(episode)

    def _buffer(self, episode: RecordedEpisode) -> EpisodeBuffer:
        assert self._spaces is not None  # noqa: S101 - made from the first episode
        observation, action = self._spaces
        before = len(episode.rewards) - 1
        return EpisodeBuffer(
            seed=episode.seed,
            observations=collected(
                observation, [value_of(observation, value) for value in episode.observations]
            ),
            actions=collected(action, [value_of(action, value) for value in episode.actions]),
            rewards=episode.rewards,
            terminations=[False] * before + [episode.is_terminated],
            truncations=[False] * before + [episode.is_truncated],
        )


def _checked(folder: Path, report: DatasetReport) -> int:
    """Load the dataset back, every episode, and return their number.

    Raises:
        ExportProblem: it is not what was written.
    """
    dataset = minari.MinariDataset(folder)
    count = steps = 0
    for episode in dataset.iterate_episodes():
        count += 1
        steps += len(episode.rewards)
        if not (episode.terminations[-1] or episode.truncations[-1]):
            raise ExportProblem(f"Episode {count - 1} of the written dataset has no end.")
    if steps != report.steps or count != dataset.total_episodes:
        raise ExportProblem(f"The written dataset has {steps} steps and not {report.steps}.")
    return count


def _metadata(
    client: Client, export: DatasetExport, report: DatasetReport, config: Mapping[str, Any]
) -> dict[str, Any]:
    run_id, name, spec = export.run_id, report.name, client.run(export.run_id).spec
    rebuilt = "" if spec.record.has_observations else " Observations were rebuilt by replays."
    packages = config.get("packages") or {}
    return {
        "dataset_id": name,
        "minari_version": minari.__version__,
        "algorithm_name": spec.algorithm,
        "description": (
            f"Episodes of the MOSAIC run {run_id} ({spec.algorithm} on {spec.environment}, seed {spec.seed}), "
            f"exported by MOSAIC {VERSION}.{rebuilt}"
        ),
        "requirements": [f"{package}=={version}" for package, version in packages.items()],
    }


def _environment_spec(config: Mapping[str, Any]) -> EnvSpec | None:
    """Return the spec of the recorded environment where Gymnasium knows it here."""
    try:
        # a copy, for the registry's own is that of every other caller
        spec = copy.deepcopy(gymnasium.spec(str(config.get("environment", ""))))
    except gymnasium.error.Error:
        return None
    arguments = config.get("environment_arguments")
    if isinstance(arguments, Mapping):
        spec.kwargs.update(arguments)
    limit = config.get("max_episode_steps")
    if isinstance(limit, int):
        spec.max_episode_steps = limit
    return spec
