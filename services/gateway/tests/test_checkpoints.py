"""Checkpoints of all runs over a real gateway process."""

import asyncio
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.run_records import make_record

from mosaic_contracts.checkpoints import CheckpointPage, CheckpointRow
from mosaic_contracts.evaluations import EVALUATION_RESULT
from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    ArtifactPruned,
    BatchHead,
    Checkpoint,
    Config,
    Extra,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store.testing import Message

pytestmark = pytest.mark.broker
OLD, NEW, OTHER, GONE = (f"01JGXSYNTHET1CRVN00000000{n}" for n in range(4))
SPACES = {"action": {"kind": "discrete", "n": 2}}
CONFIG = {"spaces": SPACES, "packages": {"torch": "2"}, "seed": 1}


def batch(run_id: str, *records: Record) -> Message:
    """One batch of a run's worker."""
    head = BatchHead(run_id, 1, "worker", 1, len(records))
    raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in records))
    return Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)


def saved(seq: int, path: str, step: int, mean: Any = None, size: int = 3, **more: Any) -> Record:
    """A checkpoint that its run announced."""
    data = {"mean_return_20": mean, "mean_return_episodes": 20, **more}
    return Checkpoint(seq, seq * 10**6, path, step, f"hash of {path}", size, "periodic", data)


def write_files(folder: Path) -> None:
    """Files of the first run: one as it was announced, one of another size."""
    folder.mkdir(parents=True)
    (folder / "best.pt").write_bytes(b"abc")
    (folder / "final.pt").write_bytes(b"longer than it was")


async def fill(gateway: Any, peers: Any) -> None:
    """Two runs of one kind, one of another environment, an archived one, and an evaluation."""
    peers.records = {
        OLD: make_record(OLD, "succeeded", name="first"),
        NEW: make_record(NEW, "running", image="sha256:abc", worker_lock="def"),
        OTHER: make_record(OTHER, spec={"worker": "spade", "algorithm": "bdi_q", "environment": "Taxi-v3"}),
        GONE: make_record(GONE, "succeeded", deleted_at="2026-01-01T00:00:00Z"),
    }  # fmt: skip
    await peers.commit(
        [
            batch(
                OLD,
                Config(1, 0, CONFIG),
                saved(2, "checkpoints/best.pt", 100, 9.0, normalizer=True),
                saved(3, "checkpoints/final.pt", 200, 5.0),
                saved(4, "checkpoints/pruned.pt", 50, 99.0),
                ArtifactPruned(5, 0, "checkpoints/pruned.pt", "quota"),
            )
        ]
    )
    await peers.commit([batch(NEW, Config(1, 0, {"spaces": 7}), saved(2, "a.pt", 10, "no number"))])
    await peers.commit([batch(OTHER, Config(1, 0, {}), saved(2, "b.npz", 10, None))])
    await peers.commit([batch(GONE, Config(1, 0, {}), saved(2, "c.pt", 10, 1.0))])
    result = {"checkpoint_sha256": "hash of a.pt", "mean": 7.5, "returns": [7, 8]}
    await peers.commit(
        [batch("01JGXSYNTHET1CRVN000000009", Extra(1, 0, EVALUATION_RESULT, result))]
    )
    write_files(gateway.home / "runs" / OLD / "checkpoints")


async def listed(gateway: Any, **query: Any) -> list[CheckpointRow]:
    """Checkpoints of all pages."""
    found: list[CheckpointRow] = []
    while True:
        reply = await gateway.get("/checkpoints", params=query)
        assert reply.status_code == 200, reply.text
        page = CheckpointPage.model_validate_json(reply.content)
        found += page.checkpoints
        if page.next_cursor is None:
            return found
        query["cursor"] = page.next_cursor


async def test_the_list_has_what_is_known_of_each_file(gateway: Any, peers: Any) -> None:
    """Facts of events, of the run and of the disk are merged; what nobody recorded is unknown and not guessed."""
    await fill(gateway, peers)
    rows = {row.path.rpartition("/")[2]: row for row in await listed(gateway)}
    assert {name: (row.state.value, [mark.value for mark in row.marks]) for name, row in rows.items()} == {
        "best.pt": ("present", ["best"]),
        "final.pt": ("altered", ["newest"]),
        "pruned.pt": ("pruned", []),
        "a.pt": ("missing", []),
        "b.npz": ("missing", ["newest"]),
    }  # fmt: skip
    best, bare = rows["best.pt"], rows["a.pt"]
    assert (best.worker, best.algorithm, best.environment, best.run_name) == (
        *("cleanrl", "ppo", "CartPole-v1", "first"),
    )
    assert (best.environment_version, best.step, best.mean_return_20) == (1, 100, 9.0)
    assert (best.normalizer, best.spaces, best.packages) == (True, SPACES, {"torch": "2"})
    assert (bare.mean_return_20, bare.normalizer, bare.spaces) == (None, None, None)
    assert (bare.image, bare.worker_lock) == ("sha256:abc", "def")
    assert bare.evaluation is not None
    assert (bare.evaluation.mean, bare.evaluation.episodes, bare.value) == (7.5, 2, 7.5)


@pytest.mark.parametrize("limit", [1, 100])
async def test_filters_and_orders(gateway: Any, peers: Any, limit: int) -> None:
    """Pages of any size give each checkpoint once; those without a value come last; marks are of all, not of a page."""
    await fill(gateway, peers)

    async def names(**query: Any) -> list[str]:
        return [row.path.rpartition("/")[2] for row in await listed(gateway, limit=limit, **query)]

    assert await names(sort="return") == ["pruned.pt", "best.pt", "a.pt", "final.pt", "b.npz"]
    assert await names(sort="step", order="asc", environment="CartPole-v1") == [
        *("a.pt", "pruned.pt", "best.pt", "final.pt"),
    ]
    assert await names(run=NEW) == ["a.pt"]
    assert await names(text="first", algorithm=["ppo", "dqn"], sort="date") == [
        *("pruned.pt", "final.pt", "best.pt"),
    ]
    assert await names(worker="spade") == ["b.npz"]
    reply = await gateway.get("/checkpoints", params={"cursor": "bm9uZQ", "sort": "step"})
    assert reply.json()["code"] == "cursor_invalid"


async def test_verify_compares_the_content(gateway: Any, peers: Any) -> None:
    """A file of the right size with other bytes is altered; one whose hash is as recorded is present."""
    await fill(gateway, peers)
    reply = await gateway.ask("POST", f"/runs/{OLD}/checkpoints/verify")
    states = {row["path"]: row["state"] for row in reply.json()}
    assert states == {
        "checkpoints/best.pt": "altered",
        "checkpoints/final.pt": "altered",
        "checkpoints/pruned.pt": "pruned",
    }
    digest = hashlib.sha256(b"abc").hexdigest()
    announced = Checkpoint(6, 9, "checkpoints/best.pt", 100, digest, 3, "best")
    head = BatchHead(OLD, 1, "worker", 6, 1)
    raw = join_batch(head, 10**15, encode_record(announced))
    await peers.commit([Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)])
    query = {"path": "checkpoints/best.pt"}
    reply = await gateway.ask("POST", f"/runs/{OLD}/checkpoints/verify", params=query)
    assert [row["state"] for row in reply.json()] == ["present"]
    reply = await gateway.ask("POST", f"/runs/{OLD}/checkpoints/verify", params={"path": "none.pt"})
    assert reply.json()["code"] == "artifact_unknown"


def left_in(gateway: Any) -> list[Path]:
    """Files that the gateway keeps of uploads."""
    folder = gateway.home / "uploads"
    return list(folder.iterdir()) if folder.exists() else []


BYTES = {"Content-Type": "application/octet-stream"}


async def test_an_upload_is_hashed_and_handed_to_the_scheduler(gateway: Any, peers: Any) -> None:
    """The scheduler gets name, size, SHA-256 and what was asked; nothing of the file stays; a key is answered once."""
    content = bytes(range(256)) * 9000
    query = {"file": "a b.pt", "algorithm": "dqn", "tag": ["x", "y"]}
    keyed = {**BYTES, "Idempotency-Key": "k"}
    replies = [
        await gateway.ask("POST", "/checkpoints", params=query, content=content, headers=keyed)
        for _ in range(2)
    ]
    assert [reply.status_code for reply in replies] == [201, 200]
    order = peers.asked[-1]
    assert (order.sha256, order.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    assert order.asked == {"file": "a b.pt", "algorithm": "dqn", "tag": ["x", "y"]}
    assert left_in(gateway) == []


@pytest.mark.parametrize(
    ("code", "content", "headers"),
    [
        ("checkpoint_refused", b"", BYTES),
        ("media_type_refused", b"abc", {"Content-Type": "text/plain"}),
        ("media_type_refused", b"abc", {**BYTES, "Content-Encoding": "gzip"}),
    ],
)
async def test_what_is_no_file_to_import_is_refused(
    gateway: Any, peers: Any, code: str, content: bytes, headers: dict[str, str]
) -> None:
    """An empty body, and one of another type: the scheduler is not asked."""
    reply = await gateway.ask(
        "POST", "/checkpoints", params={"file": "a.pt"}, content=content, headers=headers
    )
    assert reply.json()["code"] == code, reply.text
    assert peers.asked == []
    assert left_in(gateway) == []


async def test_a_file_name_with_a_folder_is_refused(gateway: Any, peers: Any) -> None:
    """Names go into messages and paths."""
    for name in ("../a.pt", "a\0b", "", "a" * 300):
        reply = await gateway.ask(
            "POST", "/checkpoints", params={"file": name}, content=b"abc", headers=BYTES
        )
        assert (reply.status_code, reply.json()["code"]) == (422, "request_invalid"), name
    assert peers.asked == []


async def eventually(holds: Callable[[], bool]) -> None:
    """Wait until files are as they should be; a folder has no event to wait for."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def upload(gateway: Any, length: int, content: bytes) -> tuple[Any, Any]:
    """A connection on which an upload of this length has begun."""
    reader, writer = await asyncio.open_connection("127.0.0.1", gateway.port)
    head = (
        "POST /api/v1/checkpoints?file=a.pt HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {gateway.token}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {length}\r\n\r\n"
    )
    writer.write(head.encode() + content)
    await writer.drain()
    return reader, writer


async def test_a_file_of_five_gigabytes_is_refused_by_its_length(gateway: Any, peers: Any) -> None:
    """The answer comes before the file does, and says how large a checkpoint may be."""
    reader, writer = await upload(gateway, 5 * 2**30, b"abc")
    async with asyncio.timeout(60):
        answer = await reader.readuntil(b"}")
    writer.close()
    assert b" 413 " in answer.split(b"\r\n")[0]
    assert b"A checkpoint has at most 2 GiB" in answer
    assert (peers.asked, left_in(gateway)) == ([], [])


async def test_a_broken_upload_leaves_nothing(gateway: Any, peers: Any) -> None:
    """A client that goes in the middle; and what a killed gateway was receiving goes when the next one starts."""
    for ends in ("client", "gateway"):
        _, writer = await upload(gateway, 9_000_000, bytes(3_000_000))
        await eventually(lambda: bool(left_in(gateway)))
        if ends == "gateway":
            await asyncio.to_thread(gateway.stop, 9)
            assert left_in(gateway)
            await asyncio.to_thread(gateway.start)
        writer.close()
        await eventually(lambda: not left_in(gateway))
    assert peers.asked == []


async def test_a_restarted_scheduler_ends_the_wait(gateway: Any, peers: Any) -> None:
    """A slow request whose scheduler is gone is answered long before its time limit."""
    peers.may_import.clear()
    try:
        sent = {"params": {"file": "a.pt"}, "content": b"abc", "headers": BYTES}
        asking = asyncio.create_task(gateway.ask("POST", "/checkpoints", **sent))
        await asyncio.wait_for(peers.importing.wait(), 60)
        peers.started_at += timedelta(seconds=1)
        reply = await asking
    finally:
        peers.may_import.set()
    assert (reply.status_code, reply.json()["code"]) == (503, "service_unavailable")
    assert "restarted" in reply.json()["title"]
    assert "mosaic ps" in reply.json()["detail"]
    assert not left_in(gateway)


async def test_an_export_has_the_file_and_its_facts(gateway: Any, peers: Any) -> None:
    """A zip that begins with the facts and is not compressed; an altered file is not exported."""
    await fill(gateway, peers)
    query = {"path": "checkpoints/best.pt"}
    reply = await gateway.get(f"/runs/{OLD}/checkpoints/export", params=query)
    assert reply.json()["code"] == "checkpoint_refused"
    digest = hashlib.sha256(b"abc").hexdigest()
    facts = {"mean_return_20": 9.0, "mean_return_episodes": 20, "normalizer": True}
    announced = Checkpoint(6, 9, "checkpoints/best.pt", 100, digest, 3, "best", facts)
    head = BatchHead(OLD, 1, "worker", 6, 1)
    raw = join_batch(head, 10**15, encode_record(announced))
    await peers.commit([Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)])
    for path in ("checkpoints/best.pt", "best"):
        reply = await gateway.get(f"/runs/{OLD}/checkpoints/export", params={"path": path})
        assert reply.status_code == 200, reply.text
        archive = zipfile.ZipFile(io.BytesIO(reply.content))
        assert archive.namelist() == ["mosaic-checkpoint.json", "best.pt"]
        assert archive.read("best.pt") == b"abc"
        known = json.loads(archive.read("mosaic-checkpoint.json"))
        row = known["checkpoint"]
        assert (row["sha256"], row["mean_return_20"], row["spaces"]) == (digest, 9.0, SPACES)
        assert (known["version"], known["seed"]) == (1, 1)
    reply = await gateway.get(f"/runs/{OLD}/checkpoints/export", params={"path": "none.pt"})
    assert reply.json()["code"] == "artifact_unknown"
