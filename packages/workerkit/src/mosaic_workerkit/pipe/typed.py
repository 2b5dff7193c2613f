"""Lines that say which event they are: `{"type": "step", ...}`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_contracts.wire import INTEGER_LIMIT, StepFlag
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.pipe import schema
from mosaic_workerkit.pipe.episodes import Episodes
from mosaic_workerkit.pipe.flat import FIELDS
from mosaic_workerkit.pipe.reading import Fields, storable
from mosaic_workerkit.spaces import encode_value
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import Telemetry

_TERMINATED, _TRUNCATED = int(StepFlag.TERMINATED), int(StepFlag.TRUNCATED)


class TypedLines:
    """Records lines with a `type`.

    Args:
        spaces: the program's spaces, by `observation` and `action`, once it has named them.
        directory: where the program was started; files that it names are looked for there first.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        episodes: Episodes,
        spaces: Callable[[], Fields],
        directory: Path,
    ) -> None:
        self._telemetry = telemetry
        self._episodes = episodes
        self._spaces = spaces
        self._directory = directory
        self._has_steps = telemetry.spec.record.has_steps
        self._has_observations = telemetry.spec.record.has_observations
        self._handlers: dict[type, Callable[[Any], None]] = {
            schema.MetricLine: self._metric,
            schema.PlainMetric: self._metric,
            schema.EpisodeStartLine: self._episode_start,
            schema.StepLine: self._step,
            schema.PlainStep: self._step,
            schema.EpisodeLine: self._episode,
            schema.PlainEpisode: self._episode,
            schema.LogLine: self._log,
            schema.CheckpointLine: self._checkpoint,
            schema.ArtifactLine: self._artifact,
            schema.ProgressLine: self._progress,
        }

    def take(self, line: schema.TypedLine | schema.PlainLine) -> None:
        """Record one line that is no config line."""
        self._handlers[type(line)](line)

    def lose_step(self, fields: Fields) -> None:
        """Count a step whose line cannot be read, so that later steps keep their numbers."""
        env = _count(fields.get("env")) or 0
        self._episodes.enter(env, _count(fields.get("episode")))
        self._episodes.next_step(env, _count(fields.get("step")))
        self._lose_recorded_step()

    def _lose_recorded_step(self) -> None:
        if self._has_steps:
            self._telemetry.count_lost_steps(1)

    def _metric(self, line: schema.MetricLine) -> None:
        if line.step is not None:
            self._episodes.global_step = line.step
        self._telemetry.metric(storable(line.name), line.step, line.value)
        self._keep_extra(line)

    def _episode_start(self, line: schema.EpisodeStartLine) -> None:
        episode = self._episodes.enter(line.env, line.episode)
        reset = dict(line.reset)
        if line.seed is not None:
            reset |= {"way": "seed", "seed": line.seed}
        if self._has_steps:
            seen = self._encoded("observation", line.observation)
            hashed = self._hash(line.hash, seen, 0.0, 0)
            shown = seen if self._has_observations else None
            self._telemetry.episode_start(line.env, episode, storable(reset), hashed, shown)
        self._keep_extra(line)

    def _step(self, line: schema.StepLine) -> None:
        episode = self._episodes.enter(line.env, line.episode)
        step = self._episodes.next_step(line.env, line.step)
        if self._has_steps:
            try:
                self._record_step(line, episode, step)
            except (ContractViolation, TypeError, ValueError, OverflowError):
                self._lose_recorded_step()
                raise
        self._keep_extra(line)

    def _record_step(self, line: schema.StepLine, episode: int, step: int) -> None:
        reward, flags = line.reward, _flags(line)
        seen = self._encoded("observation", line.observation)
        action = self._encoded("action", line.action)
        hashed = self._hash(line.hash, seen, reward, flags)
        shown = seen if self._has_observations else None
        self._telemetry.hashed_step(
            line.env, episode, step, action, reward, flags, hashed, observation=shown
        )

    def _episode(self, line: schema.EpisodeLine) -> None:
        if line.global_step is not None:
            self._episodes.global_step = line.global_step
        self._episodes.end(
            *(line.env, line.episode, line.length, line.episode_return, line.duration_s),
            terminated=line.terminated,
            truncated=line.truncated,
        )
        self._keep_extra(line)

    def _log(self, line: schema.LogLine) -> None:
        self._telemetry.log(line.level, storable(line.message), extra_fields(line))

    def _checkpoint(self, line: schema.CheckpointLine) -> None:
        self._telemetry.checkpoint(
            self._place(line.path), line.step, storable(line.reason), extra_fields(line)
        )

    def _artifact(self, line: schema.ArtifactLine) -> None:
        self._telemetry.artifact(self._place(line.path), storable(line.kind), extra_fields(line))

    def _place(self, path: str) -> Path:
        beside = self._directory / path
        return beside if beside.exists() else Path(path)

    def _progress(self, line: schema.ProgressLine) -> None:
        self._episodes.global_step = line.step
        self._telemetry.progress(line.step, line.total)
        self._keep_extra(line)

    def _encoded(self, which: str, value: Any) -> Any:
        """An action or observation as the space that the program named has it; without one, as it came."""
        space = None if value is None else self._spaces().get(which)
        if not isinstance(space, dict) or space.get("kind", "other") == "other":
            return storable(value)
        try:
            return encode_value(space, value)
        except LookupError as error:  # a part that the space or the value should have
            raise ContractViolation(
                f"{which} does not fit the space of the config line: {error!r}"
            ) from error

    @staticmethod
    def _hash(given: str | None, seen: Any, reward: float, flags: int) -> bytes:
        if given is not None:
            return bytes.fromhex(given)
        return step_hash(b"" if seen is None else seen, reward, flags)

    def _keep_extra(self, line: Any) -> None:
        if line.model_extra:
            more = extra_fields(line)
            self._telemetry.extra(FIELDS, {"of": line.type, "fields": more})


def extra_fields(line: Any) -> Fields:
    """Return the keys of a line that its type does not know."""
    return dict(storable(line.model_extra)) if line.model_extra else {}


def _flags(line: Any) -> int:
    flags: int = _TERMINATED * line.terminated | _TRUNCATED * line.truncated
    return flags


def _count(value: Any) -> int | None:
    """A number as the schema takes it, or None."""
    return value if type(value) is int and 0 <= value < INTEGER_LIMIT else None
