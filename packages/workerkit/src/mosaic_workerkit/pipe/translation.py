"""Makes a run's events of what a program prints. A line that cannot be kept is counted and told, never fatal."""

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_text
from mosaic_contracts.wire import StepFlag
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.pipe import schema
from mosaic_workerkit.pipe.errors import LineRefused
from mosaic_workerkit.pipe.lines import Line
from mosaic_workerkit.pipe.reading import (
    STEP_KEYS,
    Fields,
    HugeNumber,
    number_of,
    read_line,
    step_of,
    storable,
)
from mosaic_workerkit.spaces import encode_value
from mosaic_workerkit.stephash import step_hash
from mosaic_workerkit.telemetry import Telemetry

TOLD_EACH = 5
"""Refusals of one kind that are told by an event of their own; the rest is counted."""
FIELDS = "program.fields"
"""Type of the event that keeps what no other event has a place for."""
LATE_CONFIG = "program.config"

_RETURN, _LENGTH = "episodic_return", "episodic_length"
_AS_METRIC = {_RETURN: f"charts/{_RETURN}", _LENGTH: f"charts/{_LENGTH}"}
"""CleanRL's own names of the two, so that a piped script and a CleanRL run share their curves."""


class Translator:
    """One program's lines, in order.

    Args:
        config: what is known of the run before the program says anything.
        directory: where the program was started; files that it names are looked for there first.
    """

    def __init__(self, telemetry: Telemetry, config: Fields, directory: Path) -> None:
        self._telemetry = telemetry
        self._directory = directory
        self._config = config
        self._has_begun = False
        self._episodes: Counter[int] = Counter()
        self._steps: Counter[int] = Counter()
        self._began_at: dict[int, float] = {}
        self._open: set[int] = set()
        """Sub-environments whose current episode has a start or a step."""
        self._global_step = 0
        self.events_read = 0
        """Lines that became events."""
        self.refused: Counter[str] = Counter()

    def begin(self) -> None:
        """Tell the config unless it is told: the program had its chance to say more."""
        if not self._has_begun:
            self._has_begun = True
            self._telemetry.config(self._config)
            self._telemetry.lifecycle("training")
            self._telemetry.progress(0, self._config.get("total_steps"))

    def take(self, line: Line) -> None:
        """Read one line."""
        try:
            if not line.is_whole:
                raise LineRefused(
                    "line_too_long",
                    f"a line of {line.size} bytes is read as no event; it stands whole in the log. Write data "
                    'to a file and print {"type": "artifact", "path": ...}',
                )
            fields = read_line(line.data)
            if fields is not None:
                self._translate(fields)
                self.events_read += 1
        except LineRefused as error:
            self.refuse(error.reason, str(error), line)
        except ValidationError as error:
            self.refuse("fields_invalid", _words(error), line)
        except RecursionError:
            self.refuse("event_invalid", "nested too deeply", line)
        except (ContractViolation, TypeError, ValueError, OverflowError, OSError) as error:
            self.refuse("event_invalid", str(error), line)

    def refuse(self, reason: str, message: str, line: Line | None = None) -> None:
        """Count something that is not kept; the first few of a kind are told one by one."""
        self.begin()
        self.refused[reason] += 1
        if self.refused[reason] > TOLD_EACH:
            return
        data: Fields = {"reason": reason, "count": self.refused[reason]}
        if line is not None:
            data["line"] = line.data[:200].decode(errors="replace")
            data["line_bytes"] = line.size
        self._telemetry.log("warning", f"Not kept: {storable(message)}", data)

    def finish(self) -> None:
        """Tell what was counted."""
        self.begin()
        if any(count > TOLD_EACH for count in self.refused.values()):
            total = sum(self.refused.values())
            self._telemetry.log(
                "warning", f"{total} lines were not kept as events", {"refused": dict(self.refused)}
            )
        if not self.events_read:
            self._telemetry.log(
                "warning",
                "The program printed no line that is an event, so its log is all there is of it. Print JSON lines, "
                'e.g. {"global_step": 100, "loss": 0.5}; docs/any_program.md lists what counts.',
            )

    def _translate(self, fields: Fields) -> None:
        kind = fields.get("type", "")
        if not isinstance(kind, str):
            raise LineRefused("type_invalid", f'type is {kind!r:.60}, not a text like "metric"')
        if kind in schema.TYPES:
            huge = next((key for key, v in fields.items() if isinstance(v, HugeNumber)), None)
            if huge is not None:
                number_of(fields[huge])  # raises with the words for it
            line = schema.typed_line.validate_python(fields)
            if not isinstance(line, schema.ConfigLine):
                self.begin()
            self._typed(line)
        elif "." in kind:
            self.begin()
            data = {key: value for key, value in fields.items() if key != "type"}
            self._telemetry.extra(kind, storable(data))
        else:
            self.begin()
            self._flat(fields)

    def _flat(self, fields: Fields) -> None:
        """`{"global_step": 1200, "loss": 0.3}`: each number a metric, the rest kept together."""
        step = self._told_step(fields)
        kept: Fields = {}
        for key, value in fields.items():
            if key in STEP_KEYS:
                continue
            try:
                number = number_of(value)
            except LineRefused as error:
                self.refuse(error.reason, f"{key}: {error}")
                continue
            if number is None:
                kept[key] = value
            else:
                self._telemetry.metric(storable(_AS_METRIC.get(key, key)), step, number)
        self._flat_episode(fields)
        if kept:
            self._telemetry.extra(FIELDS, {"step": step, "fields": storable(kept)})

    def _flat_episode(self, fields: Fields) -> None:
        total, length = fields.get(_RETURN), fields.get(_LENGTH, 0)
        value = None if isinstance(total, HugeNumber) else number_of(total)
        if value is None:
            return
        whole = number_of(length) if not isinstance(length, HugeNumber) else None
        steps = int(whole) if whole is not None and 0 <= whole < 2**63 else 0
        self._end_episode(0, None, steps, value, 0, None)

    def _told_step(self, fields: Fields) -> int | None:
        """The line's step; a wrong one is told, and costs the line its step only."""
        try:
            step = step_of(fields)
        except LineRefused as error:
            self.refuse(error.reason, str(error))
            return None
        if step is not None:
            self._progress(step)
        return step

    def _progress(self, step: int) -> None:
        self._global_step = step
        self._telemetry.progress(step)

    def _typed(self, line: schema.TypedLine) -> None:
        handlers: dict[type[schema.TypedLine], Callable[[Any], None]] = {
            schema.MetricLine: self._metric,
            schema.EpisodeStartLine: self._episode_start,
            schema.StepLine: self._step,
            schema.EpisodeLine: self._episode,
            schema.LogLine: self._log,
            schema.CheckpointLine: self._checkpoint,
            schema.ArtifactLine: self._artifact,
            schema.ProgressLine: self._told_progress,
            schema.ConfigLine: self._told_config,
        }
        handlers[type(line)](line)

    def _metric(self, line: schema.MetricLine) -> None:
        if line.step is not None:
            self._progress(line.step)
        self._telemetry.metric(storable(line.name), line.step, line.value)
        self._keep_extra(line)

    def _episode_start(self, line: schema.EpisodeStartLine) -> None:
        episode = self._enter(line.env, line.episode)
        reset = dict(line.reset)
        if line.seed is not None:
            reset |= {"way": "seed", "seed": line.seed}
        if self._telemetry.spec.record.has_steps:
            seen = self._encoded("observation", line.observation)
            hashed = self._hash(line.hash, seen, 0.0, 0)
            shown = seen if self._telemetry.spec.record.has_observations else None
            self._telemetry.episode_start(line.env, episode, storable(reset), hashed, shown)
        self._keep_extra(line)

    def _step(self, line: schema.StepLine) -> None:
        episode = self._enter(line.env, line.episode)
        self._steps[line.env] += 1
        if line.step is not None:
            self._steps[line.env] = line.step
        if self._telemetry.spec.record.has_steps:
            flags = _flags(line)
            seen = self._encoded("observation", line.observation)
            self._telemetry.step(
                *(line.env, episode, self._steps[line.env]),
                self._encoded("action", line.action),
                *(line.reward, flags, self._hash(line.hash, seen, line.reward, flags)),
                observation=seen if self._telemetry.spec.record.has_observations else None,
            )
        self._keep_extra(line)

    def _episode(self, line: schema.EpisodeLine) -> None:
        if line.global_step is not None:
            self._progress(line.global_step)
        length = line.length or self._steps[line.env]
        duration = line.duration_s
        self._end_episode(
            line.env, line.episode, length, line.episode_return, _flags(line), duration
        )
        self._keep_extra(line)

    def _end_episode(
        self, env: int, episode: int | None, length: int, total: float, flags: int, s: float | None
    ) -> None:
        number = self._enter(env, episode)
        now = time.monotonic()
        duration = now - self._began_at.get(env, now) if s is None else s
        if self._telemetry.spec.record.has_episodes:
            self._telemetry.episode(env, number, length, total, flags, duration, self._global_step)
        self._episodes[env] = number + 1
        self._steps[env] = 0
        self._began_at[env] = now
        self._open.discard(env)

    def _enter(self, env: int, episode: int | None) -> int:
        """The number of the episode that `env` is in; a program that does not count is counted for."""
        number = self._episodes[env] if episode is None else episode
        if number != self._episodes[env]:
            self._steps[env] = 0
        self._episodes[env] = number
        if env not in self._open:
            self._open.add(env)
            self._began_at.setdefault(env, time.monotonic())
        return number

    def _log(self, line: schema.LogLine) -> None:
        self._telemetry.log(line.level, storable(line.message), _more(line))

    def _checkpoint(self, line: schema.CheckpointLine) -> None:
        self._telemetry.checkpoint(
            self._place(line.path), line.step, storable(line.reason), _more(line)
        )

    def _artifact(self, line: schema.ArtifactLine) -> None:
        self._telemetry.artifact(self._place(line.path), storable(line.kind), _more(line))

    def _place(self, path: str) -> Path:
        beside = self._directory / path
        return beside if beside.exists() else Path(path)

    def _told_progress(self, line: schema.ProgressLine) -> None:
        self._global_step = line.step
        self._telemetry.progress(line.step, line.total)
        self._keep_extra(line)

    def _told_config(self, line: schema.ConfigLine) -> None:
        told = storable(line.model_dump(exclude={"type"}, exclude_none=True))
        if self._has_begun:
            self._telemetry.extra(LATE_CONFIG, told)
            raise LineRefused(
                "config_late",
                f"a config line came after the run's config was told; it is kept as {LATE_CONFIG}. Print it first",
            )
        self._config |= told
        self.begin()

    def _encoded(self, which: str, value: Any) -> Any:
        """An action or observation as the space that the program told has it; without one, as it came."""
        space = self._config["spaces"].get(which, {})
        if value is None or space.get("kind", "other") == "other":
            return storable(value)
        return encode_value(space, value)

    @staticmethod
    def _hash(told: str | None, seen: Any, reward: float, flags: int) -> bytes:
        if told is not None:
            return bytes.fromhex(told)
        return step_hash(b"" if seen is None else seen, reward, flags)

    def _keep_extra(self, line: Any) -> None:
        more = _more(line)
        if more:
            self._telemetry.extra(FIELDS, {"of": line.type, "fields": more})


def _more(line: Any) -> Fields:
    extra: Fields = storable(line.model_extra or {})
    return extra


def _flags(line: schema.StepLine | schema.EpisodeLine) -> int:
    return StepFlag.TERMINATED * line.terminated | StepFlag.TRUNCATED * line.truncated


def _words(error: ValidationError) -> str:
    faults = error.errors(include_url=False)[:3]
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'line'}: {fault_text(fault)}"
        for fault in faults
    )
