"""The gateway's HTTP API: a method for each endpoint, each answering with a `ApiReply`."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from pydantic import BaseModel
from PyQt6.QtCore import QIODevice, QObject, QUrl
from PyQt6.QtNetwork import (
    QNetworkAccessManager,
    QNetworkProxy,
    QNetworkReply,
    QNetworkRequest,
)

from mosaic_contracts import VERSION, http_api
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.curve_set import CurveSet
from mosaic_contracts.frames import EnvironmentFrame, decode_frame, decode_page
from mosaic_contracts.http_api import Operation
from mosaic_contracts.media import MediaName
from mosaic_contracts.runs import ArtifactRow, MetricName, ReplayEntry
from mosaic_gui.net.backoff import retry_backoff
from mosaic_gui.net.download import Download
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem, ApiReply, LogPiece, problem_words, read_problem
from mosaic_gui.net.trust import configuration, refusal
from mosaic_gui.net.upload import FileUpload
from mosaic_gui.state.frame_cache import FrameRange
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer

TIMEOUT_MS = 20_000
"""A preflight asks the worker's own program, which imports torch."""
LOOKING_MS = 60_000
"""The stack looks whether W&B answers, through a proxy perhaps."""
HASHING_MS = 600_000
"""Files of several GiB may be read, one request after the other."""
IMPORT_MS = 180_000
"""A worker looks into a file for a minute at most, in a process of its own."""
TARGET_TEST_MS = 60_000
"""A command may take 30 s."""
REMOVING_MS = 60_000
"""A step of a removal takes at most half of it."""
GROUP_MS = 120_000
"""A group has up to 1,000 runs, each is written, and a worker is asked once for each environment."""
TRIES = 3
LOG_PIECE_BYTES = 2**18
MOST_OF_GROUP = 200
"""Runs in one answer."""
MOST_CHECKPOINTS = 500
"""Checkpoints in one answer."""
EVENTS_AT_ONCE = 200
"""A table of values may have thousands of numbers; a page is read between two frames."""

Read = Callable[[bytes, QNetworkReply], object]
Query = Mapping[str, str | int] | Sequence[tuple[str, str | int]]


class ApiClient(QObject):
    """Sends asynchronous requests to one gateway. It shows no dialogs."""

    def __init__(self, location: StackLocation, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.location = location
        self._network = QNetworkAccessManager(self)
        # a redirect would carry the token elsewhere
        self._network.setRedirectPolicy(QNetworkRequest.RedirectPolicy.ManualRedirectPolicy)
        self._trust = configuration(location.ca_file)
        if location.is_loopback:
            self._network.setProxy(QNetworkProxy(QNetworkProxy.ProxyType.NoProxy))
        self._closed = False

    def move_to(self, location: StackLocation) -> None:
        """Use another address or token from now on."""
        self.location = location
        self._trust = configuration(location.ca_file)

    def close(self) -> None:
        """Cancel all requests; no signal is emitted after this."""
        self._closed = True
        for reply in self.findChildren(ApiReply):
            reply.drop()
        for download in self.findChildren(Download):
            download.cancel()
        for upload in self.findChildren(FileUpload):
            upload.cancel()
        for network_reply in self._network.findChildren(QNetworkReply):
            # one that has failed already ends by itself; to abort it as well makes Qt complain
            if network_reply.error() is QNetworkReply.NetworkError.NoError:
                network_reply.abort()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def stack(self) -> ApiReply:
        """StackStatus."""
        return self._send(http_api.STACK)

    def workers(self) -> ApiReply:
        """WorkerEntries."""
        return self._send(http_api.WORKERS)

    def machine(self, last: int) -> ApiReply:
        """MachineHistory with so many newest samples, or as many as there are."""
        return self._send(http_api.MACHINE, query={"last": last})

    def runs(
        self, cursor: str | None = None, limit: int = 200, *, deleted: bool = False
    ) -> ApiReply:
        """RunPage, newest first; `deleted`: runs that can be restored, instead of the others."""
        query = {"limit": str(limit), **({"cursor": cursor} if cursor else {})}
        if deleted:
            query["deleted"] = "true"
        return self._send(http_api.RUNS, query=query)

    def known_metrics(self) -> ApiReply:
        """MetricNames of the newest runs."""
        return self._send(http_api.KNOWN_METRICS)

    def metric_figures(self, names: list[str], run_ids: list[str], *, only_last: bool) -> ApiReply:
        """MetricColumns of these runs."""
        body = {"names": names, "run_ids": run_ids, "only_last": only_last}
        return self._send(http_api.METRIC_FIGURES, body=body)

    def run(self, run_id: str) -> ApiReply:
        """RunView."""
        return self._send(http_api.RUN, run_id)

    def submit(self, spec: dict[str, Any]) -> ApiReply:
        """RunView of the new run. Sent again after a lost answer it is still one run."""
        return self._send(http_api.SUBMIT, body=spec)

    def preflight(self, spec: dict[str, Any]) -> ApiReply:
        """PreflightReport; nothing is started."""
        return self._send(http_api.PREFLIGHT, body=spec)

    def stop_run(self, run_id: str) -> ApiReply:
        """RunView. The request can be repeated."""
        return self._send(http_api.STOP, run_id, repeat=True)

    def stop_group(self, group_id: str) -> ApiReply:
        """GroupView. The request can be repeated."""
        return self._send(http_api.STOP_GROUP, group_id, repeat=True, timeout_ms=GROUP_MS)

    def retry_group(self, group_id: str) -> ApiReply:
        """GroupView; what failed is started once more."""
        return self._send(http_api.RETRY_GROUP, group_id, body={}, timeout_ms=GROUP_MS)

    def delete_group(self, group_id: str) -> ApiReply:
        """GroupView of the deleted group."""
        return self._send(http_api.DELETE_GROUP, group_id, repeat=True, timeout_ms=GROUP_MS)

    def restore_group(self, group_id: str) -> ApiReply:
        """GroupView of the restored group."""
        return self._send(http_api.RESTORE_GROUP, group_id, repeat=True, timeout_ms=GROUP_MS)

    def retry_run(self, run_id: str) -> ApiReply:
        """RunView of a new run like it."""
        return self._send(http_api.RETRY, run_id)

    def resume_run(self, run_id: str) -> ApiReply:
        """RunView of a new run that goes on from its newest checkpoint."""
        return self._send(http_api.RESUME, run_id)

    def open_tensorboard(self, run_ids: list[str]) -> ApiReply:
        """DashboardEntry of a TensorBoard with these runs. The request can be repeated."""
        return self._send(http_api.OPEN_DASHBOARD, body={"runs": run_ids}, repeat=True)

    def tensorboard(self, dashboard_id: str, wait_s: float) -> ApiReply:
        """DashboardEntry once it can be opened, or as it is after so many seconds."""
        return self._send(http_api.DASHBOARD, dashboard_id, query={"wait_s": str(wait_s)})

    def plan_sync(self, run_id: str, request: dict[str, Any]) -> ApiReply:
        """SyncPlan: what would be sent to W&B. `request`: a SyncRequest."""
        return self._send(http_api.PLAN_SYNC, run_id, body=request, timeout_ms=LOOKING_MS)

    def sync_run(self, run_id: str, request: dict[str, Any]) -> ApiReply:
        """RunView of the run that sends this one to W&B."""
        return self._send(http_api.SYNC, run_id, body=request, timeout_ms=LOOKING_MS)

    def syncs(self, run_id: str) -> ApiReply:
        """SyncStatus: the syncs of a run, the newest first."""
        return self._send(http_api.SYNCS, run_id)

    def clone_run(self, run_id: str, overrides: dict[str, Any]) -> ApiReply:
        """RunView of a new run like it, but for the overrides."""
        return self._send(http_api.CLONE, run_id, body={"overrides": overrides})

    def play_run(self, run_id: str, checkpoint: str, overrides: dict[str, Any]) -> ApiReply:
        """RunView of a new run in which the checkpoint acts and learns nothing."""
        body = {"checkpoint": checkpoint, "overrides": overrides}
        return self._send(http_api.PLAY, run_id, body=body)

    def fork_run(self, run_id: str, fork: dict[str, Any]) -> ApiReply:
        """RunView of a new run that goes on from a step of an episode. `fork`: a ForkRequest."""
        return self._send(http_api.FORK, run_id, body=fork)

    def checkpoints_in(self, environment: str) -> ApiReply:
        """CheckpointPage of all runs in an environment, the highest returns first."""
        query = {"environment": environment, "sort": "return", "limit": str(MOST_CHECKPOINTS)}
        return self._send(http_api.CHECKPOINTS, query=query)

    def replay_episode(self, run_id: str, attempt: int, env: int, episode: int) -> ApiReply:
        """RunView of a run that rebuilds a recorded episode; one that goes on already where there is one."""
        body = {"attempt": attempt, "env": env, "episode": episode}
        return self._send(http_api.REPLAY, run_id, body=body)

    def replays(self, run_id: str) -> ApiReply:
        """List of ReplayEntry, the newest first."""
        return self._send(http_api.REPLAYS, run_id, read=_read_replays)

    def frames(self, replay_id: str, steps: FrameRange) -> ApiReply:
        """List of EnvironmentFrame: some of these steps of a replay, from the first one on."""
        query = {"first": steps.first, "last": steps.last, "every": steps.every}
        return self._send(http_api.FRAMES, replay_id, query=query, read=_read_frames)

    def check_group(self, group: dict[str, Any]) -> ApiReply:
        """GroupPlan; nothing is started. `group`: a GroupSpec."""
        return self._send(http_api.CHECK_GROUP, body=group, timeout_ms=GROUP_MS)

    def start_group(self, group: dict[str, Any]) -> ApiReply:
        """GroupView of the new group. Sent again after a lost answer it is still one."""
        return self._send(http_api.START_GROUP, body=group, timeout_ms=GROUP_MS)

    def runs_of_group(self, group_id: str) -> ApiReply:
        """RunPage with the runs of a group, the newest first."""
        query = {"group": group_id, "limit": str(MOST_OF_GROUP)}
        return self._send(http_api.RUNS, query=query)

    def metrics(self, run_id: str) -> ApiReply:
        """List of MetricName: the newest value of each metric."""
        return self._send(http_api.METRICS, run_id, read=_read_metrics)

    def start_sweep(self, sweep: dict[str, Any]) -> ApiReply:
        """RunView of the new sweep. Sent again after a lost answer it is still one."""
        return self._send(http_api.START_SWEEP, body=sweep)

    def check_sweep(self, sweep: dict[str, Any]) -> ApiReply:
        """CheckReport; nothing is started."""
        return self._send(http_api.CHECK_SWEEP, body=sweep, repeat=True)

    def sweep(self, run_id: str) -> ApiReply:
        """SweepView."""
        return self._send(http_api.SWEEP, run_id)

    def sweep_trials(self, run_id: str, after: str, limit: int) -> ApiReply:
        """TrialPage of the trials that changed after a cursor; empty: from the first change."""
        query: dict[str, str | int] = {"limit": limit, **({"after": after} if after else {})}
        return self._send(http_api.TRIALS, run_id, query=query)

    def sweep_best(self, run_id: str, trial: int | None) -> ApiReply:
        """RunSpec with the parameters of a trial; without a number: of the best one."""
        query = {} if trial is None else {"trial": trial}
        return self._send(http_api.BEST_OF_SWEEP, run_id, query=query)

    def stop_sweep(self, run_id: str, let_finish: bool) -> ApiReply:
        """RunView. The request can be repeated."""
        return self._send(http_api.STOP_SWEEP, run_id, body={"let_finish": let_finish})

    def resume_sweep(self, run_id: str, changes: dict[str, Any]) -> ApiReply:
        """RunView of a new sweep that goes on with the trials of this one. `changes`: a SweepResume."""
        return self._send(http_api.RESUME_SWEEP, run_id, body=changes)

    def storage(self, run_id: str | None = None, limit: int | None = None) -> ApiReply:
        """StorageReport, with rows of this run, or of the runs with most bytes."""
        query: dict[str, str | int] = {} if run_id is None else {"run": run_id}
        if limit is not None:
            query["limit"] = limit
        return self._send(http_api.STORAGE, query=query)

    def storage_profiles(self) -> ApiReply:
        """StorageProfileList."""
        return self._send(http_api.STORAGE_PROFILES)

    def plan_prune(self, request: dict[str, Any]) -> ApiReply:
        """PrunePlan: what would be removed now. `request`: a PruneRequest."""
        return self._send(http_api.PLAN_PRUNE, body=request)

    def prune(self, request: dict[str, Any]) -> ApiReply:
        """PruneResult of one bounded step. The request can be repeated."""
        return self._send(http_api.PRUNE, body=request, timeout_ms=REMOVING_MS)

    def undo_prune(self, request: dict[str, Any]) -> ApiReply:
        """UndoResult of one bounded step. `request`: an UndoRequest."""
        return self._send(http_api.UNDO_PRUNE, body=request, timeout_ms=REMOVING_MS)

    def alerts(self) -> ApiReply:
        """AlertReport: rules for all runs, alerts, targets."""
        return self._send(http_api.ALERTS)

    def add_alert_rule(self, request: dict[str, Any]) -> ApiReply:
        """AlertRuleView. `request`: an AlertRuleRequest."""
        return self._send(http_api.ADD_ALERT_RULE, body=request)

    def remove_alert_rule(self, rule_id: str) -> ApiReply:
        """AlertRuleView, which can be restored for a day."""
        return self._send(http_api.REMOVE_ALERT_RULE, rule_id)

    def restore_alert_rule(self, rule_id: str) -> ApiReply:
        """AlertRuleView."""
        return self._send(http_api.RESTORE_ALERT_RULE, rule_id)

    def set_alert_target(self, name: str, request: dict[str, Any]) -> ApiReply:
        """AlertTargetView. `request`: an AlertTargetRequest, with the user's consent."""
        return self._send(http_api.SET_ALERT_TARGET, name, body=request)

    def delete_alert_target(self, name: str) -> ApiReply:
        """None: the target gets no more alerts."""
        return self._send(http_api.DELETE_ALERT_TARGET, name, read=lambda _data, _reply: None)

    def test_alert_target(self, name: str) -> ApiReply:
        """DeliveryView of a test that is sent now."""
        return self._send(http_api.TEST_ALERT_TARGET, name, timeout_ms=TARGET_TEST_MS)

    def delete_run(self, run_id: str, *, force: bool = False) -> ApiReply:
        """RunView with `deleted_at`; for a day it can be restored."""
        return self._send(http_api.DELETE, run_id, query=[("force", "true")] if force else ())

    def restore_run(self, run_id: str) -> ApiReply:
        """RunView."""
        return self._send(http_api.RESTORE, run_id)

    def patch_run(self, run_id: str, patch: dict[str, Any]) -> ApiReply:
        """RunView after a change of name, tags, note, pins or storage profile."""
        return self._send(http_api.PATCH, run_id, body=patch)

    def log(self, run_id: str, offset: int) -> ApiReply:
        """LogPiece from a byte offset."""
        query = {"offset": offset, "limit_bytes": LOG_PIECE_BYTES}
        return self._send(http_api.LOG, run_id, query=query, read=_read_log)

    def curves(
        self,
        run_id: str,
        names: Sequence[str],
        buckets: int,
        steps: tuple[int | None, int | None] = (None, None),
    ) -> ApiReply:
        """CurveSet: curves as columns, and where they end. Without names: which there are."""
        query: list[tuple[str, str | int]] = [("buckets", buckets), *(("name", n) for n in names)]
        bounds = zip(("from_step", "to_step"), steps, strict=True)
        query += [(name, bound) for name, bound in bounds if bound is not None]
        return self._send(http_api.CURVES, run_id, query=query, read=_read_curves)

    def media_names(self, run_id: str) -> ApiReply:
        """List of MediaName: which texts, histograms and images the run has."""
        return self._send(http_api.MEDIA, run_id, read=_read_media_names)

    def media_values(self, run_id: str, kind: str, name: str, most: int) -> ApiReply:
        """MediaValues of one name, at most so many."""
        query: dict[str, str | int] = {"kind": kind, "name": name, "most": most}
        return self._send(http_api.MEDIA_VALUES, run_id, query=query)

    def file(self, run_id: str, path: str) -> ApiReply:
        """Bytes of a small file of the run."""
        return self._send(http_api.ARTIFACT, run_id, path, read=_read_file)

    def episodes(self, run_id: str, limit: int = 200, cursor: str | None = None) -> ApiReply:
        """EpisodePage, the newest first."""
        query: dict[str, str | int] = {"limit": limit, "order": "newest"}
        if cursor:
            query["cursor"] = cursor
        return self._send(http_api.EPISODES, run_id, query=query)

    def steps(self, run_id: str, attempt: int, env: int, episode: int) -> ApiReply:
        """EventPage of one episode: its start and its steps."""
        return self._send(http_api.STEPS, run_id, attempt, env, episode)

    def recorded_steps(self, run_id: str, attempt: int, env: int, episode: int) -> ApiReply:
        """The same as bytes: a long episode is read on another thread."""
        return self._send(http_api.STEPS, run_id, attempt, env, episode, read=_read_bytes)

    def events(
        self, run_id: str, cursor: str, types: Sequence[str], limit: int = EVENTS_AT_ONCE
    ) -> ApiReply:
        """EventPage of what came after a cursor."""
        query = {"cursor": cursor, "limit": str(limit), "types": ",".join(types)}
        return self._send(http_api.EVENTS, run_id, query=query)

    def manifest(self, run_id: str) -> ApiReply:
        """RunManifest."""
        return self._send(http_api.MANIFEST, run_id)

    def artifacts(self, run_id: str) -> ApiReply:
        """List of ArtifactRow."""
        return self._send(http_api.ARTIFACTS, run_id, read=_read_artifacts)

    def checkpoints(
        self, cursor: str | None = None, limit: int = 200, run_ids: Sequence[str] = ()
    ) -> ApiReply:
        """CheckpointPage, the newest first; `run_ids`: of these runs alone."""
        query: list[tuple[str, str | int]] = [("limit", limit), *(("run", one) for one in run_ids)]
        if cursor:
            query.append(("cursor", cursor))
        return self._send(http_api.CHECKPOINTS, query=query)

    def verify_checkpoints(self, run_id: str, path: str | None) -> ApiReply:
        """List of CheckpointRow whose state is that of their content; without a path: all of the run."""
        return self._send(
            http_api.VERIFY_CHECKPOINTS,
            run_id,
            query={"path": path} if path else (),
            read=_read_checkpoints,
            timeout_ms=HASHING_MS,
        )

    def import_checkpoint(self, file: Path, fields: Mapping[str, str]) -> FileUpload:
        """Upload a file as a checkpoint, with what it does not say. Raises UploadRefused: it cannot be sent."""
        query = urlencode({"file": file.name, **fields})
        request = self.request(f"{http_api.IMPORT_CHECKPOINT.at()}?{query}")
        request.setTransferTimeout(IMPORT_MS)
        return FileUpload(request, self.post, file, self)

    def export_checkpoint(self, run_id: str, path: str, target: Path) -> Download:
        """A checkpoint with its facts as a zip; raises OSError where that cannot be written."""
        query = urlencode({"path": path})
        request = self.request(f"{http_api.EXPORT_CHECKPOINT.at(run_id)}?{query}")
        return Download(request, lambda one: self.start(one, b"GET", b""), target, self)

    def download(self, run_id: str, path: str, target: Path) -> Download:
        """A file of a run into a file of this machine; raises OSError where that cannot be written."""
        request = self.request(http_api.ARTIFACT.at(run_id, path))
        return Download(request, lambda one: self.start(one, b"GET", b""), target, self)

    def secrets(self) -> ApiReply:
        """SecretEntries: names, never values."""
        return self._send(http_api.SECRETS)

    def set_secret(self, name: str, value: str) -> ApiReply:
        """SecretEntry of what the stack keeps now."""
        return self._send(http_api.SET_SECRET, name, body={"value": value})

    def _send(
        self,
        operation: Operation[Any],
        *values: object,
        query: Query = (),
        body: dict[str, Any] | None = None,
        read: Read | None = None,
        repeat: bool = False,
        timeout_ms: int = TIMEOUT_MS,
    ) -> ApiReply:
        """Send a request of `operation`; `values` are the parameters of its path.

        It is sent again after a lost answer where that is the same as once, or with `repeat`.
        """
        asked = f"?{urlencode(query)}" if query else ""
        request = self.request(operation.at(*values) + asked)
        request.setTransferTimeout(timeout_ms)
        if operation.takes_key:
            request.setRawHeader(b"Idempotency-Key", uuid.uuid4().hex.encode())
        payload = b""
        # without one Qt names a form for every POST, and warns
        request.setHeader(QNetworkRequest.KnownHeaders.ContentTypeHeader, "application/json")
        if body is not None:
            payload = json.dumps(body, allow_nan=False).encode()
        reply = ApiReply(self)
        repeat = repeat or operation.method == "GET" or operation.repeats or operation.takes_key
        read = read or _model(operation)
        verb = operation.method.encode()
        _Attempt(self, reply, request, verb, payload, read, TRIES if repeat else 1).start()
        return reply

    def request(self, path: str) -> QNetworkRequest:
        """A QNetworkRequest to this gateway."""
        request = QNetworkRequest(QUrl(f"{self.location.url}{path}"))
        request.setTransferTimeout(TIMEOUT_MS)
        request.setSslConfiguration(self._trust)
        request.setRawHeader(b"Authorization", f"Bearer {self.location.token}".encode())
        request.setRawHeader(b"User-Agent", f"mosaic-gui/{VERSION}".encode())
        return request

    def post(self, request: QNetworkRequest, body: QIODevice) -> QNetworkReply | None:
        """Send one request with the content of a device; None after `close`."""
        return None if self._closed else self._network.post(request, body)

    def start(self, request: QNetworkRequest, verb: bytes, payload: bytes) -> QNetworkReply | None:
        """Send one request; None after `close`."""
        return None if self._closed else self._network.sendCustomRequest(request, verb, payload)


class _Attempt:
    """One request with its retries."""

    def __init__(
        self,
        client: ApiClient,
        reply: ApiReply,
        request: QNetworkRequest,
        verb: bytes,
        payload: bytes,
        read: Read,
        tries: int,
    ) -> None:
        self._client, self._reply, self._request = client, reply, request
        self._verb, self._payload, self._read = verb, payload, read
        self._left = tries
        self._backoff = retry_backoff()

    def start(self) -> None:
        self._left -= 1
        network_reply = self._client.start(self._request, self._verb, self._payload)
        if network_reply is not None:
            network_reply.finished.connect(lambda: self._on_finished(network_reply))

    def _on_finished(self, network_reply: QNetworkReply) -> None:
        network_reply.deleteLater()
        if self._client.is_closed:
            return
        status = network_reply.attribute(QNetworkRequest.Attribute.HttpStatusCodeAttribute)
        data = network_reply.readAll().data() if network_reply.isOpen() else b""
        if status is None:
            self._on_silence(network_reply)
        elif 200 <= status < 300:
            self._on_answer(data, network_reply)
        else:
            self._on_refusal(status, data)

    def _on_answer(self, data: bytes, network_reply: QNetworkReply) -> None:
        try:
            model = self._read(data, network_reply)
        except ValueError as error:
            words = tr("The stack's answer cannot be read: {why}", why=error)
            self._reply.fail(ApiProblem(words, is_answer_unread=True))
            return
        self._reply.succeed(model)

    def _on_refusal(self, status: int, data: bytes) -> None:
        problem = read_problem(status, data)
        if status == 503 and self._left > 0:
            wait_s = min(problem.retry_after_s or self._backoff.next_s(), 5.0)
            self._start_later(wait_s)
            return
        self._reply.fail(ApiProblem(problem_words(problem), problem))

    def _on_silence(self, network_reply: QNetworkReply) -> None:
        is_distrust = network_reply.error() == QNetworkReply.NetworkError.SslHandshakeFailedError
        if self._left > 0 and not is_distrust:
            self._start_later(self._backoff.next_s())
            return
        url = self._client.location.url
        why = network_reply.errorString()
        why = refusal(why) if is_distrust else why
        self._reply.fail(ApiProblem(tr("No stack answers at {url}: {why}.", url=url, why=why)))

    def _start_later(self, wait_s: float) -> None:
        # the timer ends with the reply; a lambda keeps this attempt alive, for Qt holds a bound method only weakly
        single_shot_timer(self._reply, lambda: self.start()).start(round(wait_s * 1000))


def _read_log(data: bytes, network_reply: QNetworkReply) -> LogPiece:
    following = network_reply.rawHeader(b"X-Next-Offset").data() or b"0"
    return LogPiece(
        data.decode(errors="replace"), int(following), more=len(data) >= LOG_PIECE_BYTES - 4
    )


def _read_curves(data: bytes, _network_reply: QNetworkReply) -> CurveSet:
    try:
        return CurveSet.model_validate(msgspec.msgpack.decode(data))
    except msgspec.DecodeError as error:
        raise ValueError(f"no msgpack: {error}") from error


def _read_bytes(data: bytes, _network_reply: QNetworkReply) -> bytes:
    return data


def _read_replays(data: bytes, _network_reply: QNetworkReply) -> list[ReplayEntry]:
    return [ReplayEntry.model_validate(row) for row in json.loads(data)]


def _read_metrics(data: bytes, _network_reply: QNetworkReply) -> list[MetricName]:
    return [MetricName.model_validate(row) for row in json.loads(data)]


def _read_frames(data: bytes, _network_reply: QNetworkReply) -> list[EnvironmentFrame]:
    return [decode_frame(frame) for frame in decode_page(data).frames]


def _read_artifacts(data: bytes, _network_reply: QNetworkReply) -> list[ArtifactRow]:
    return [ArtifactRow.model_validate(row) for row in json.loads(data)]


def _read_media_names(data: bytes, _network_reply: QNetworkReply) -> list[MediaName]:
    return [MediaName.model_validate(row) for row in json.loads(data)]


def _read_file(data: bytes, _network_reply: QNetworkReply) -> bytes:
    return data


def _read_checkpoints(data: bytes, _network_reply: QNetworkReply) -> list[CheckpointRow]:
    return [CheckpointRow.model_validate(row) for row in json.loads(data)]


def _model(operation: Operation[Any]) -> Read:
    model: type[BaseModel] = operation.answer_model()

    def read(data: bytes, _network_reply: QNetworkReply) -> object:
        return model.model_validate_json(data)

    return read
