"""`export`: events of a run, steps of an episode, a video of one, or a Minari dataset of several."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from mosaic_cli import option
from mosaic_cli.episode_choice import WantedEpisode
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import err, escape_controls, reader_watched, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import plural
from mosaic_client import light
from mosaic_client.errors import ExportRefused

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_client.export.writing import Format, Progress
    from mosaic_contracts.exports import VideoForm


@dataclass(frozen=True)
class ExportOptions:
    """Options of `export`: what of a run is wanted, and in which form."""

    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="JSON lines, one event a line (the default).")
    ] = False
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Parquet, a file for each event type; needs --output.")
    ] = False
    mp4: Annotated[bool, typer.Option("--mp4", help="A video of the episode.")] = False
    gif: Annotated[bool, typer.Option("--gif", help="A GIF of the episode.")] = False
    tensorboard: Annotated[
        bool,
        typer.Option("--tensorboard", help="A TensorBoard event file: metrics, configuration."),
    ] = False
    minari: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A Minari dataset of this name, e.g. cartpole/ppo-v0."),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write, or new folder for Parquet and TensorBoard; default stdout, for a video "
            "a file and for TensorBoard a folder here.",
        ),
    ] = None
    types: option.Types = None
    episode: option.OneEpisode = None
    episodes: Annotated[
        str | None,
        typer.Option(metavar="0-49|all", help="Episodes of the Minari dataset; default: all."),
    ] = None
    allow_unverified: Annotated[
        bool,
        typer.Option(
            "--allow-unverified",
            help="Keep episodes in the Minari dataset whose rebuilt steps differ from the record.",
        ),
    ] = False
    env: option.EpisodeEnv = None
    attempt: option.Attempt = None
    speed: Annotated[
        float | None,
        typer.Option(
            min=0.05, max=100, help="Speed of a video: times the environment's frame rate."
        ),
    ] = None

    @property
    def is_video(self) -> bool:
        """Whether a video is wanted."""
        return self.mp4 or self.gif

    def check(self) -> None:
        """Check that the options go together.

        Raises:
            ValueRefused: they do not.
        """
        forms = ("jsonl", "parquet", "mp4", "gif", "minari", "tensorboard")
        given = [f"--{form}" for form in forms if getattr(self, form)]
        if len(given) > 1:
            raise ValueRefused(f"Choose either {' or '.join(given)}.")
        if self.is_video and self.episode is None:
            raise ValueRefused("A video shows one episode: name it, e.g. --episode best.")
        if self.parquet and self.output is None:
            raise ValueRefused(
                "Parquet is a folder of files: name a new one with --output, e.g. -o run-events."
            )
        is_part = self.episode is not None or self.minari is not None
        is_set = self.minari is not None
        for is_wrong, message in (
            (
                self.episode and (self.parquet or is_set or self.tensorboard),
                "--episode goes with --jsonl, --mp4 or --gif.",
            ),
            (self.episodes and not is_set, "--episodes goes with --minari."),
            (self.allow_unverified and not is_set, "--allow-unverified goes with --minari."),
            (self.env is not None and not is_part, "--env goes with --episode or --minari."),
            (self.attempt and self.episode is None, "--attempt goes with --episode."),
            (self.speed and not self.is_video, "--speed goes with --mp4 or --gif."),
            (self.types and (is_part or self.tensorboard), "--types goes with the events of a whole run."),
            (self.output and is_set, "Minari keeps its datasets in MINARI_DATASETS_PATH: leave --output out."),
        ):  # fmt: skip
            if is_wrong:
                raise ValueRefused(message)
        option.event_types(self.types)


def export(run: option.Run, options: ExportOptions) -> None:
    """Write the events of a run as JSON lines or Parquet, its metrics for TensorBoard, or an episode as a video.

    --episode alone writes the steps of one episode. With --mp4 or --gif the episode is rebuilt, compared with the
    record and drawn. --minari writes whole episodes with their observations as a dataset. A run that did not record
    them (--record full) is rebuilt by replays, and an episode that differs from the record is left out.
    """
    options.check()
    with open_client() as client:
        view = find_run(client, run)
        if options.minari is not None:
            from mosaic_cli.episode_export import write_dataset

            write_dataset(
                client,
                view.run_id,
                options.minari,
                options.episodes,
                options.env,
                allow_unverified=options.allow_unverified,
            )
        elif options.tensorboard:
            from mosaic_cli.episode_export import write_event_file

            write_event_file(client, view, options.output)
        elif options.episode is None:
            _write_events(client, view, options)
        else:
            from mosaic_cli.episode_export import write_steps, write_video

            wanted = WantedEpisode(options.episode, options.env, options.attempt)
            if options.is_video:
                form: VideoForm = "mp4" if options.mp4 else "gif"
                write_video(client, view, wanted, form, options.speed or 1.0, options.output)
            else:
                write_steps(client, view, wanted, options.output)


def _write_events(client: "Client", view: light.RunFields, options: ExportOptions) -> None:
    output, types = options.output, option.event_types(options.types)
    summary = view.summary
    total = summary.events - summary.thinned_steps if summary and not types else None
    with _progress(total) as progress:
        if output is None:
            from mosaic_client.export.writing import stream_json_lines

            with reader_watched(), _binary_stdout() as file:
                count = stream_json_lines(
                    lambda cursor: client.batches(view.run_id, cursor, types), file, types, progress
                )
        else:
            try:
                form: Format = "parquet" if options.parquet else "jsonl"
                count = client.export(view.run_id, output, form, types, progress)
            except ExportRefused as error:
                raise FileProblem(str(error)) from error
            except OSError as error:
                raise FileProblem(f"{output} cannot be written ({error.strerror}).") from error
    say(f"{plural(count, 'event')} of {view.run_id} written to {output or 'stdout'}.")
    if summary and summary.thinned_steps and (not types or "step" in types):
        steps = plural(summary.thinned_steps, "step")
        say(
            f"Not in the file: {steps} that were removed from the store, thinned by {summary.thinned_by}."
        )


@contextmanager
def _binary_stdout() -> Iterator[BinaryIO]:
    # a file object of its own: with PYTHONUNBUFFERED, stdout's writes less than it is given
    with open(sys.stdout.fileno(), "wb", closefd=False) as file:
        yield cast(BinaryIO, _Escaping(file)) if file.isatty() else file


class _Escaping:
    """Writes JSON to a terminal. JSON itself leaves the control characters U+007F to U+009F as they are."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: bytes) -> int:
        """Write bytes in UTF-8, whole characters."""
        return self._file.write(escape_controls(text.decode()).encode())

    def flush(self) -> None:
        """Write out what is buffered."""
        self._file.flush()


@contextmanager
def _progress(total: int | None) -> Iterator["Progress"]:
    from rich.progress import Progress as Bar

    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Exporting", total=total)
        yield lambda count: bar.update(task, completed=count)
