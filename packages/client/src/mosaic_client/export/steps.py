"""Writes one episode as JSON lines."""

from pathlib import Path

import msgspec

from mosaic_base.atomic import replace_file
from mosaic_base.output_file import output_file
from mosaic_client import reading
from mosaic_client.stack_connection import StackConnection


def write_steps(
    stack: StackConnection, run_id: str, attempt: int, env: int, episode: int, target: Path
) -> int:
    """Write beginning and steps of an episode, one event a line.

    Args:
        stack: connection to the stack.
        run_id: id of the run.
        attempt: its attempt.
        env: number of the sub-environment.
        episode: number of the episode.
        target: file to write; an existing one is replaced.

    Returns:
        The number of steps.

    Raises:
        EpisodeUnknown: the run has no such episode.
        OSError: `target` cannot be written.
    """
    events = reading.steps(stack, run_id, attempt, env, episode)
    # numbers that are not finite are words already
    lines = msgspec.json.Encoder().encode_lines(events)
    replace_file(output_file(target), lines.decode(), durable=True)
    return sum(event["type"] == "step" for event in events)
