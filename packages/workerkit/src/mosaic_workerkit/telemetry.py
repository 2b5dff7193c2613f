"""Records what happens in a run, for the author of a worker. Every call is durable against SIGKILL when it returns.

The contract is checked as the calls come in: config first, contiguous seq, one terminal lifecycle and nothing
after it, types as the wire promises them. Calls come from one thread of one process.
"""

import json
import math
import os
import re
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import Any

import msgspec

from mosaic_base.atomic import atomic_file, replace_file
from mosaic_contracts.checkpoint_words import MEAN_EPISODES, MEAN_RETURN, RECENT_EPISODES
from mosaic_contracts.compat import Self
from mosaic_contracts.launch import KEPT_NOTES_FILE, NOTES_FILE, SPEC_FILE, RunFile
from mosaic_contracts.runs import StoredSpec
from mosaic_contracts.wire import (
    INTEGER_LIMIT,
    SOURCE_WORKER,
    THINNED,
    Actor,
    Artifact,
    ArtifactPruned,
    BatchInvalid,
    Checkpoint,
    Config,
    Episode,
    EpisodeStart,
    Extra,
    Kind,
    Lifecycle,
    Log,
    Metric,
    Record,
    decode_record,
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
from mosaic_workerkit.masking import SecretMask, read_secrets
from mosaic_workerkit.media import DEFAULT_BINS, MediaRecorder, bins_of, png_of
from mosaic_workerkit.outbox import OutboxWriter, outbox_dir
from mosaic_workerkit.own_files import SETTLE_S
from mosaic_workerkit.plain import act_value, is_array, loaded_type, plain_hook
from mosaic_workerkit.progress import ProgressWriter
from mosaic_workerkit.spaces import Space, encode_value
from mosaic_workerkit.stephash import new_hasher, pack_outcome, step_hash

TERMINAL_PHASES = frozenset({"done", "stopped", "error"})
LOG_LEVELS = frozenset({"debug", "info", "warning", "error"})
MAX_LOG_CHARS = 16 * 1024
MAX_NOTE_CHARS = 500
PATIENCE_STEPS = 50_000
"""Number of recorded steps without the end of an episode after which the run gets a note."""
NO_EPISODE = "no-episode"
"""Name of that note. A worker that knows the cause sets it itself."""
_NEVER = 2**63
_REDUCED = "event-too-large"
"""Name of the note on events that are kept without a part."""
_EXTRA_TYPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)+")

_POLICY = int(Actor.POLICY)
"""Plain, for `step` takes what is no exact int the long way."""
_STEP = int(Kind.STEP)
PlainStep = tuple[int, int, int, Any, float, int, bytes]
"""See `Telemetry.plain_steps`."""
_StepFields = tuple[int, int, int, Any, float, int, bytes, int, Any]
"""Fields of a `Step`: env, episode, step, action, reward, flags, hash, actor, observation."""

_decode = msgspec.msgpack.decode
_encode = msgspec.msgpack.Encoder(enc_hook=plain_hook).encode
_monotonic_ns = time.monotonic_ns


class Telemetry:
    """Records the events of a run. It is also a context manager."""

    def __init__(self, run_dir: Path, run_id: str, attempt: int, spec: StoredSpec) -> None:
        self.run_dir = run_dir
        self.run_id = run_id
        self.attempt = attempt
        self.spec = spec
        self._outbox = OutboxWriter(
            outbox_dir(run_dir, attempt),
            run_id,
            attempt,
            SOURCE_WORKER,
            spec.outbox_bytes,
            spec.when_outbox_full,
        )
        self._t0_ns = self._outbox.t0_ns
        mask = SecretMask(read_secrets(os.environ))
        self._mask = mask if mask else None
        self._append = self._outbox.append if not mask else self._append_masked
        self._progress = ProgressWriter(run_dir)
        self.progress: Callable[..., None] = self._progress.write
        """`progress(step, total=None)`: environment steps done. No system call: call it as often as you like."""
        self._has_config = False
        self._notes: dict[str, str] = {}
        self._kept_notes: dict[str, str] = {}
        self._deleted_since: float | None = None
        self._media: MediaRecorder | None = None
        self.ended: str | None = None
        """Phase of the terminal lifecycle once it is written."""
        self._may_step = False
        self._steps = 0
        """Recorded steps."""
        self._patience = PATIENCE_STEPS if spec.record.has_episodes else _NEVER
        """After more steps than that it is noted that no episode has ended."""
        self._reduced = 0
        """Events that were kept without what made them too large."""
        self._shows = spec.record.has_observations
        self._observation_space: Space | None = None
        self._box_dtype: str | None = None
        """Dtype of observations as the config names it, until the first array comes."""
        self._array: Any = None
        self._observation_dtype: Any = None
        """NumPy's type of arrays, and the dtype whose arrays are recorded as their bytes are."""
        self._action_space: Space | None = None
        self._deprecated: set[str] = set()
        """Calls in an old form that were warned of."""
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

    @property
    def next_seq(self) -> int:
        """Seq of the next event."""
        return self._outbox.next_seq

    def step(
        self,
        env: int,
        episode: int,
        step: int,
        action: Any,
        reward: float,
        flags: int | None = None,
        hash: bytes | None = None,
        actor: int = _POLICY,
        observation: Any = None,
        *,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Record one environment step. `EpisodeRecorder` counts episodes and steps for you.

        This is the one event that policy `thin` may drop, counted. A step that is larger than an event may be is kept
        without its observation; the first one is reported, all are counted.

        Args:
            env: number of the sub-environment, from 0.
            episode: number of its episode, from 0.
            step: number of the step within the episode, from 1.
            action: in the form of the action space that the config names.
            reward: of the environment itself, neither clipped nor scaled.
            flags: deprecated, with `hash`: give `terminated`, `truncated` and `observation`.
            hash: deprecated: computed from the observation.
            actor: who chose the action (`mosaic_contracts.wire.Actor`).
            observation: what the environment returned. Its hash is recorded, and itself at recording level `full`.
        """
        if flags is not None or hash is not None:
            if "step" not in self._deprecated:
                self._warn_of_flags("step")
            flags = flags or 0
            digest = step_hash(observation, reward, flags) if hash is None else hash
            self.hashed_step(env, episode, step, action, reward, flags, digest, actor, observation)
            return
        if not self._may_step:
            self._refuse("step")
        flags = 1 if terminated else 0
        if truncated:
            flags |= 2
        if type(reward) is not float:
            reward = float(reward)
        if type(observation) is self._array and observation.dtype is self._observation_dtype:
            seen = observation.tobytes()
            hasher = new_hasher()
            hasher.update(seen + pack_outcome(reward, flags))
            digest = hasher.digest()
            shown = seen if self._shows else None
        else:
            if self._box_dtype is not None:
                self._learn_arrays(observation)
            digest = step_hash(observation, reward, flags)
            shown = self._form(self._observation_space, observation) if self._shows else None
        if not (
            type(env) is int
            and type(episode) is int
            and type(step) is int
            and type(action) is int
            and type(actor) is int
        ):
            env, episode, step, actor = int(env), int(episode), int(step), int(actor)
            action = self._form(self._action_space, action)
        if (env | episode | step) >> 62:  # a negative one, too
            _check_range(env, episode, step)
        self._write_step((env, episode, step, action, reward, flags, digest, actor, shown))

    def hashed_step(
        self,
        env: int,
        episode: int,
        step: int,
        action: Any,
        reward: float,
        flags: int,
        hash: bytes,
        actor: int = _POLICY,
        observation: Any = None,
    ) -> None:
        """Record one step whose hash is known already, e.g. from a table of all steps of a small world.

        Args:
            flags: bits of `mosaic_contracts.wire.StepFlag`: 1 terminated, 2 truncated.
            hash: as `step_hash` makes it.
            observation: recorded as it is given, whatever the recording level; None: not recorded.
        """
        if not self._may_step:
            self._refuse("step")
        if not (
            type(env) is int
            and type(episode) is int
            and type(step) is int
            and type(flags) is int
            and type(actor) is int
            and type(reward) is float
        ):
            env, episode, step = int(env), int(episode), int(step)
            flags, actor, reward = int(flags), int(actor), float(reward)
        if type(action) is not int and type(action) is not bytes:
            action = act_value(action)
        if observation is not None and type(observation) is not bytes:
            observation = act_value(observation)
        if type(hash) is not bytes:
            raise ContractViolation(
                "a step's hash is 8 bytes: use step_hash(observation, reward, flags)"
            )
        if (env | episode | step) >> 62:  # a negative one, too
            _check_range(env, episode, step)
        self._write_step(
            (env, episode, step, action, reward, flags, hash, actor, observation),
        )

    def plain_steps(self, steps: Sequence[PlainStep], *, has_observations: bool) -> None:
        """Record the steps of a vector environment at once, from plain values.

        All are durable when it returns, in the order given, in half the time of as many calls.

        Args:
            steps: env, episode, step, action (as the wire has it), reward (an exact `float`), flags, and the bytes of
                the observation, of which the hash is made as `step_hash` makes it.
            has_observations: whether the bytes are recorded too.
        """
        if not self._may_step:
            self._refuse("step")
        outbox = self._outbox
        seq = outbox.next_seq
        dt = (_monotonic_ns() - self._t0_ns) // 1000
        known: float | None = None
        records = []
        try:
            for env, episode, step, action, reward, flags, seen in steps:
                if reward is not known or flags:  # most rewards of a vector step are one object
                    outcome = pack_outcome(reward, flags)
                    known = None if flags else reward
                hasher = new_hasher()
                hasher.update(seen + outcome)
                hash = hasher.digest()
                shown = seen if has_observations else None
                # A tuple has the bytes of a `Step` and is made in half the time.
                fields = (_STEP, seq, dt, env, episode, step, action, reward, flags, hash, 0, shown)
                records.append(_encode(fields))
                seq += 1
        except TypeError as error:
            raise ContractViolation(f"step: {error}; give plain values") from error
        if self._mask is not None or outbox.thinned or not outbox.append_all(records):
            self._write_each(steps, has_observations)
            return
        self._steps = done = self._steps + len(records)
        if done > self._patience:
            self._report_no_episode()

    def metric(self, name: str, step: int | None, value: float) -> None:
        """Record one value of a metric. NaN and infinities are kept."""
        self._ready("metric")
        at = None if step is None else int(step)
        if at is not None:
            _check_range(at)
        self._write(Metric(self.next_seq, self._dt(), str(name), at, float(value)))

    def metrics(self, step: int | None, values: Sequence[tuple[str, float]]) -> None:
        """Record several metrics of one step, each as `metric` does. Names are str, values float."""
        outbox = self._outbox
        if not self._may_step or outbox.thinned:
            self._ready("metrics")
        if step is not None:
            _check_range(step)
        dt = (_monotonic_ns() - self._t0_ns) // 1000
        append = self._append
        for name, value in values:
            append(_encode(Metric(outbox.next_seq, dt, name, step, value)))

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
        _check_range(count)
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
        _check_range(int(env), int(episode))
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
            (_monotonic_ns() - self._t0_ns) // 1000,
            int(env),
            int(episode),
            int(length),
            float(episode_return),
            int(flags),
            float(duration_s),
            int(global_step),
        )
        _check_range(record.env, record.episode, record.length, record.flags, record.global_step)
        if self._patience != _NEVER:
            self._patience = _NEVER
            if NO_EPISODE in self._notes:
                self.note(NO_EPISODE, None)
        # plain numbers only: nothing in it could be refused later, so it is not read back, which would double its cost
        self._append(_encode(record))
        self.recent_returns.append(record.episode_return)

    def config(self, data: Mapping[str, Any]) -> None:
        """Record the configuration that really runs. It is the first event, recorded once."""
        if self._has_config or self.ended:
            raise ContractViolation("config is written once, as the first event")
        self._fact(Config(self.next_seq, self._dt(), dict(data)))
        self._has_config = self._may_step = True
        self._learn_spaces(data.get("spaces"))

    def log(self, level: str, message: str, data: Mapping[str, Any] | None = None) -> None:
        """Record a log message. One above 16 KiB is cut, with a mark."""
        self._ready("log")
        if level not in LOG_LEVELS:
            raise ContractViolation(f"log level {level!r} is none of {sorted(LOG_LEVELS)}")
        text = message
        if len(text) > MAX_LOG_CHARS:
            text = f"{text[:MAX_LOG_CHARS]} [cut: {len(message)} characters]"
        self._fact(Log(self.next_seq, self._dt(), level, text, dict(data or {})))

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

    def note(self, name: str, words: str | None, *, kept: bool = False) -> None:
        """Show a message with the run while it lasts; None removes it. A note is no event.

        A note is no event.

        Args:
            kept: the note stays with the run after its end.
        """
        notes, file = (self._kept_notes, KEPT_NOTES_FILE) if kept else (self._notes, NOTES_FILE)
        if words is None:
            notes.pop(name, None)
        else:
            words = words if self._mask is None else self._mask.in_text(words)
            notes[name] = words[:MAX_NOTE_CHARS]
        try:
            (self.run_dir / file).parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.run_dir / file, json.dumps(notes), durable=True)
        except OSError as error:
            # On a full disk, or in a folder that the program deleted, the run is worth more than the note.
            print(f"a note could not be written: {error}", file=sys.stderr)  # noqa: T201 - the worker's log

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

    def _note_once(self, name: str, words: str) -> None:
        """Keep a note; the first one of its name stays, for thousands may follow."""
        if name not in self._kept_notes:
            self.note(name, words, kept=True)
            self.log("warning", words)

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
        _check_range(int(step))
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

    def _learn_spaces(self, spaces: Any) -> None:
        """Take the forms of actions and observations from the config, where it names them."""
        if not isinstance(spaces, Mapping):
            return
        observation, action = spaces.get("observation"), spaces.get("action")
        self._observation_space = observation if isinstance(observation, dict) else None
        self._action_space = action if isinstance(action, dict) else None
        if isinstance(observation, dict) and observation.get("kind") == "box":
            self._box_dtype, self._array = str(observation.get("dtype", "")), None

    def _learn_arrays(self, observation: Any) -> None:
        """At the first array take NumPy's types, which is imported by now."""
        if not is_array(observation):
            return
        self._array = loaded_type("ndarray")
        with suppress(TypeError, ValueError):  # a space that explains no value
            self._observation_dtype = loaded_type("dtype")(self._box_dtype)
        self._box_dtype = None

    @staticmethod
    def _form(space: Space | None, value: Any) -> Any:
        """An action or observation in the form of the space that the config names."""
        if space is None or space.get("kind", "other") == "other":
            return act_value(value)
        return encode_value(space, value)

    def _warn_of_flags(self, call: str) -> None:
        self._deprecated.add(call)
        warnings.warn(
            f"Telemetry.{call} with flags is deprecated: give terminated=, truncated= and observation=, from which "
            "the hash is computed, or call EpisodeRecorder",
            DeprecationWarning,
            stacklevel=3,
        )

    def _mean_return(self) -> dict[str, Any]:
        """Mean return of the last episodes as a checkpoint names it; empty without one that is a number."""
        finite = [value for value in self.recent_returns if math.isfinite(value)]
        if not finite:
            return {}
        return {MEAN_RETURN: math.fsum(finite) / len(finite), MEAN_EPISODES: len(finite)}

    def _dt(self) -> int:
        return (_monotonic_ns() - self._t0_ns) // 1000

    def _ready(self, what: str) -> None:
        """Facts wait for room and come after the count of what was thinned."""
        if not self._may_step:
            self._refuse(what)
        if self._outbox.thinned:
            self._record_thinned()

    def _resume(self) -> bool:
        if not self._outbox.has_room():
            return False
        self._record_thinned()
        return True

    def _write_step(self, fields: _StepFields) -> None:
        if self._outbox.thinned and not self._resume():
            self._outbox.thinned += 1
            return
        try:
            self._append_step(fields)
        except EventTooLarge as error:
            self._append_reduced(fields, error)
        self._steps += 1
        if self._steps > self._patience:
            self._report_no_episode()

    def _write_each(self, steps: Sequence[PlainStep], has_observations: bool) -> None:
        for env, episode, step, action, reward, flags, seen in steps:
            digest = step_hash(seen, reward, flags)
            shown = seen if has_observations else None
            self._write_step((env, episode, step, action, reward, flags, digest, _POLICY, shown))

    def _append_step(self, fields: _StepFields) -> None:
        try:
            data = _encode((_STEP, self.next_seq, self._dt(), *fields))
        except TypeError as error:
            raise ContractViolation(f"step: {error}; give plain values or arrays") from error
        self._append(data, may_drop=True)

    def _append_reduced(self, fields: _StepFields, error: EventTooLarge) -> None:
        """Keep of a step what fits: first without its observation, then without its action too."""
        env, episode, step, action, reward, flags, hash, actor, _observation = fields
        for without, kept in (("its observation", action), ("its action and observation", None)):
            try:
                self._append_step((env, episode, step, kept, reward, flags, hash, actor, None))
            except EventTooLarge:
                continue
            self._report_reduced(f"step {step} of episode {episode}", without, str(error))
            return
        raise error

    def _report_no_episode(self) -> None:
        """Report once that episodes do not end, or are not reported; a worker's own note on it stands."""
        self._patience = _NEVER - 1
        if NO_EPISODE in self._notes:
            return
        words = (
            f"No episode has ended in more than {PATIENCE_STEPS:,} recorded steps, so no return is shown. Likely "
            "causes: the environment has no time limit and is never solved, or the worker does not report the ends of "
            "episodes (`episode`)."
        )
        self.note(NO_EPISODE, words)
        self.log("warning", words, {"steps": self._steps})

    def _report_reduced(self, what: str, without: str, why: str) -> None:
        self._reduced += 1
        if self._reduced > 1:
            return
        words = f"An event is too large: {what} is kept without {without}"
        self.note(_REDUCED, f"{words}. Others like it are kept so too, and counted.")
        self.log("warning", f"{words} ({why}). Others like it are counted.", {"count": 1})

    def _count_reduced(self) -> None:
        """Log how many events there were in all, unless the first report has said it."""
        if self._reduced > 1 and self._may_step:
            count, self._reduced = self._reduced, 0
            self.log(
                "warning",
                f"{count:,} events were too large and are kept without their observations",
                {"count": count},
            )

    def _record_thinned(self) -> None:
        count = self._outbox.thinned
        self._write(Extra(self.next_seq, self._dt(), THINNED, {"steps": count}))
        self._outbox.thinned = 0

    def _write(self, record: Record) -> None:
        try:
            self._append(_encode(record))
        except TypeError as error:
            raise ContractViolation(
                f"{type(record).__name__}: {error}; give plain values"
            ) from error

    def _fact(self, record: Record) -> None:
        """Write a record whose values came from outside: what the recorder would refuse is refused here."""
        try:
            data = _encode(record)
            decode_record(data)
        except (TypeError, BatchInvalid) as error:
            raise ContractViolation(
                f"{type(record).__name__} does not fit the event contract: {error}"
            ) from error
        self._append(data)

    def _append_masked(self, record: bytes, may_drop: bool = False) -> bool:
        """For a run with secrets: as the outbox, with the values masked."""
        if self._mask is not None and self._mask.is_in(record):
            known = len(self._mask.found)
            record = _encode(self._mask.in_value(_decode(record)))
            if len(self._mask.found) > known:
                for name, words in self._mask.notes().items():
                    self.note(f"secret {name}", words, kept=True)
        return self._outbox.append(record, may_drop)

    def _refuse(self, what: str) -> None:
        if self.ended:
            raise ContractViolation(
                f"{what} after the terminal lifecycle {self.ended!r}: nothing may follow it"
            )
        if not self._has_config:
            raise ContractViolation(f"{what} before config: call config(data) first")
        raise ContractViolation(f"{what} after close()")

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
    _check_range(at)
    return at


def _check_range(*values: int) -> None:
    """Refuse what the store cannot hold, here, where it costs one event: the recorder would set aside a whole batch."""
    for value in values:
        if not -INTEGER_LIMIT < value < INTEGER_LIMIT:
            raise ContractViolation(f"{value} is beyond 2**62, which no integer of an event may be")


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
