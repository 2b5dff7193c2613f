"""The shipper's end of the local channel: passes on what viewers ask for, and the frames that come (ADR 0015)."""

import asyncio
import json
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path

from mosaic_contracts.frames import (
    LEASE_S,
    MAX_FRAME_BYTES,
    MAX_PAGE_BYTES,
    EpisodeFrames,
    WatchedEnv,
    decode_head,
)
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_contracts.play import InputsTaken, PlayInput
from mosaic_workerkit.control import short_name
from mosaic_workerkit.shipper.log import log_event

SHOW_S = 15.0
"""Seconds that a page of frames may take."""
ACT_S = 5.0
"""Seconds in which the worker takes an input. A busy machine needs more than one; nobody acts on an earlier refusal."""
_PACKET_BYTES = MAX_FRAME_BYTES + 1024
_Publish = Callable[[bytes], Awaitable[None]]


class NoFrames(RuntimeError):
    """The run's worker sends no frames; the message says why."""


class WorkerGone(NoFrames):
    """The worker sent frames or took inputs before, and has closed its environment."""


class FrameRelay:
    """Connects to the worker while somebody watches.

    Args:
        run_dir: the run's folder.
    """

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / FRAMES_SOCKET
        self._publish: _Publish | None = None
        """Sends a live frame to the broker; None while there is no connection."""
        self._peer: socket.socket | None = None
        self._reading: asyncio.Task[None] | None = None
        self._lease: asyncio.TimerHandle | None = None
        self._send_lock = asyncio.Lock()
        """One request at a time may connect."""
        self._show_lock = asyncio.Lock()
        self._shown: list[bytes] = []
        self._answer: asyncio.Future[dict[str, object]] | None = None
        self._number = 0
        self._acts: dict[int, asyncio.Future[InputsTaken]] = {}
        self._act_number = 0
        self._was_connected = False

    def publish_with(self, publish: _Publish | None) -> None:
        """Send live frames by `publish` from now on."""
        self._publish = publish

    async def watch(self, envs: Sequence[WatchedEnv], lease_s: float) -> None:
        """Ask the worker for live frames; without another call it is asked for none after `lease_s`.

        Raises:
            NoFrames: the worker does not listen.
        """
        if self._lease is not None:
            self._lease.cancel()
            self._lease = None
        if not envs:
            self._leave()
            return
        await self._send({"op": "watch", "envs": [each.model_dump() for each in envs]})
        self._lease = asyncio.get_running_loop().call_later(lease_s, self._leave)

    async def show(self, first: int, last: int, every: int) -> EpisodeFrames:
        """Return drawn steps of a replay.

        Raises:
            NoFrames: the worker does not listen, or did not answer in time.
        """
        async with self._show_lock:
            self._shown, self._number = [], self._number + 1
            self._answer = asyncio.get_running_loop().create_future()
            request = {"op": "show", "id": self._number, "first": first, "last": last}
            try:
                await self._send({**request, "every": every})
                said = await asyncio.wait_for(self._answer, SHOW_S)
            except (asyncio.TimeoutError, TimeoutError) as error:
                raise NoFrames(f"Its worker drew nothing within {SHOW_S:g} s.") from error
            finally:
                self._answer = None
            frames, self._shown = self._shown, []
        next_step, last_step = said.get("next"), said.get("last")
        return EpisodeFrames(
            frames,
            next_step if isinstance(next_step, int) else None,
            last_step if isinstance(last_step, int) else 0,
        )

    async def act(self, inputs: Sequence[PlayInput]) -> InputsTaken:
        """Give the inputs of a person to the worker; return which of them it refused.

        Raises:
            WorkerGone: the worker takes none any more. Frames that it sent before were published.
            NoFrames: the worker does not listen, or did not answer in time.
        """
        self._act_number = number = self._act_number + 1
        answer: asyncio.Future[InputsTaken] = asyncio.get_running_loop().create_future()
        self._acts[number] = answer
        listed = [each.model_dump(mode="json", exclude_defaults=True) for each in inputs]
        try:
            await self._send({"op": "act", "id": number, "inputs": listed})
            if self._lease is None:  # nobody watches: keys that nobody repeats are released
                self._lease = asyncio.get_running_loop().call_later(LEASE_S, self._leave)
            return await asyncio.wait_for(answer, ACT_S)
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise NoFrames(f"Its worker took no input within {ACT_S:g} s.") from error
        finally:
            del self._acts[number]
            if answer.done() and not answer.cancelled():
                answer.exception()  # marks it as seen where the request itself failed

    def close(self) -> None:
        """Leave the worker."""
        self._leave()

    async def _send(self, request: dict[str, object]) -> None:
        async with self._send_lock:
            await self._send_alone(request)

    async def _send_alone(self, request: dict[str, object]) -> None:
        peer = self._peer or await self._connect()
        try:
            await asyncio.get_running_loop().sock_sendall(peer, json.dumps(request).encode())
        except ConnectionError:
            await self._read_rest()
            peer = await self._connect()  # there may be another worker
            try:
                await asyncio.get_running_loop().sock_sendall(peer, json.dumps(request).encode())
            except OSError as error:
                self._leave()
                raise WorkerGone(f"Its worker went away ({error.strerror}).") from error
        except OSError as error:
            raise NoFrames(f"Its worker cannot be asked ({error.strerror}).") from error

    async def _read_rest(self) -> None:
        """Read and publish what the worker sent before it went away."""
        if self._reading is not None:
            await asyncio.wait([self._reading])

    async def _connect(self) -> socket.socket:
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        peer.setblocking(False)
        try:
            with short_name(self._path) as name:
                await asyncio.get_running_loop().sock_connect(peer, name)
        except OSError as error:
            peer.close()
            if self._was_connected:
                raise WorkerGone("Its worker has closed its environment.") from error
            raise NoFrames(
                "Its worker has made no environment yet, or does not use mosaic_gymkit."
            ) from error
        self._peer, self._was_connected = peer, True
        self._reading = asyncio.get_running_loop().create_task(self._read(peer))
        return peer

    def _leave(self) -> None:
        if self._lease is not None:
            self._lease.cancel()
            self._lease = None
        peer, self._peer = self._peer, None
        reading, self._reading = self._reading, None
        if reading is not None:
            reading.cancel()
        if peer is not None:
            peer.close()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(WorkerGone("Its worker went away."))
        for answer in self._acts.values():
            if not answer.done():
                answer.set_exception(WorkerGone("Its worker went away."))

    async def _read(self, peer: socket.socket) -> None:
        while self._peer is peer:
            try:
                packets = await _next_packets(peer)
            except OSError:
                packets = [b""]
            packets = [packet for packet in packets if not self._take_acted(packet)]
            if not self._take_shown(packets):
                await self._pass_on(packets)
            if packets and not packets[-1]:
                self._reading = None
                self._leave()
                return

    def _take_acted(self, packet: bytes) -> bool:
        """Take a packet that answers inputs. Returns whether it is one."""
        if packet[:1] != b"{":
            return False
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(packet)
            if said["op"] == "acted":
                answer = self._acts.get(said["id"])
                if answer is not None and not answer.done():
                    answer.set_result(InputsTaken.model_validate(said))
                return True
        return False

    def _take_shown(self, packets: Sequence[bytes]) -> bool:
        """Keep the packets that answer a request for drawn steps. Returns whether one is under way."""
        answer = self._answer
        if answer is None:
            return False
        for packet in packets:
            if packet[:1] != b"{":
                if packet:
                    self._shown.append(packet)
                continue
            with suppress(ValueError):
                said = json.loads(packet)
                if said.get("id") == self._number and not answer.done():
                    answer.set_result(said)
        return True

    async def _pass_on(self, packets: Sequence[bytes]) -> None:
        """Publish the newest frame of each environment."""
        newest: dict[int, bytes] = {}
        for packet in packets:
            if packet and packet[:1] != b"{":
                try:
                    newest[decode_head(packet).env] = packet
                except ValueError as error:
                    log_event("frame.invalid", error=str(error)[:200])
        publish = self._publish
        if publish is not None:
            for packet in newest.values():
                await publish(packet)


async def _next_packets(peer: socket.socket) -> list[bytes]:
    """Wait for packets; the last one is empty where the other side has gone.

    Linux reports a reset once where the other side left requests unread. What it sent before can be read after that.
    """
    loop = asyncio.get_running_loop()
    try:
        first = await loop.sock_recv(peer, _PACKET_BYTES)
    except ConnectionResetError:
        first = await loop.sock_recv(peer, _PACKET_BYTES)
    return [first, *_waiting(peer)] if first else [first]


def _waiting(peer: socket.socket) -> list[bytes]:
    """Packets that can be read at once; the last one is empty where the other side has gone."""
    packets: list[bytes] = []
    size = 0
    while size < MAX_PAGE_BYTES:
        try:
            packets.append(peer.recv(_PACKET_BYTES))
        except BlockingIOError:
            break
        except ConnectionResetError:
            continue  # reported once; see `_next_packets`
        if not packets[-1]:
            break
        size += len(packets[-1])
    return packets
