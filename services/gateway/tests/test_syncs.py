"""Syncs: what the gateway sends of a run to the worker that sends it to W&B, and what is known of a run's upload."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from mosaic_contracts import wire
from mosaic_contracts.services import SyncOrder
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import FEED_FILE_PATH, FEED_PATH, WANDB_DIR
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_store.testing import RUN_ID, Message, messages

pytestmark = pytest.mark.broker
NEW_RUN = "01JGXSBMTTED00000000000000"
PAGE_URL = "https://wandb.ai/a/b/runs/c"


class WorkerStandIn:
    """Takes pages and files as a sync's worker does."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {"cursor": "", "files": {}, "is_complete": False}
        self.pages: list[dict[str, Any]] = []
        self.files: dict[str, bytes] = {}
        self.is_complete = asyncio.Event()
        self.breaks_off_after = 10**9
        """Number of pages after which it answers nothing for one request."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request."""
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, target, _ = head.split(" ", 2)
        lines = [line.partition(": ") for line in head.split("\r\n")[1:]]
        fields = {name.lower(): value for name, _, value in lines}
        body = await reader.readexactly(int(fields.get("content-length") or 0))
        if len(self.pages) < self.breaks_off_after:
            answer = json.dumps(self._take(method, target, body)).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)
        else:
            self.breaks_off_after = 10**9
        writer.close()

    def _take(self, method: str, target: str, body: bytes) -> dict[str, Any]:
        parts = urlsplit(target)
        if method == "PUT":
            assert parts.path == FEED_FILE_PATH
            (path,) = parse_qs(parts.query)["path"]
            self.files[path] = body
            self.state["files"][path] = len(body)
        elif method == "POST":
            assert parts.path == FEED_PATH
            page = json.loads(body)
            if page["cursor"] == self.state["cursor"]:
                self.pages.append(page)
                self.state["cursor"] = page["next_cursor"]
                if page["is_last"]:
                    self.state["is_complete"] = True
                    self.is_complete.set()
        return self.state


@asynccontextmanager
async def worker(gateway: Any, peers: Any) -> AsyncIterator[WorkerStandIn]:
    """The socket of a sync's worker, which ends when it is left."""
    folder = gateway.home / "runs" / NEW_RUN / "control"
    folder.mkdir(parents=True, exist_ok=True)
    stand_in = WorkerStandIn()
    server = await asyncio.start_unix_server(stand_in.serve, folder / "sync.sock")
    async with server:
        yield stand_in
    (folder / "sync.sock").unlink()
    ended = {"state": RunState.SUCCEEDED}
    await peers.change(peers.records[NEW_RUN].model_copy(update=ended))


async def ended(peers: Any, record: Any) -> None:
    """A run in the store that has ended."""
    peers.records[RUN_ID] = record(RUN_ID, "succeeded")
    await peers.commit(list(messages(301, 100)))


async def fed(gateway: Any, peers: Any, way: str = "store") -> None:
    """Start a sync; its record says that it runs."""
    reply = await gateway.ask("POST", f"/runs/{RUN_ID}/syncs", json={"project": way})
    assert reply.status_code == 201, reply.text
    await peers.change(peers.records[NEW_RUN])


async def test_a_sync_gets_every_event_once(gateway: Any, peers: Any, record: Any) -> None:
    """In pages, in order, also where its worker did not answer one; with the last one what W&B is to show."""
    await ended(peers, record)
    async with worker(gateway, peers) as stand_in:
        stand_in.breaks_off_after = 1
        await fed(gateway, peers)
        await asyncio.wait_for(stand_in.is_complete.wait(), 60)
    events = [event for page in stand_in.pages for event in page["events"]]
    keys = [(event["attempt"], event["source"], event["seq"]) for event in events]
    assert (len(keys), len(set(keys))) == (16, 16)
    assert {event["type"] for event in events} == {"config", "metric"}
    about = stand_in.pages[-1]["about"]
    assert (about["kind"], about["state"], about["worker"]) == ("train", "succeeded", "cleanrl")
    (order,) = [one for one in peers.asked if isinstance(one, SyncOrder)]
    assert (order.run_id, order.dry_run) == (RUN_ID, False)


async def test_a_wandb_folder_is_sent_without_what_links_lead_to(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Regular files of folders with a `.wandb` file; no logs, no links, nothing of other folders."""
    await ended(peers, record)
    root = gateway.home / "runs" / RUN_ID / WANDB_DIR
    folder = root / "offline-run-1-abc"
    for path in ("run-abc.wandb", "files/media/v.mp4", "logs/debug.log"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(path.encode())
    (root / "other").mkdir()
    (root / "other" / "x").write_text("x")
    (root / "latest-run").symlink_to(folder)
    (folder / "files" / "key").symlink_to("/etc/hostname")
    async with worker(gateway, peers) as stand_in:
        await fed(gateway, peers, "folder")
        await asyncio.wait_for(stand_in.is_complete.wait(), 60)
    names = ("run-abc.wandb", "files/media/v.mp4")
    assert stand_in.files == {f"{WANDB_DIR}/{folder.name}/{name}": name.encode() for name in names}
    assert stand_in.pages[0]["events"] == []


async def test_a_run_that_is_at_wandb_is_sent_again_only_on_request(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Its page and its upload's state are those that were reported last."""
    await ended(peers, record)
    before = (await gateway.get(f"/runs/{RUN_ID}/syncs")).json()
    assert (before["tracked"], before["upload"], before["syncs"]) == (None, None, [])
    plan = await gateway.ask("POST", f"/runs/{RUN_ID}/syncs/check", json={})
    assert (plan.status_code, plan.json()["way"]) == (200, "store")
    await peers.commit([_reports()])
    found = (await gateway.get(f"/runs/{RUN_ID}/syncs")).json()
    assert (found["tracked"]["url"], found["upload"]["state"]) == (PAGE_URL, "uploaded")
    refused = await gateway.ask("POST", f"/runs/{RUN_ID}/syncs", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "sync_impossible")
    assert PAGE_URL in refused.json()["detail"]
    again = await gateway.ask("POST", f"/runs/{RUN_ID}/syncs", json={"again": True})
    assert again.status_code == 201
    peers.records[NEW_RUN] = peers.records[NEW_RUN].model_copy(update={"state": RunState.SUCCEEDED})
    listed = (await gateway.get(f"/runs/{RUN_ID}/syncs")).json()["syncs"]
    assert [view["run_id"] for view in listed] == [NEW_RUN]


def _reports() -> Message:
    """As the scheduler records after a sync: two events of the supervisor."""
    run = {"tracker": "wandb", "mode": "offline", "url": PAGE_URL}
    upload = {"tracker": "wandb", "state": "uploaded"}
    records = (
        wire.Extra(seq=1, dt=0, type=TRACKING_RUN, data=run),
        wire.Extra(seq=2, dt=1, type=TRACKING_UPLOAD, data=upload),
    )
    head = wire.BatchHead(RUN_ID, 1, wire.SOURCE_SUPERVISOR, 1, len(records))
    body = b"".join(wire.encode_record(record) for record in records)
    return Message(head, wire.join_batch(head, 10**15, body), wire.ENCODING_IDENTITY)
