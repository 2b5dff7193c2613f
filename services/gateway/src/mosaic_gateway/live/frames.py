"""Live frames of environments: who watches what, over all clients."""

import asyncio

from mosaic_contracts.frames import MAX_WATCHED_ENVS, WatchFrames
from mosaic_contracts.play import Act
from mosaic_contracts.runs import RunRecord
from mosaic_gateway.live.acting import InputSender
from mosaic_gateway.live.frame_client import FrameClient
from mosaic_gateway.live.frame_lease import FrameLease
from mosaic_gateway.live.socket_client import OpenClients
from mosaic_gateway.problem_reply import request_invalid
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_servicekit.bus import Bus

MAX_ALL_ENVS = 64
"""Sub-environments that all clients together watch at most; each costs its run the drawing."""
END_S = 1.0


class FrameHub:
    """One per process."""

    def __init__(self, bus: Bus, scheduler: SchedulerClient) -> None:
        self._bus = bus
        self._scheduler = scheduler
        self._clients = OpenClients[FrameClient]()
        self._leases: dict[str, FrameLease] = {}
        self._senders: dict[FrameClient, dict[str, InputSender]] = {}

    @property
    def client_count(self) -> int:
        """Connections of this moment."""
        return len(self._clients)

    async def serve(self, client: FrameClient) -> None:
        """The life of one connection."""
        try:
            await self._clients.serve(client)
        finally:
            for lease in list(self._leases.values()):
                lease.leave(client)
            senders = self._senders.pop(client, {})
            await asyncio.gather(*(sender.release() for sender in senders.values()))

    async def close(self) -> None:
        """Close all connections, and end the requests for frames at all runs."""
        await self._clients.close()
        for lease in list(self._leases.values()):
            await lease.end(END_S)

    def watch(self, client: FrameClient, wanted: WatchFrames) -> None:
        """Send frames of one sub-environment to `client`. Raises ProblemError: it watches too many."""
        is_new = (wanted.run_id, wanted.env) not in client.mailbox
        if is_new and len(client.mailbox) >= MAX_WATCHED_ENVS:
            raise request_invalid(
                f"One connection watches at most {MAX_WATCHED_ENVS} sub-environments. Send `unwatch` for a run first."
            )
        lease = self._leases.get(wanted.run_id)
        is_first = lease is None or wanted.env not in lease.envs
        if is_first and sum(len(one.envs) for one in self._leases.values()) >= MAX_ALL_ENVS:
            raise request_invalid(
                f"All clients together watch at most {MAX_ALL_ENVS} sub-environments. Close another view first."
            )
        if lease is None:
            lease = FrameLease(wanted.run_id, self._bus, self._scheduler, self._forget)
            self._leases[wanted.run_id] = lease
        lease.watch(client, wanted)

    def unwatch(self, client: FrameClient, run_id: str) -> None:
        """Send no more frames of this run to `client`."""
        lease = self._leases.get(run_id)
        if lease is not None:
            lease.leave(client)

    def act(self, client: FrameClient, act: Act) -> None:
        """Send an input of the person at `client` to a run. Raises ProblemError: too many wait."""
        senders = self._senders.setdefault(client, {})
        sender = senders.get(act.run_id)
        if sender is None:
            if len(senders) >= MAX_WATCHED_ENVS:
                raise request_invalid(f"One connection acts in at most {MAX_WATCHED_ENVS} runs.")
            reply = client.mailbox.note
            sender = InputSender(client.player, act.run_id, self._bus, self._scheduler, reply)
            senders[act.run_id] = sender
        sender.add(act)

    def see(self, record: RunRecord) -> None:
        """Take a record that the scheduler announced: a run that starts or ends is asked at once."""
        lease = self._leases.get(record.run_id)
        if lease is not None:
            lease.see(record.state)

    def _forget(self, lease: FrameLease) -> None:
        self._leases.pop(lease.run_id, None)
