"""A video of an episode: it is rebuilt by a replay, compared with the record, and encoded."""

from pathlib import Path

from mosaic_client import Client
from mosaic_client.replay_session import replay_progress, started_replay
from mosaic_contracts.exports import VideoExport, VideoReport
from mosaic_exporter.errors import ExportProblem
from mosaic_exporter.talk import Progress
from mosaic_exporter.video import VideoTask, write_video


def make_video(client: Client, export: VideoExport, progress: Progress) -> VideoReport:
    """Rebuild an episode and write a video of it. The replay is stopped at the end, however that comes.

    Raises:
        ExportProblem: the episode cannot be rebuilt or drawn, or the pictures cannot be encoded.
        ClientError: the stack refuses the replay or does not send the frames.
        OSError: the file cannot be written.
    """
    with started_replay(client, export.episode, draws=True) as replay:
        progress(replay_progress(replay))
        result = client.replay_result(
            replay.run_id, progress=lambda run: progress(replay_progress(run))
        )
        if result.problem or not result.can_draw:
            raise ExportProblem(result.problem or result.drawing_problem)
        words = [word for word in (export.title, result.verdict) if word]
        task = VideoTask(
            replay.run_id,
            Path(export.target),
            export.form,
            result.fps,
            export.speed,
            ", ".join(words),
        )
        report = write_video(client, task, progress)
    report.replay = result
    return report
