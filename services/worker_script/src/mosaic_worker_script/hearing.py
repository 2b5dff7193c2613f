"""Makes a run's events of what was heard in a script."""

import time
import zlib
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic_worker_script.adopted import AdoptedFiles
from mosaic_worker_script.lines import (
    ActLine,
    BarLine,
    DeafLine,
    EndLine,
    EnvironmentLine,
    FileLine,
    HistogramLine,
    ImageLine,
    LeftOutLine,
    LibraryLine,
    ProcessLine,
    SpoolLine,
    StartLine,
    StepsLine,
    TextLine,
    ValueLine,
    read_line,
)
from mosaic_worker_script.source import RecordedCode
from mosaic_workerkit.errors import ContractViolation
from mosaic_workerkit.media import encode_png
from mosaic_workerkit.pipe.translation import Translator
from mosaic_workerkit.spaces import encode_value
from mosaic_workerkit.telemetry import Telemetry

_REFUSED = (
    LookupError,
    TypeError,
    ValueError,
    OverflowError,
    OSError,
    ContractViolation,
    zlib.error,
)
"""What a line raises that cannot be recorded as it is."""

EARLY_S = 10.0
"""Seconds that what a script logs before its first environment waits for that: the config is the first event, and has
the environment."""
_MOST_EARLY = 256
_EARLY = (ValueLine, FileLine, TextLine, HistogramLine, ImageLine, LeftOutLine, DeafLine)


class Hearing:
    """Records what was heard, in order, next to what the script printed.

    Args:
        translator: writes the config event, and counts what cannot be kept.
        config: the run's config, which is added to until it is written.
        files: where checkpoints go that the script writes elsewhere.
        code: what code and packages the script has.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        translator: Translator,
        config: dict[str, Any],
        files: AdoptedFiles,
        code: RecordedCode,
    ) -> None:
        self._telemetry = telemetry
        self._translator = translator
        self._config = config
        self._files = files
        self._code = code
        self._processes: dict[str, ProcessLine] = {}
        self._has_episodes = telemetry.spec.record.has_episodes
        self._has_steps = telemetry.spec.record.has_steps
        self._shows = telemetry.spec.record.has_observations
        self._spaces: dict[int, dict[str, dict[str, Any]]] = {}
        self._steps: dict[str, int] = {}
        self._early: list[tuple[str, SpoolLine, bytes]] = []
        self._early_since = 0.0
        self._bar_process: str | None = None
        self._bar: tuple[int, int] | None = None
        self.has_process = False
        """Whether a Python process of the script is listened to."""
        self.has_events = False
        """Whether an environment, a metric or a file was heard: then what the script prints is text."""
        self.libraries: dict[str, str | None] = {}
        """What was heard, with its version."""
        self._handlers: dict[type, Callable[[str, Any], None]] = {
            ProcessLine: self._process,
            LibraryLine: self._library,
            DeafLine: self._deaf,
            EnvironmentLine: self._environment,
            StartLine: self._start,
            ActLine: self._act,
            EndLine: self._end,
            StepsLine: self._count,
            ValueLine: self._value,
            BarLine: self._show_bar,
            FileLine: self._file,
            TextLine: self._text,
            HistogramLine: self._histogram,
            ImageLine: self._image,
            LeftOutLine: self._left_out,
        }

    def take(self, process: str, lines: list[bytes]) -> None:
        """Record the lines of one process."""
        for line in lines:
            try:
                heard = read_line(line)
            except (ValueError, RecursionError) as error:
                self._translator.refuse("heard_line_invalid", str(error), line)
                continue
            self._record(process, heard, line)
        self.show_progress()

    def show_progress(self) -> None:
        """Report how far the script is."""
        self._telemetry.progress(*self._progress())

    def _progress(self) -> tuple[int, int | None]:
        """Steps so far and in all: as the run names them, else in the proportion of the script's progress bar."""
        steps, total = self.global_step, self._config.get("total_steps")
        if total is not None or self._bar is None:
            return steps, total
        done, length = self._bar
        return (steps, max(steps, round(steps * length / done))) if steps else (done, length)

    @property
    def global_step(self) -> int:
        """Environment steps so far, over all processes of the script."""
        return sum(self._steps.values())

    def release_due(self) -> None:
        """Record what waits for an environment, if it has waited long enough."""
        if self._early and time.monotonic() - self._early_since > EARLY_S:
            self.release()

    def release(self) -> None:
        """Record what waits for an environment."""
        early, self._early = self._early, []
        for process, heard, line in early:
            self._handle(process, heard, line)

    def _record(self, process: str, heard: SpoolLine, line: bytes) -> None:
        if isinstance(heard, _EARLY) and not self._translator.has_begun:
            self.has_events = True
            self._early_since = time.monotonic() if not self._early else self._early_since
            self._early.append((process, heard, line))
            if len(self._early) >= _MOST_EARLY:
                self.release()
            return
        self._handle(process, heard, line)
        if self._early and self._translator.has_begun:
            self.release()

    def _handle(self, process: str, heard: SpoolLine, line: bytes) -> None:
        try:
            self._handlers[type(heard)](process, heard)
        except _REFUSED as error:
            self._translator.refuse("event_invalid", str(error), line)

    def _process(self, process: str, line: ProcessLine) -> None:
        self._processes[process] = line
        if not self.has_process:
            self.has_process = True
            self._take_environment(line)

    def _take_environment(self, line: ProcessLine) -> None:
        self._config["surroundings"]["python"] = line.python
        self._code.take_environment(line.executable, line.path)

    def _library(self, process: str, line: LibraryLine) -> None:
        if line.library in self.libraries:
            return
        if not self.libraries and not self.has_events and process in self._processes:
            # A program such as `conda run` has another environment than the script that it starts.
            self._take_environment(self._processes[process])
        self.libraries[line.library] = line.version
        if line.version is not None:
            self._config["packages"][line.library.partition(".")[0]] = line.version

    def _deaf(self, _process: str, line: DeafLine) -> None:
        self._begin()
        self._telemetry.log("warning", line.message, {"reason": "not_heard"})
        self._telemetry.note(f"not-heard-{line.library}"[:60], line.message, kept=True)

    def _environment(self, _process: str, line: EnvironmentLine) -> None:
        self._spaces[line.env] = line.spaces
        if not self._config["spaces"]:
            self._config["spaces"] = line.spaces
            self._config["environment"] = line.id
            self._config["environment_arguments"] = line.arguments
            if line.max_episode_steps is not None:
                self._config["max_episode_steps"] = line.max_episode_steps
        self._begin()

    def _start(self, _process: str, line: StartLine) -> None:
        if not self._has_steps:
            return
        shown = self._encoded(line.env, "observation", line.observation) if self._shows else None
        self._telemetry.episode_start(
            line.env, line.episode, line.reset, bytes.fromhex(line.hash), shown
        )

    def _act(self, _process: str, line: ActLine) -> None:
        if not self._has_steps:
            return
        shown = self._encoded(line.env, "observation", line.observation) if self._shows else None
        self._telemetry.hashed_step(
            line.env,
            line.episode,
            line.step,
            self._encoded(line.env, "action", line.action),
            line.reward,
            line.flags,
            bytes.fromhex(line.hash),
            observation=shown,
        )

    def _end(self, process: str, line: EndLine) -> None:
        self._steps[process] = line.steps
        if not self._has_episodes:
            return
        self._telemetry.episode(
            line.env,
            line.episode,
            line.length,
            line.episode_return,
            duration_s=line.duration_s,
            global_step=self.global_step,
            terminated=bool(line.flags & 1),
            truncated=bool(line.flags & 2),
        )

    def _count(self, process: str, line: StepsLine) -> None:
        self._steps[process] = line.steps

    def _value(self, _process: str, line: ValueLine) -> None:
        self._begin()
        self._telemetry.metric(line.name, line.step, line.value)

    def _show_bar(self, process: str, line: BarLine) -> None:
        """Take the bar of the first process that shows one."""
        self._bar_process = self._bar_process or process
        if process == self._bar_process:
            self._bar = (line.done, line.total) if line.done and line.total else None

    def _file(self, process: str, line: FileLine) -> None:
        self._begin()
        # Steps are reported a few times a second, and a file has the step at which it was written.
        self._steps[process] = max(self._steps.get(process, 0), line.steps)
        self._files.take(Path(line.path), self.global_step, line.kind)

    def _text(self, _process: str, line: TextLine) -> None:
        self._begin()
        self._telemetry.text(line.name, line.step, line.text)

    def _histogram(self, _process: str, line: HistogramLine) -> None:
        self._begin()
        self._telemetry.histogram(line.name, line.step, edges=line.edges, counts=line.counts)

    def _image(self, _process: str, line: ImageLine) -> None:
        self._begin()
        file = b64decode(line.file) if line.file else _png(line)
        self._telemetry.image(line.name, line.step, file, line.caption)

    def _left_out(self, _process: str, line: LeftOutLine) -> None:
        self._begin()
        self._telemetry.left_out(line.message)

    def _begin(self) -> None:
        self.has_events = True
        self._translator.begin()

    def _encoded(self, env: int, which: str, value: Any) -> Any:
        space = self._spaces.get(env, {}).get(which)
        return value if space is None or space["kind"] == "other" else encode_value(space, value)


def _png(line: ImageLine) -> bytes:
    """The pixels of a line as a file."""
    size = line.width * line.height * line.channels
    unpacker = zlib.decompressobj()
    pixels = unpacker.decompress(b64decode(line.pixels), size + 1)  # no more than it says it has
    return encode_png(line.width, line.height, line.channels, pixels)
