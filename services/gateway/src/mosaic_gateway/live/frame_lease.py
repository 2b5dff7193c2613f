"""Live frames of one run: a subscription, and a request for frames that is repeated while somebody watches."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from nats.aio.msg import Msg

from mosaic_contracts import subjects
from mosaic_contracts.frames import (
    CHANNEL,
    LEASE_S,
    MAX_FRAME_BYTES,
    FramesAsked,
    FramesProblem,
    FramesWanted,
    WatchedEnv,
    WatchFrames,
    decode_head,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import ControlRequest
from mosaic_contracts.states import RunState
from mosaic_gateway.live.frame_client import FrameClient
from mosaic_gateway.live.run_answer import ask_run, problem_of
from mosaic_gateway.meters import FRAMES
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus, Subscription
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

ASK_TIMEOUT_S = 2.0
RETRY_S = 1.0
"""Between two requests to a run that does not send frames yet."""
_LEAST_PAUSE_S = 0.05
"""Between two requests, however often its viewers change their minds."""
_FINAL = (ProblemCode.RUN_ENDED, ProblemCode.RUN_UNKNOWN)


@dataclass
class _Viewer:
    """One client that watches the run."""

    wanted: dict[int, WatchFrames] = field(default_factory=dict)
    """By sub-environment."""
    promised: set[int] = field(default_factory=set)
    """Sub-environments whose frames were promised to it."""
    problem: tuple[str, str] | None = None
    """The problem that it knows: code and detail."""


class FrameLease:
    """Shared by all clients that watch the run."""

    def __init__(
        self,
        run_id: str,
        bus: Bus,
        scheduler: SchedulerClient,
        on_idle: Callable[["FrameLease"], None],
    ) -> None:
        """`on_idle`: called when nobody watches and the run knows it."""
        self.run_id = run_id
        self._bus = bus
        self._scheduler = scheduler
        self._on_idle = on_idle
        self._viewers: dict[FrameClient, _Viewer] = {}
        self._state: RunState | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def envs(self) -> set[int]:
        """Sub-environments that somebody watches."""
        return {env for viewer in self._viewers.values() for env in viewer.wanted}

    def watch(self, client: FrameClient, wanted: WatchFrames) -> None:
        """Send frames of a sub-environment to `client`, and answer it."""
        viewer = self._viewers.setdefault(client, _Viewer())
        viewer.wanted[wanted.env] = wanted
        viewer.promised.discard(wanted.env)
        viewer.problem = None
        client.mailbox.open((self.run_id, wanted.env), wanted.fps)
        self._ask_now()

    def leave(self, client: FrameClient) -> None:
        """Send nothing more of the run to `client`."""
        if self._viewers.pop(client, None) is not None:
            client.mailbox.close(self.run_id)
            self._ask_now()

    def see(self, state: RunState) -> None:
        """Take a state of the run: at a change it is asked at once."""
        if state is not self._state:
            self._state = state
            self._changed.set()

    async def end(self, timeout_s: float) -> None:
        """Wait until the run knows that nobody watches."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout_s)
            self._task.cancel()

    def _ask_now(self) -> None:
        self._changed.set()
        if self._task is None or self._task.done():
            work = self._keep()
            self._task = asyncio.get_running_loop().create_task(work, name=f"frames {self.run_id}")
            self._task.add_done_callback(self._on_done)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            get_log().error("frames.died", run_id=self.run_id, error=repr(error), exc_info=error)

    async def _keep(self) -> None:
        """Subscribe and ask until nobody watches or the run has ended; again for who came while that was settled."""
        subject = subjects.live(self.run_id, CHANNEL)
        while True:
            subscription: Subscription = await self._bus.subscribe(subject, self._on_frame)
            try:
                await self._repeat()
            finally:
                await subscription.cancel()
            if not self._viewers:
                self._on_idle(self)
                return
            if not self._changed.is_set():
                return

    async def _repeat(self) -> None:
        """Ask for frames until nobody watches or the run has ended."""
        while True:
            self._changed.clear()
            wanted = self._merged()
            problem = await self._ask(wanted)
            if not wanted and not self._viewers:
                return
            self._tell(problem, {each.env for each in wanted})
            if problem is not None and problem.code in _FINAL and not self._changed.is_set():
                return
            await asyncio.sleep(_LEAST_PAUSE_S)
            await wait_up_to(self._changed, LEASE_S / 2 if problem is None else RETRY_S)

    def _merged(self) -> list[WatchedEnv]:
        """What all viewers want together."""
        merged: dict[int, WatchedEnv] = {}
        for viewer in self._viewers.values():
            for env, wanted in viewer.wanted.items():
                known = merged.setdefault(env, WatchedEnv(env=env, fps=wanted.fps))
                known.fps = max(known.fps, wanted.fps)
                known.smooth = known.smooth or wanted.smooth
        return [merged[env] for env in sorted(merged)]

    async def _ask(self, envs: list[WatchedEnv]) -> Problem | None:
        """Ask the run for these frames. Return why it does not send them; None: it has promised them."""
        data = FramesWanted(envs=envs).model_dump(mode="json")
        request = ControlRequest(op="frames", ttl_s=LEASE_S, data=data)
        try:
            message = await ask_run(self._bus, self._scheduler, self.run_id, request, ASK_TIMEOUT_S)
        except ProblemError as error:
            return error.problem
        return problem_of(self.run_id, message.data)

    def _tell(self, problem: Problem | None, asked: set[int]) -> None:
        """Send the answer to those who do not know it. Those who came since are answered by the next one."""
        for client, viewer in self._viewers.items():
            concerned = viewer.wanted.keys() & asked
            if not concerned:
                continue
            if problem is None:
                for env in sorted(concerned - viewer.promised):
                    client.mailbox.note(FramesAsked(run_id=self.run_id, env=env))
                viewer.promised |= concerned
                viewer.problem = None
            elif viewer.problem != (problem.code, problem.detail):
                viewer.problem = (problem.code, problem.detail)
                viewer.promised.clear()
                client.mailbox.note(FramesProblem(run_id=self.run_id, problem=problem))

    async def _on_frame(self, message: Msg) -> None:
        frame = message.data
        try:
            head = decode_head(frame) if len(frame) <= MAX_FRAME_BYTES else None
        except ValueError:
            head = None
        if head is None or head.run_id != self.run_id:
            # A run may publish on its own subject only; the rest of the frame it could make up.
            FRAMES.labels("invalid").inc()
            return
        for client in self._viewers:
            client.mailbox.put((self.run_id, head.env), frame)
