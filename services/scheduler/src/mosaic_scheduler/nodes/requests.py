"""Answers runs whose folder is on another machine: start, files that they begin with, files that they made, end.

The subject says which run asks, for the broker lets nobody else use it. The claim says that it is the one runner which
was granted the attempt.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable

from nats.aio.msg import Msg
from pydantic import BaseModel, ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.launch import ExitPhase
from mosaic_contracts.nodes import (
    CHUNK_HEADER,
    WRITE_HEADER,
    BeginAnswer,
    BeginRequest,
    Begun,
    ExitNotice,
    FilePart,
    NodeRequest,
    NodeVerb,
    ReadRequest,
    RunCredentials,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import Reply
from mosaic_scheduler.executors.protocol import AttemptRef, Executor
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.nodes.given import Chunk, given_files, read_chunk
from mosaic_scheduler.nodes.received import ReceivedFiles, log_bytes
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import NODE_LIFETIME_S, RunSigner
from mosaic_servicekit.logging import get_log

Answer = BaseModel | Chunk | None


class NodeRequests:
    """Serves `mosaic.v1.node.*.*`."""

    def __init__(
        self,
        bus: Bus,
        store: RunStore,
        executor: Executor,
        signer: RunSigner | None,
        reserve_bytes: int,
        reconcile: asyncio.Event,
        lifetime_s: float = NODE_LIFETIME_S,
    ) -> None:
        """`reconcile`: set when a run's state may follow. `lifetime_s`: of credentials that are renewed."""
        self._bus = bus
        self._store = store
        self._executor = executor
        self._signer = signer
        self._received = ReceivedFiles(reserve_bytes)
        self._reconcile = reconcile
        self._lifetime_s = lifetime_s
        self._ends = asyncio.Lock()
        self._verbs: dict[str, Callable[[str, Msg], Awaitable[Answer]]] = {
            NodeVerb.BEGIN: self._begin,
            NodeVerb.READ: self._read,
            NodeVerb.WRITE: self._write,
            NodeVerb.EXIT: self._exit,
            NodeVerb.RENEW: self._renew,
        }

    async def subscribe(self) -> None:
        """Begin to listen."""
        await self._bus.subscribe(subjects.NODE_ALL, self._on_request, inline=False)

    async def _on_request(self, message: Msg) -> None:
        try:
            answer = await self._answer(message)
        except ProblemError as error:
            answer = Reply(problem=error.problem)
        except ValidationError as error:
            answer = Reply(problem=_problem(ProblemCode.REQUEST_INVALID, str(error)))
        except OSError as error:
            # One run's folder cannot be used, or the disk is full: the node asks again.
            get_log().warning("node.request_failed", subject=message.subject, error=str(error))
            answer = Reply(problem=_problem(ProblemCode.DISK_LOW, f"{error.strerror or error}"))
        if not message.reply:
            return
        if isinstance(answer, Chunk):
            headers = {CHUNK_HEADER: str(answer.total)}
            await self._bus.publish(message.reply, answer.data, headers)
        else:
            await self._bus.publish(message.reply, answer.model_dump_json().encode())

    async def _answer(self, message: Msg) -> Reply | Chunk:
        run_id, verb = subjects.node_verb(message.subject)
        serve = self._verbs.get(verb)
        if serve is None:
            raise ProblemError(_problem(ProblemCode.REQUEST_INVALID, f"no verb {verb!r}"))
        answer = await serve(run_id, message)
        if isinstance(answer, Chunk):
            return answer
        return Reply(result=None if answer is None else answer.model_dump(mode="json"))

    async def _begin(self, run_id: str, message: Msg) -> Answer:
        request = BeginRequest.model_validate_json(message.data)
        run = await self._live(run_id, request)
        if request.nonce != run.nonce or not request.claim:
            raise _refused("This is not the run that was started here.")
        folder = self._folder(run_id, request)
        if folder.begun() is None and folder.was_stop_marked():
            raise _refused(f"Attempt {request.attempt} was stopped before it began.")
        wanted = Begun(
            attempt=request.attempt,
            claim=request.claim,
            node=request.node,
            begun_at=time.time(),
            log_bytes=await asyncio.to_thread(log_bytes, folder.path),
        )
        held = await asyncio.to_thread(folder.grant, wanted)
        if held.claim != request.claim:
            raise _refused(
                f"Attempt {request.attempt} was begun before, on {held.node or 'a node'}."
            )
        get_log().info("attempt.begun", run_id=run_id, attempt=request.attempt, node=request.node)
        self._reconcile.set()
        return BeginAnswer(files=await asyncio.to_thread(given_files, folder.path))

    async def _read(self, run_id: str, message: Msg) -> Answer:
        request = ReadRequest.model_validate_json(message.data)
        await self._live(run_id, request)
        folder = self._claimed(run_id, request)
        return await asyncio.to_thread(read_chunk, folder.path, request.path, request.offset)

    async def _write(self, run_id: str, message: Msg) -> Answer:
        part = FilePart.model_validate_json((message.headers or {}).get(WRITE_HEADER, ""))
        await self._live(run_id, part)
        folder = self._claimed(run_id, part)
        begun = folder.begun()
        before = 0 if begun is None else begun.log_bytes.get(part.path, 0)
        return await asyncio.to_thread(self._received.take, folder.path, part, message.data, before)

    async def _exit(self, run_id: str, message: Msg) -> Answer:
        notice = ExitNotice.model_validate_json(message.data)
        report = notice.report
        if report.run_id != run_id or report.attempt != notice.attempt:
            raise ProblemError(_problem(ProblemCode.REQUEST_INVALID, "the report of another run"))
        await self._live(run_id, notice)
        folder = self._claimed(run_id, notice)
        # One after the other: the end of the worker and that of the drain may come at the same time.
        async with self._ends:
            known = await asyncio.to_thread(folder.report)
            if known is None or known.phase is ExitPhase.WORKER_ENDED:
                await asyncio.to_thread(folder.take_report, report)
                self._reconcile.set()
        return None

    async def _renew(self, run_id: str, message: Msg) -> Answer:
        request = NodeRequest.model_validate_json(message.data)
        await self._live(run_id, request)
        self._claimed(run_id, request)
        if self._signer is None:
            raise ProblemError(
                _problem(ProblemCode.REQUEST_INVALID, "this broker asks for no credentials")
            )
        get_log().info("credentials.renewed", run_id=run_id, attempt=request.attempt)
        return RunCredentials(creds=self._signer.creds(run_id, self._lifetime_s))

    async def _live(self, run_id: str, request: NodeRequest) -> StoredRun:
        """The run, when the request is about its attempt of now, and that has not ended."""
        run = await self._store.get(run_id)
        if run is None:
            raise _refused("There is no such run.")
        if run.record.state.is_final or run.record.attempt != request.attempt:
            raise _refused(f"Attempt {request.attempt} has ended.")
        return run

    def _claimed(self, run_id: str, request: NodeRequest) -> RunFolder:
        folder = self._folder(run_id, request)
        begun = folder.begun()
        if (begun.claim if begun is not None else "") != request.claim:
            raise _refused(f"Attempt {request.attempt} belongs to another runner.")
        return folder

    def _folder(self, run_id: str, request: NodeRequest) -> RunFolder:
        ref = AttemptRef(run_id, request.attempt)
        return RunFolder(self._executor.folder(ref), ref)


def _refused(why: str) -> ProblemError:
    return ProblemError(_problem(ProblemCode.RUN_ENDED, why))


def _problem(code: ProblemCode, detail: str) -> Problem:
    return Problem(code=code, title="The request of a run was refused", detail=detail)
