"""Films of a report: videos that a run has recorded, or its best episode rebuilt and drawn."""

import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.episode_choice import BEST, WantedEpisode, find_episode
from mosaic_cli.errors import CliError
from mosaic_cli.exporting import run_exporter_with
from mosaic_cli.replaying import episode_ref
from mosaic_cli.reporting.page import ReportedRun, ReportFilm
from mosaic_cli.wording import number, size
from mosaic_client import light, reading
from mosaic_client.errors import ArtifactUnknown
from mosaic_contracts.exports import ExportProgress, VideoExport

if TYPE_CHECKING:
    from mosaic_client import Client

MAX_FILM_BYTES = 24 * 2**20
"""Size of the largest film that is put into a page."""
_MAX_FILMS = 4
_VIDEO = "video"
_MIMES = {".mp4": "video/mp4", ".webm": "video/webm", ".gif": "image/gif"}

Note = Callable[[str], None]


def recorded_films(client: "Client", runs: Sequence[ReportedRun], note: Note) -> list[ReportFilm]:
    """Videos that the best runs have recorded: of each its best recorded episode.

    Args:
        client: of the stack that has the runs.
        runs: the runs, the best first.
        note: gets what is left out, in words.
    """
    films: list[ReportFilm] = []
    for reported in runs:
        if len(films) == _MAX_FILMS:
            break
        film = _recorded_film(client, reported, note)
        if film is not None:
            films.append(film)
    return films


def rebuilt_film(
    client: "Client",
    reported: ReportedRun,
    on_progress: Callable[[ExportProgress], None],
    note: Note,
) -> ReportFilm | None:
    """Rebuild the best recorded episode of a run, and draw it.

    Args:
        client: of the stack that has the run.
        reported: the run.
        on_progress: called often.
        note: gets why there is no film, in words.

    Raises:
        KeyboardInterrupt: it was cancelled; the replay was stopped.
    """
    run_id, name = reported.run.run_id, reported.look.name
    try:
        row = find_episode(client, run_id, WantedEpisode(BEST))
        with tempfile.TemporaryDirectory(prefix="mosaic-report-") as folder:
            target = Path(folder) / "film.mp4"
            export = VideoExport(episode=episode_ref(run_id, row), target=str(target))
            run_exporter_with(client, export, on_progress)
            data = target.read_bytes()
    except CliError as error:
        note(f"There is no film of {name}: {error}")
        return None
    if len(data) > MAX_FILM_BYTES:
        note(_too_large(name, len(data)))
        return None
    return ReportFilm(name, _words(row.episode, row.episode_return), _MIMES[".mp4"], data)


def _recorded_film(client: "Client", reported: ReportedRun, note: Note) -> ReportFilm | None:
    run_id, name = reported.run.run_id, reported.look.name
    videos = [
        entry
        for entry in reading.manifest(client, run_id).entries
        if entry.kind == _VIDEO and entry.state.is_there and Path(entry.path).suffix in _MIMES
    ]
    fitting = [entry for entry in videos if entry.bytes <= MAX_FILM_BYTES]
    if not fitting:
        if videos:
            note(_too_large(name, min(entry.bytes for entry in videos)))
        return None
    entry, value = _best(client, run_id, fitting)
    with tempfile.TemporaryDirectory(prefix="mosaic-report-") as folder:
        target = Path(folder) / "film"
        try:
            client.download(run_id, entry.path, target)
        except ArtifactUnknown:
            note(f"There is no film of {name}: {entry.path} was removed meanwhile.")
            return None
        data = target.read_bytes()
    words = f"{entry.path}" if entry.episode is None else _words(entry.episode, value)
    return ReportFilm(name, words, _MIMES[Path(entry.path).suffix], data)


def _best(
    client: "Client", run_id: str, videos: Sequence[light.ManifestEntryFields]
) -> tuple[light.ManifestEntryFields, float | None]:
    """The video of the episode with the highest return; the newest where no episode is known."""
    wanted = {(entry.env or 0, entry.episode): entry for entry in videos if entry.episode is not None}  # fmt: skip
    found: list[tuple[float, light.ManifestEntryFields]] = []
    if wanted:
        summary = client.run(run_id).summary
        limit = summary.episodes if summary is not None else 0
        for row in reading.episodes(client, run_id, "newest", max(1, limit)):
            entry = wanted.get((row.env, row.episode))
            value = row.episode_return
            if entry is not None and value is not None and not math.isnan(value):
                found.append((value, entry))
    if found:
        value, entry = max(found, key=lambda each: each[0])
        return entry, value
    return max(videos, key=lambda entry: (entry.step or 0, entry.path)), None


def _words(episode: int, value: float | None) -> str:
    result = "" if value is None else f", return {number(value)}"
    return f"episode {episode}{result}"


def _too_large(name: str, bytes_: int) -> str:
    return (
        f"The film of {name} is left out: it has {size(bytes_)}, and a page takes films of up to "
        f"{size(MAX_FILM_BYTES)}."
    )
