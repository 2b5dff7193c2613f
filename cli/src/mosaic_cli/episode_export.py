"""Exports by the exporter: steps or a video of an episode, a Minari dataset, a TensorBoard event file."""

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.episode_choice import WantedEpisode, find_episode
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import emit_line, say
from mosaic_cli.replaying import episode_ref, say_differing_packages
from mosaic_cli.wording import named, number, plural
from mosaic_client import light, reading

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.exports import DatasetReport, EpisodeRange, VideoForm, VideoReport

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_ALL = "all"
_LAST = 2**62 - 1
"""Above the number of every episode."""


def write_steps(
    client: "Client", run: light.RunFields, wanted: WantedEpisode, output: Path | None
) -> None:
    """Write beginning and steps of an episode as JSON lines.

    Raises:
        FileProblem: `output` cannot be written.
    """
    row = find_episode(client, run.run_id, wanted)
    place = (run.run_id, row.attempt, row.env, row.episode)
    if output is None:
        events = reading.steps(client, *place)
        for event in events:
            emit_line(event)
        count = sum(event["type"] == "step" for event in events)
    else:
        from mosaic_client.export.steps import write_steps as write_file

        _writable(output)
        try:
            count = write_file(client, *place, output)
        except OSError as error:
            raise _unwritable(output, error) from error
    say(f"{plural(count, 'step')} of episode {row.episode} written to {output or 'stdout'}.")


def write_video(
    client: "Client",
    run: light.RunFields,
    wanted: WantedEpisode,
    form: "VideoForm",
    speed: float,
    output: Path | None,
) -> None:
    """Rebuild an episode and encode its pictures.

    Raises:
        FileProblem: `output` cannot be written.
        ExportFailed: the episode cannot be rebuilt, drawn or encoded.
        KeyboardInterrupt: Ctrl-C. Nothing was written, and the replay was stopped.
    """
    from mosaic_cli.exporting import run_exporter
    from mosaic_contracts.exports import ExportPhase, VideoExport, export_file_name

    row = find_episode(client, run.run_id, wanted)
    episode = episode_ref(run.run_id, row)
    target = output or Path(export_file_name(episode, form))
    _writable(target)  # before the episode is rebuilt for nothing
    export = VideoExport(
        episode=episode,
        target=str(target.absolute()),
        form=form,
        speed=speed,
        title=_title(run, row),
    )
    titles = {ExportPhase.DRAWING: f"Encoding {target.name}"}
    made = run_exporter(client, export, titles).video
    if made is not None:
        _report_video(row, target, made)


def _report_video(row: light.EpisodeFields, target: Path, made: "VideoReport") -> None:
    if made.replay is not None:
        say_differing_packages(made.replay)
        say(f"Episode {row.episode}: {made.replay.verdict}.")
    every = f"; one frame for {made.every} steps" if made.every > 1 else ""
    say(
        f"{target}: {plural(made.frames, 'frame')} of {made.width}x{made.height} pixels, "
        f"{number(made.fps)} a second{every}."
    )
    if made.approximate_from is not None:
        say(
            f"Frames from step {made.approximate_from} on are approximate: "
            "the rebuilt episode differs from the record there."
        )
    if made.without_picture:
        frames = plural(made.without_picture, "frame")
        say(f"{frames} had no picture and show the one before.")


def write_event_file(client: "Client", run: light.RunFields, output: Path | None) -> None:
    """Write a run's metrics, configuration and hyperparameters as a TensorBoard event file.

    Raises:
        ExportFailed: the run has recorded no metric, or the folder is not empty.
        KeyboardInterrupt: Ctrl-C. Nothing was written.
    """
    from mosaic_cli.exporting import run_exporter
    from mosaic_contracts.exports import EventFileExport, ExportPhase

    target = output or Path(f"tensorboard-{run.run_id}")
    export = EventFileExport(run_id=run.run_id, target=str(target.absolute()))
    made = run_exporter(client, export, {ExportPhase.READING: "Writing metrics"}).events
    if made is not None:
        values, where = plural(made.points, "value"), shlex.quote(str(target))
        say(f"{values} of {plural(made.metrics, 'metric')} written: tensorboard --logdir {where}")


def write_dataset(
    client: "Client",
    run_id: str,
    name: str,
    episodes: str | None,
    env: int | None,
    *,
    allow_unverified: bool,
) -> None:
    """Write recorded episodes as a Minari dataset.

    Raises:
        ValueRefused: `name` is none, or `episodes` is no list of numbers.
        ExportFailed: the episodes cannot be rebuilt, or Minari cannot hold them.
        KeyboardInterrupt: Ctrl-C. Nothing was written, and the replays were stopped.
    """
    from mosaic_cli.exporting import run_exporter
    from mosaic_contracts.exports import DatasetExport, ExportPhase, dataset_name

    try:
        whole_name = dataset_name(name)
    except ValueError as error:
        raise ValueRefused(str(error)) from error
    export = DatasetExport(
        run_id=run_id,
        name=whole_name,
        ranges=_ranges(episodes or _ALL, env),
        allow_unverified=allow_unverified,
    )
    titles = {
        ExportPhase.READING: f"Writing {whole_name}",
        ExportPhase.REBUILDING: "Rebuilding the episodes",
        ExportPhase.CHECKING: f"Loading {whole_name} back",
    }
    made = run_exporter(client, export, titles).dataset
    if made is not None:
        _report_dataset(made, allow_unverified=allow_unverified)


def _report_dataset(made: "DatasetReport", *, allow_unverified: bool) -> None:
    rebuilt = ", rebuilt by replays," if made.is_rebuilt else ""
    say(
        f"Minari dataset {made.name}: {plural(made.episodes, 'episode')} with "
        f"{plural(made.steps, 'step')}{rebuilt} in {made.folder}, loaded back and complete."
    )
    if made.left_out:
        left_out = plural(len(made.left_out), "episode")
        say(f"Left out: {left_out} without a recorded end, or with missing or thinned steps.")
    if made.unverified:
        differing = plural(len(made.unverified), "episode")
        what = "Kept" if allow_unverified else "Left out"
        say(f"{what}: {differing} whose rebuilt steps differ from the record.")


def _title(run: light.RunFields, row: light.EpisodeFields) -> str:
    result = f", return {number(row.episode_return)}" if row.episode_return is not None else ""
    return f"{named(run)}: episode {row.episode}{result}"


def _ranges(text: str, env: int | None) -> "list[EpisodeRange]":
    """The ranges of `1-50,70`; empty for all episodes of all sub-environments.

    Raises:
        ValueRefused: the text is no such list.
    """
    from mosaic_contracts.exports import EpisodeRange

    if text == _ALL:
        return [] if env is None else [EpisodeRange(first=0, last=_LAST, env=env)]
    ranges = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise ValueRefused(
                f"--episodes takes numbers and ranges, e.g. 0-49,70, or all; not {text!r}."
            )
        first, last = int(found[1]), int(found[2] or found[1])
        ranges.append(EpisodeRange(first=first, last=last, env=env))
    return ranges


def _writable(target: Path) -> Path:
    """The file that `target` names.

    Raises:
        FileProblem: it is no file that can be replaced, or its folder is missing.
    """
    from mosaic_base.output_file import output_file

    try:
        file = output_file(target)
        if file.is_dir():
            raise IsADirectoryError(21, "it is a folder", str(target))
        if not file.parent.is_dir():
            raise FileNotFoundError(2, "its folder does not exist", str(target))
    except OSError as error:
        raise _unwritable(target, error) from error
    return file


def _unwritable(target: Path, error: OSError) -> FileProblem:
    return FileProblem(f"{target} cannot be written ({error.strerror}).")
