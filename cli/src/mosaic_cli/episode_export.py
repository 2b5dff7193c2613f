"""Exports of single episodes: their steps, a video, or a Minari dataset of several."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.episode_choice import WantedEpisode, find_episode
from mosaic_cli.errors import FileProblem, ReplayBroken, ValueRefused
from mosaic_cli.exporting import run_exporter
from mosaic_cli.output import emit_line, json_line, say
from mosaic_cli.replaying import await_result, badge, say_differing_packages, started_replay
from mosaic_cli.wording import named, number, plural
from mosaic_client import light, reading

if TYPE_CHECKING:
    from mosaic_client import Client

_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_ALL = "all"


def write_steps(
    client: "Client", run: light.RunFields, wanted: WantedEpisode, output: Path | None
) -> None:
    """Write beginning and steps of an episode as JSON lines.

    Raises:
        FileProblem: `output` cannot be written.
    """
    from mosaic_base.atomic import replace_file

    row = find_episode(client, run.run_id, wanted)
    events = reading.steps(client, run.run_id, row.attempt, row.env, row.episode)
    if output is None:
        for event in events:
            emit_line(event)
    else:
        text = "".join(f"{json_line(event)}\n" for event in events)
        try:
            replace_file(_writable(output), text, durable=True)
        except OSError as error:
            raise _unwritable(output, error) from error
    count = sum(event["type"] == "step" for event in events)
    say(f"{plural(count, 'step')} of episode {row.episode} written to {output or 'stdout'}.")


def write_video(
    client: "Client",
    run: light.RunFields,
    wanted: WantedEpisode,
    form: str,
    speed: float,
    output: Path | None,
) -> None:
    """Rebuild an episode and encode its pictures.

    Raises:
        FileProblem: `output` cannot be written.
        ReplayBroken: the episode cannot be rebuilt or drawn.
        ExportFailed: it cannot be encoded.
        KeyboardInterrupt: Ctrl-C. Nothing was written, and the replay was stopped.
    """
    row = find_episode(client, run.run_id, wanted)
    target = output or Path(_file_name(run, row, form))
    _writable(target)  # before the episode is rebuilt for nothing
    with started_replay(client, run.run_id, row, draws=True) as replay:
        result = await_result(client, replay)
        say_differing_packages(result)
        if result.problem or not result.can_draw:
            raise ReplayBroken(result.problem or result.drawing_problem)
        say(f"Episode {row.episode}: {badge(result)}.")
        words = [replay.run_id, str(target.absolute()), "--form", form, "--fps", str(result.fps)]
        words += ["--speed", str(speed), "--title", _title(run, row, badge(result))]
        made = run_exporter(["video", *words], f"Encoding {target.name}")
    every = f"; one frame for {made['every']} steps" if made["every"] > 1 else ""
    say(
        f"{target}: {plural(made['frames'], 'frame')} of {made['width']}x{made['height']} pixels, "
        f"{number(made['fps'])} a second{every}."
    )
    if made["approximate_from"] is not None:
        say(
            f"Frames from step {made['approximate_from']} on are approximate: "
            "the rebuilt episode differs from the record there."
        )
    if made["without_picture"]:
        frames = plural(made["without_picture"], "frame")
        say(f"{frames} had no picture and show the one before.")


def write_dataset(run_id: str, name: str, episodes: str | None, env: int | None) -> None:
    """Write recorded episodes as a Minari dataset.

    Raises:
        ValueRefused: `episodes` is no list of numbers.
        ExportFailed: the record has no observations, or Minari cannot hold it.
        KeyboardInterrupt: Ctrl-C. Nothing was written.
    """
    words = ["minari", run_id, name]
    if env is not None:
        words += ["--env", str(env)]
    if ranges := _ranges(episodes or _ALL):
        words += ["--episodes", *ranges]
    made = run_exporter(words, f"Writing {name}")
    say(
        f"Minari dataset {made['name']}: {plural(made['episodes'], 'episode')} with "
        f"{plural(made['steps'], 'step')} in {made['folder']}, loaded back and complete."
    )
    if made["left_out"]:
        left_out = plural(len(made["left_out"]), "episode")
        say(f"Left out: {left_out} without a recorded end, or with missing steps.")


def _file_name(run: light.RunFields, row: light.EpisodeFields, form: str) -> str:
    attempt = f"-attempt{row.attempt}" if row.attempt > 1 else ""
    return f"{run.run_id}{attempt}-env{row.env}-episode{row.episode}.{form}"


def _title(run: light.RunFields, row: light.EpisodeFields, badge: str) -> str:
    result = f", return {number(row.episode_return)}" if row.episode_return is not None else ""
    return f"{named(run)}: episode {row.episode}{result}, {badge}"


def _ranges(text: str) -> list[str]:
    """The ranges of `1-50,70`; empty for all.

    Raises:
        ValueRefused: the text is no such list.
    """
    if text == _ALL:
        return []
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        found = _RANGE.fullmatch(part)
        if found is None or int(found[2] or found[1]) < int(found[1]):
            raise ValueRefused(
                f"--episodes takes numbers and ranges, e.g. 0-49,70, or all; not {text!r}."
            )
    return parts


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
