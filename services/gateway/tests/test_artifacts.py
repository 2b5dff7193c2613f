"""Files of a run over a real gateway process: exact names, ranges, and no way out of the run folder."""

import asyncio
import fcntl
import os
import re
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest
from tests.run_records import make_record

from mosaic_base.file_tree import list_files
from mosaic_contracts.problems import ProblemError
from mosaic_gateway.files.artifacts import open_file
from mosaic_gateway.files.byte_range import RangeRefused, parse_range
from mosaic_store.testing import RUN_ID

pytestmark = pytest.mark.broker
NAMES = [
    "каталог-é-🙂.mp4", 'a "b" ;c.txt', "a%2fb.bin", "plain.html", "x?y#z", "100%", "back\\slash", "new\nline",
    "tab\there", "\x7f\x01", " lead and trail ", "..hidden", "...", "~", "a&b=c+d", "é" * 127, "🙂" * 63, "-rf",
    "\u202eright", "\ufffd", "C:", "%00",
]  # fmt: skip


def run_folder(gateway: Any) -> Path:
    """The folder of the run, made."""
    folder: Path = gateway.home / "runs" / RUN_ID
    folder.mkdir(parents=True)
    return folder


def saved_name(disposition: str) -> str:
    """The name under which a client saves an attachment."""
    exact = re.search(r"filename\*=UTF-8''([A-Za-z0-9%._~-]+)$", disposition)
    if exact:
        return unquote(exact[1], errors="strict")
    plain = re.fullmatch(r'attachment; filename="([^"\\]*)"', disposition)
    assert plain, disposition
    return plain[1]


async def test_any_name_is_served_exactly(gateway: Any, peers: Any) -> None:
    """A file of any name that the disk can hold is downloaded under that name, whole, and never sniffed."""
    folder = run_folder(gateway) / "videos"
    folder.mkdir()
    for number, name in enumerate(NAMES):
        (folder / name).write_bytes(b"content %d" % number)
    for number, name in enumerate(NAMES):
        reply = await gateway.get(f"/runs/{RUN_ID}/artifacts/videos/{quote(name, safe='')}")
        assert (reply.status_code, reply.content) == (200, b"content %d" % number), name
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert saved_name(reply.headers["content-disposition"]) == name


async def test_clips_of_an_ended_run_are_listed(gateway: Any, peers: Any) -> None:
    """A killed worker announces nothing: clips that play are found by their names, others and links are not."""
    named = "env-0-episode-00000200"
    folder = run_folder(gateway) / "videos"
    folder.mkdir()
    playable = b"....ftyp....moov....moof" + bytes(100)
    for name in ("env-0-episode-00000100.mp4", f"{named}-step-000000004096.mp4", "else.mp4"):
        (folder / name).write_bytes(playable)
    (folder / "env-0-episode-00000300.mp4").write_bytes(b"....ftyp....moov")
    (folder / "env-0-episode-00000400.mp4").symlink_to(folder / "else.mp4")
    peers.records[RUN_ID] = make_record(RUN_ID, state="running")
    assert (await gateway.get(f"/runs/{RUN_ID}/artifacts")).json() == []
    peers.records[RUN_ID] = make_record(RUN_ID, state="failed")
    listed = (await gateway.get(f"/runs/{RUN_ID}/artifacts")).json()
    assert [(row["path"], row["env"], row["episode"], row["step"]) for row in listed] == [
        ("videos/env-0-episode-00000100.mp4", 0, 100, None),  # of an older version
        (f"videos/{named}-step-000000004096.mp4", 0, 200, 4096),
    ]
    assert all(row["kind"] == "video" and row["bytes"] == len(playable) for row in listed)


@pytest.mark.parametrize(
    ("asked", "status", "content", "told"),
    [
        ("bytes=2-4", 206, b"234", "bytes 2-4/10"),
        ("bytes=0-0", 206, b"0", "bytes 0-0/10"),
        ("bytes=7-", 206, b"789", "bytes 7-9/10"),
        ("bytes=-3", 206, b"789", "bytes 7-9/10"),
        ("bytes=-99", 206, b"0123456789", "bytes 0-9/10"),
        ("bytes=8-99", 206, b"89", "bytes 8-9/10"),
        ("bytes=10-", 416, None, "bytes */10"),
        ("bytes=-0", 416, None, "bytes */10"),
        ("bytes=50-60", 416, None, "bytes */10"),
        ("bytes=4-2", 200, b"0123456789", None),
        ("bytes=0-1,3-4", 200, b"0123456789", None),
        ("lines=0-1", 200, b"0123456789", None),
        ("bytes=-", 200, b"0123456789", None),
        ("bytes=٣-٤".encode(), 200, b"0123456789", None),
        ("bytes=" + "9" * 500 + "-", 200, b"0123456789", None),
    ],
)
async def test_one_range_is_honoured(
    gateway: Any, peers: Any, asked: Any, status: int, content: bytes | None, told: str | None
) -> None:
    """A range gives its bytes, one beyond the file 416 with the size, and what is no range the whole file."""
    (run_folder(gateway) / "f.bin").write_bytes(b"0123456789")
    path = f"/runs/{RUN_ID}/artifacts/f.bin"
    reply = await gateway.get(path, headers={"Range": asked})
    assert (reply.status_code, reply.headers.get("content-range")) == (status, told)
    assert reply.headers["accept-ranges"] == "bytes"
    if content is not None:
        assert reply.content == content
        return
    assert reply.json()["code"] == "range_invalid"
    assert reply.headers["content-type"] == "application/problem+json"


async def test_an_empty_file_has_no_range(gateway: Any, peers: Any) -> None:
    """Nothing can be a range of nothing; the file itself can be had."""
    (run_folder(gateway) / "empty").touch()
    path = f"/runs/{RUN_ID}/artifacts/empty"
    assert (await gateway.get(path)).content == b""
    refused = await gateway.get(path, headers={"Range": "bytes=0-"})
    assert (refused.status_code, refused.headers["content-range"]) == (416, "bytes */0")
    with pytest.raises(RangeRefused):
        parse_range("bytes=-5", 0)


async def test_a_download_goes_on_only_in_the_same_file(gateway: Any, peers: Any) -> None:
    """With If-Range a file that changed comes whole, and with If-None-Match one that did not comes not at all."""
    file = run_folder(gateway) / "model.pt"
    file.write_bytes(b"0123456789")
    path = f"/runs/{RUN_ID}/artifacts/model.pt"
    first = await gateway.get(path)
    tag, date = first.headers["etag"], first.headers["last-modified"]
    for validator in (tag, date):
        rest = await gateway.get(path, headers={"Range": "bytes=5-", "If-Range": validator})
        assert (rest.status_code, rest.content) == (206, b"56789")
    same = await gateway.get(path, headers={"If-None-Match": f'"x", {tag}'})
    assert (same.status_code, same.content) == (304, b"")
    file.write_bytes(b"abcdefghijk")
    for validator in (tag, f"W/{tag}", "nonsense"):
        whole = await gateway.get(path, headers={"Range": "bytes=5-", "If-Range": validator})
        assert (whole.status_code, whole.content) == (200, b"abcdefghijk")
    assert (await gateway.get(path, headers={"If-None-Match": tag})).status_code == 200


async def test_head_says_what_get_would(gateway: Any, peers: Any) -> None:
    """HEAD has the headers of GET and no body, and of what is not there 404."""
    (run_folder(gateway) / "a.csv").write_bytes(b"1,2,3")
    path = f"/runs/{RUN_ID}/artifacts/a.csv"
    head, got = await gateway.ask("HEAD", path), await gateway.get(path)
    assert (head.status_code, head.content) == (200, b"")
    names = ("content-length", "content-type", "etag", "last-modified", "content-disposition")
    assert [head.headers[name] for name in names] == [got.headers[name] for name in names]
    assert (await gateway.ask("HEAD", f"{path}x")).status_code == 404


async def test_a_file_that_grows_while_it_is_sent_stays_whole(gateway: Any, peers: Any) -> None:
    """A download of a file that its writer appends to has exactly the announced bytes."""
    folder = gateway.home / "runs" / RUN_ID
    folder.mkdir(parents=True)
    file = folder / "events.out"
    file.write_bytes(b"x" * 50_000_000)
    async with gateway.async_client() as http:
        url = f"/api/v1/runs/{RUN_ID}/artifacts/events.out"
        async with http.stream("GET", url, headers=gateway.headers) as reply:
            with file.open("ab") as appended:
                appended.write(b"y" * 5_000_000)
            size = 0
            async for chunk in reply.aiter_bytes():
                size += len(chunk)
    assert size == 50_000_000


def get_as_written(gateway: Any, path: str) -> tuple[int, str]:
    """GET an artifact by a path that no client has made tidy."""
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=60)
    url = f"/api/v1/runs/{RUN_ID}/artifacts/{path}"
    connection.request("GET", url, headers=gateway.headers)
    reply = connection.getresponse()
    text = reply.read().decode()
    connection.close()
    return reply.status, text


async def test_no_path_leads_out_of_the_run_folder(gateway: Any, peers: Any) -> None:
    """Dots, encodings, absolute paths, links and the private parts give 404 without a word about what is there."""
    run = gateway.home / "runs" / RUN_ID
    for folder in ("control", "outbox/1/worker", "videos"):
        (run / folder).mkdir(parents=True)
    (run / "control" / "broker.creds").write_text("secret")
    (run / "outbox" / "1" / "worker" / "0").write_text("secret")
    secret = gateway.home / "secret.txt"
    secret.write_text("secret")
    (run / "out").symlink_to(secret)
    (run / "up").symlink_to(gateway.home)
    (run / "round").symlink_to(run / "round")
    (run / "creds").symlink_to(run / "control" / "broker.creds")
    os.mkfifo(run / "pipe")
    for path in [
        "../../secret.txt", "..%2f..%2fsecret.txt", "%2e%2e/%2e%2e/secret.txt", "videos/../../../secret.txt",
        "%2fetc%2fpasswd", "/etc/passwd", "out", "up/secret.txt", "round", "creds", "control/broker.creds",
        "./control/broker.creds", "videos/..%2fcontrol/broker.creds", "outbox/1/worker/0", "pipe", "videos",
        "", ".", "a%00b", "%ff%fe", "x" * 300, "/".join(["a"] * 500), "..\\..\\secret.txt",
        f"{run.resolve()}/control/broker.creds", "control", "videos/", "out?x=1", "control/broker.creds#x",
    ]:  # fmt: skip
        status, text = await asyncio.to_thread(get_as_written, gateway, path)
        assert status == 404, path
        assert "secret" not in text.replace("secret.txt", "")


def test_a_run_folder_that_is_a_link_is_neither_listed_nor_read(tmp_path: Path) -> None:
    """One rule for both. The folder of all runs may be a link, for example to a larger disk."""
    (tmp_path / "disk" / RUN_ID).mkdir(parents=True)
    (tmp_path / "disk" / RUN_ID / "model.pt").write_text("model")
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    folder = tmp_path / "runs" / RUN_ID
    assert [found.path for found in list_files(folder).files] == ["model.pt"]
    os.close(open_file(folder, "model.pt").fd)
    folder.rename(tmp_path / "moved")
    folder.symlink_to(tmp_path / "moved")
    with pytest.raises(OSError, match="Not a directory"):
        list_files(folder)
    with pytest.raises(ProblemError, match="no such file in this run"):
        open_file(folder, "model.pt")


async def test_a_large_download_holds_up_nobody(gateway: Any, peers: Any) -> None:
    """While a client takes a large file slowly, other requests are answered at once, and its end frees the file.

    Until then the file is locked, by which the scheduler knows that it must stay.
    """
    file = run_folder(gateway) / "big.bin"
    with file.open("wb") as made:
        made.truncate(2**31)
    async with gateway.async_client() as http:
        url = f"/api/v1/runs/{RUN_ID}/artifacts/big.bin"
        async with http.stream("GET", url, headers=gateway.headers) as reply:
            assert int(reply.headers["content-length"]) == 2**31
            chunks = reply.aiter_bytes()
            await anext(chunks)
            for _ in range(20):
                async with asyncio.timeout(1):
                    assert (await gateway.get(f"/runs/{RUN_ID}/artifacts/none")).status_code == 404
            assert str(file) in open_files(gateway.pid)
            assert is_locked(file)
    await asyncio.to_thread(wait_until_closed, gateway.pid, str(file))
    assert not is_locked(file)


def is_locked(path: Path) -> bool:
    """Whether somebody holds a lock on a file."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def wait_until_closed(pid: int, path: str) -> None:
    """Return when a process has the file open no more."""
    deadline = time.monotonic() + 60
    while path in open_files(pid):
        assert time.monotonic() < deadline, "the gateway reads on for nobody"
        time.sleep(0.02)


def open_files(pid: int) -> set[str]:
    """Paths of what a process has open."""
    paths = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            paths.add(str(link.readlink()))
        except FileNotFoundError:
            continue
    return paths
