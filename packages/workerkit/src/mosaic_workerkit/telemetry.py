"""Records what happens in a run, for the author of a worker. Every call is durable against SIGKILL when it returns.

The contract is checked as the calls come in: config first, contiguous seq, one terminal lifecycle and nothing
after it, types as the wire promises them. Calls come from one thread of one process.
"""

import json
import math
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any

from mosaic_base.atomic import atomic_file
from mosaic_contracts.checkpoint_words import MEAN_EPISODES, MEAN_RETURN, RECENT_EPISODES
from mosaic_contracts.compat import Self
from mosaic_contracts.launch import SPEC_FILE, RunFile
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import (
    THINNED,
    Artifact,
    ArtifactPruned,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Lifecycle,
    Metric,
)
from mosaic_workerkit.artifacts import (
    add_to_manifest,
    inside_run,
    measure,
)
from mosaic_workerkit.errors import (
    ArtifactPathRefused,
    ContractViolation,
    EventTooLarge,
    RunFolderInvalid,
)
from mosaic_workerkit.event_writer import check_range, encode, monotonic_ns
from mosaic_workerkit.media import DEFAULT_BINS, MediaRecorder, bins_of, png_of
from mosaic_workerkit.own_files import SETTLE_S
from mosaic_workerkit.plain import act_value
from mosaic_workerkit.progress import ProgressWriter
from mosaic_workerkit.step_writer import NEVER, StepWriter
from mosaic_workerkit.step_writer import NO_EPISODE as NO_EPISODE
from mosaic_workerkit.step_writer import PATIENCE_STEPS as PATIENCE_STEPS
from mosaic_workerkit.step_writer import PlainStep as PlainStep
from mosaic_workerkit.stephash import step_hash

TERMINAL_PHASES = frozenset({"done", "stopped", "error"})
_EXTRA_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")


class Telemetry(StepWriter):
    """Records the events of a run. It is also a context manager."""

    def __init__(self, run_dir: Path, run_id: str, attempt: int, spec: StoredSpec) -> None:
        super().__init__(run_dir, run_id, attempt, spec)
        self._progress = ProgressWriter(run_dir)
        self.progress: Callable[..., None] = self._progress.write
        """`progress(step, total=None)`: environment steps done. No system call: call it as often as you like."""
        self._deleted_since: float | None = None
        self._media: MediaRecorder | None = None
        self.recent_returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        """Returns of the last episodes. `episode` adds them; add to it yourself where episodes are not recorded."""

    @classmethod
    def open(cls, run_dir: str | Path) -> Self:
        """Open the telemetry of a run folder, as its `spec.json` says.

        Raises:
            RunFolderInvalid: no readable `spec.json`.
            OutboxInUse: the attempt has or had a writer already.
        """
        folder = Path(run_dir).resolve()
        run = read_run_file(folder)
        return cls(folder, run.run_id, run.attempt, StoredSpec.model_validate(run.spec))

    def metric(self, name: str, step: int | None, value: float) -> None:
        """Record one value of a metric. NaN and infinities are kept."""
        self._ready("metric")
        at = None if step is None else int(step)
        if at is not None:
            check_range(at)
        self._write(Metric(self.next_seq, self._dt(), str(name), at, float(value)))

    def metrics(self, step: int | None, values: Sequence[tuple[str, float]]) -> None:
        """Record several metrics of one step, each as `metric` does. Names are str, values float."""
        outbox = self._outbox
        if not self._may_step or outbox.thinned:
            self._ready("metrics")
        if step is not None:
            check_range(step)
        dt = (monotonic_ns() - self._t0_ns) // 1000
        append = self._append
        for name, value in values:
            append(encode(Metric(outbox.next_seq, dt, name, step, value)))

    def numbers(self, step: int | None, values: Mapping[str, Any]) -> None:
        """Record the numbers among the values that a library logs, each as a metric; what is no number is left out.

        Args:
            step: environment steps of the run so far.
            values: by name; the names of a mapping within are joined with `/`.
        """
        self.metrics(step, list(_numbers_of(values)))

    def count_lost_steps(self, count: int) -> None:
        """Count steps that happened and could not be recorded; the run shows the sum as dropped."""
        self._ready("count_lost_steps")
        check_range(count)
        self._write(Extra(self.next_seq, self._dt(), THINNED, {"steps": count}))

    def episode_start(
        self,
        env: int,
        episode: int,
        reset: Mapping[str, Any],
        hash: bytes | None = None,
        observation: Any = None,
    ) -> None:
        """Record a reset.

        Args:
            reset: how to rebuild it (docs/interfaces.md), e.g. `{"way": "seed", "seed": 1}`.
            hash: of the observation; None: computed from it.
            observation: what the reset returned. Recorded at level `full`; with a `hash` as it is given.
        """
        self._ready("episode_start")
        check_range(int(env), int(episode))
        if hash is None:
            hash = step_hash(observation)
            seen = self._form(self._observation_space, observation) if self._shows else None
        else:
            seen = None if observation is None else act_value(observation)
        start = EpisodeStart(
            self.next_seq, self._dt(), int(env), int(episode), dict(reset), hash, seen
        )
        try:
            self._fact(start)
        except EventTooLarge as error:
            if seen is None:
                raise
            start.observation = None
            self._fact(start)
            self._report_reduced(
                f"the start of episode {start.episode}", "its observation", str(error)
            )

    def episode(
        self,
        env: int,
        episode: int,
        length: int,
        episode_return: float,
        flags: int | None = None,
        duration_s: float = 0.0,
        global_step: int = 0,
        *,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Record the end of an episode.

        Args:
            length: its steps.
            episode_return: the sum of its rewards, neither clipped nor scaled.
            flags: deprecated: give `terminated` and `truncated`.
            duration_s: seconds since its reset.
            global_step: environment steps of the run so far, over all sub-environments.
        """
        if flags is None:
            flags = (1 if terminated else 0) | (2 if truncated else 0)
        elif "episode" not in self._deprecated:
            self._warn_of_flags("episode")
        outbox = self._outbox
        if not self._may_step or outbox.thinned:
            self._ready("episode")
        record = Episode(
            outbox.next_seq,
            (monotonic_ns() - self._t0_ns) // 1000,
            int(env),
            int(episode),
            int(length),
            float(episode_return),
            int(flags),
            float(duration_s),
            int(global_step),
        )
        check_range(record.env, record.episode, record.length, record.flags, record.global_step)
        if self._patience != NEVER:
            self._patience = NEVER
            if NO_EPISODE in self._notes:
                self.note(NO_EPISODE, None)
        # plain numbers only: nothing in it could be refused later, so it is not read back, which would double its cost
        self._append(encode(record))
        self.recent_returns.append(record.episode_return)

    def config(self, data: Mapping[str, Any]) -> None:
        """Record the configuration that really runs. It is the first event, recorded once."""
        if self._has_config or self.ended:
            raise ContractViolation("config is written once, as the first event")
        self._fact(Config(self.next_seq, self._dt(), dict(data)))
        self._has_config = self._may_step = True
        self._learn_spaces(data.get("spaces"))

    def lifecycle(self, phase: str, data: Mapping[str, Any] | None = None) -> None:
        """Record a phase of the worker. `done`, `stopped` and `error` are terminal.

        Only `error` may come before the config, for a worker that fails early.
        """
        if self._has_config or phase != "error":
            self._ready("lifecycle")
        elif self.ended:
            self._refuse("lifecycle")
        if phase in TERMINAL_PHASES:
            self._count_reduced()
        self._fact(Lifecycle(self.next_seq, self._dt(), phase, dict(data or {})))
        if phase in TERMINAL_PHASES:
            self.ended = phase
            self._may_step = False

    def extra(self, type: str, data: Mapping[str, Any]) -> None:
        """Record a namespaced event of your own, e.g. `bdi.intention`."""
        self._ready("extra")
        if _EXTRA_TYPE.fullmatch(type) is None:
            raise ContractViolation(f"{type!r} is not of the form namespace.name in lower case")
        if type == THINNED:
            raise ContractViolation(f"{THINNED} is MOSAIC's own: use count_lost_steps(count)")
        self._fact(Extra(self.next_seq, self._dt(), type, dict(data)))

    def text(self, name: str, step: int | None, text: str) -> None:
        """Record a text of a step, for example a sampled sentence or a table in Markdown.

        A text above 65,536 characters is cut. A run note says what was cut or left out.

        Args:
            name: name of the series, as a metric has one.
            step: environment step; None: without one.
            text: the text.
        """
        self._ready("text")
        self._media_recorder().text(str(name), _step(step), str(text))

    def histogram(
        self,
        name: str,
        step: int | None,
        values: Any = None,
        *,
        bins: int = DEFAULT_BINS,
        edges: Sequence[float] | None = None,
        counts: Sequence[float] | None = None,
    ) -> None:
        """Record the distribution of values at a step, for example of weights or actions.

        Args:
            name: name of the series, as a metric has one.
            step: environment step; None: without one.
            values: array or tensor of any shape, or an iterable of numbers. Values that are not finite are left out.
            bins: number of bins of equal width for `values`, at most 512.
            edges: edges of the bins, ascending, instead of `values`.
            counts: count of each bin, one fewer than `edges`.

        Raises:
            ContractViolation: there is no finite value, or edges and counts are no histogram.
        """
        self._ready("histogram")
        if edges is None or counts is None:
            edges, counts = bins_of(values, bins)
        self._media_recorder().histogram(str(name), _step(step), edges, counts)

    def image(self, name: str, step: int | None, image: Any, caption: str = "") -> None:
        """Record an image of a step. Its file is written into `media/` of the run's folder.

        An image above 4 MiB or 4096 x 4096 pixels is left out. A run note says so.

        Args:
            name: name of the series, as a metric has one.
            step: environment step; None: without one.
            image: content of a PNG, JPEG, GIF or WebP file, or an array or tensor of shape `(height, width)` or
                `(height, width, channels)` with 1 to 4 channels: uint8, bool, or floats from 0 to 1.
            caption: words below the image.

        Raises:
            ContractViolation: it is no image.
            OSError: the disk refused the file.
        """
        self._ready("image")
        file = image if isinstance(image, bytes) else png_of(image)
        self._media_recorder().image(str(name), _step(step), file, caption)

    def left_out(self, why: str) -> None:
        """Report with the run that a text, histogram or image was left out.

        Args:
            why: what was left out, and what to do about it.
        """
        self._ready("left_out")
        self._media_recorder().leave_out(why)

    def _media_recorder(self) -> MediaRecorder:
        if self._media is None:
            self._media = MediaRecorder(self.run_dir, self.extra, self._note_once)
        return self._media

    def checkpoint(
        self, path: str | Path, step: int, reason: str, data: Mapping[str, Any] | None = None
    ) -> None:
        """Announce a checkpoint that is complete on disk (see `write_checkpoint`).

        The event says the mean return of the last episodes, too.

        Raises:
            ArtifactPathRefused: outside the run folder, absent, or no regular file.
        """
        self._ready("checkpoint")
        where = inside_run(self.run_dir, path)
        size, digest = measure(self.run_dir, where)
        if digest is None:
            raise ArtifactPathRefused(
                f"{where} is a folder; a checkpoint is one file, announce a folder as an artifact"
            )
        check_range(int(step))
        mean = self._mean_return()
        facts = (where, int(step), digest, size, reason, {**mean, **(data or {})})
        more = {"step": int(step), "reason": reason, **mean}
        self._list(where, kind="checkpoint", size=size, digest=digest, **more)
        self._fact(Checkpoint(self.next_seq, self._dt(), *facts))

    def write_checkpoint(
        self,
        path: str | Path,
        write: Callable[[Path], object] | bytes | str,
        step: int,
        reason: str,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a checkpoint, put it in place whole and durable, and announce it.

        Args:
            path: below the run folder.
            write: the content, or a function that writes it into the path that it is given.
            step: environment steps of the run so far.
            reason: `periodic`, `best`, `stop` or `final`.

        Raises:
            OSError: the disk refused; no half file is left.
        """
        self._ready("checkpoint")
        target = self.run_dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target, durable=True) as draft:
            if isinstance(write, bytes):
                draft.write_bytes(write)
            elif isinstance(write, str):
                draft.write_text(write, encoding="utf-8")
            else:
                write(draft)
        self.checkpoint(path, step, reason, data)

    def artifact(self, path: str | Path, kind: str, data: Mapping[str, Any] | None = None) -> None:
        """Announce another file or folder of the run; a folder, which may grow, has no digest.

        Raises:
            ArtifactPathRefused: outside the run folder, absent, or neither a regular file nor a folder.
        """
        self._ready("artifact")
        where = inside_run(self.run_dir, path)
        size, digest = measure(self.run_dir, where)
        self._list(where, kind=kind, size=size, digest=digest)
        self._fact(Artifact(self.next_seq, self._dt(), where, kind, size, digest, dict(data or {})))

    def artifact_pruned(self, path: str, reason: str) -> None:
        """Record that an announced file was deleted on purpose."""
        self._ready("artifact_pruned")
        self._fact(ArtifactPruned(self.next_seq, self._dt(), path, reason))

    def restore_files(self) -> bool:
        """Write the outbox again if the program deleted it with its output folder; returns whether it did.

        Call it now and then where a program can do that; it costs microseconds. Nothing is made while the program may
        still be deleting, for it would fail over that.
        """
        if not self._outbox.is_deleted and not self._progress.is_deleted:
            self._deleted_since = None
            return False
        now = time.monotonic()
        if self._deleted_since is None:
            self._deleted_since = now
        if now - self._deleted_since < SETTLE_S:
            return False
        self._outbox.restore()
        with suppress(OSError):  # something else lies where its folder was; the runner clears that
            if self._progress.is_deleted:
                self._progress.restore()
        return True

    def close(self) -> None:
        """Close the outbox. Counts of thinned steps that were not reported yet are recorded."""
        if self._outbox.thinned and not self.ended:
            self._record_thinned()
        self._count_reduced()
        self._may_step = False
        self._outbox.close()
        self._progress.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _mean_return(self) -> dict[str, Any]:
        """Mean return of the last episodes as a checkpoint names it; empty without one that is a number."""
        finite = [value for value in self.recent_returns if math.isfinite(value)]
        if not finite:
            return {}
        return {MEAN_RETURN: math.fsum(finite) / len(finite), MEAN_EPISODES: len(finite)}

    def _list(self, where: str, *, kind: str, size: int, digest: str | None, **more: Any) -> None:
        entry = {"path": where, "kind": kind, "bytes": size, "sha256": digest, **more}
        entry["attempt"] = self.attempt
        if self._mask is not None:
            entry = self._mask.in_value(entry)
        add_to_manifest(self.run_dir, entry)


def _step(step: int | None) -> int | None:
    """A step as a plain number that the store can hold."""
    if step is None:
        return None
    at = int(step)
    check_range(at)
    return at


def read_run_file(run_dir: Path) -> RunFile:
    """Read `spec.json`.

    Raises:
        RunFolderInvalid: it is absent or not readable as one.
    """
    path = run_dir / SPEC_FILE
    try:
        return RunFile.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise RunFolderInvalid(f"{path} cannot be read ({error}); a placement writes it") from error


def _numbers_of(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in values.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _numbers_of(value, f"{path}/")
        elif not isinstance(value, bool) and isinstance(value, Real):
            yield path, float(value)
