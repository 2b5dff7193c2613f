"""Archives: all of a run in one file, and no file where something of it is missing."""

import hashlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest
import zstandard
from tests.test_export import HASH, PAGES, RUN_ID, SPACES, SUPERVISOR, WORKER, frame

from mosaic_base.sealed_zip import SealedZip
from mosaic_client import ArchiveRefused, Client, Location
from mosaic_client.archive.events import contiguous_parts
from mosaic_client.archive.writing import ArchiveProgress
from mosaic_contracts.batch_file import read_batches
from mosaic_contracts.compat import UTC
from mosaic_contracts.manifest import ManifestEntry, RunManifest
from mosaic_contracts.manifest_words import FileState, FileType
from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_contracts.runs import RunEnd, RunSummary, RunView, StoredSpec
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.stored import BatchPage, encode_page
from mosaic_contracts.wire import Batch, Config, Metric, Record, Step

NOW = datetime(2030, 1, 1, tzinfo=UTC)
FILES = {
    "checkpoints/last.pt": ("checkpoint", os.urandom(100_000)),
    "videos/0.mp4": ("video", b"pictures"),
    "logs/worker.log": ("log", b"a line\n" * 5000),
}
EVENTS = len(WORKER) + len(SUPERVISOR) + 1
"""With the one behind the end of the last page."""


def view(**changes: Any) -> RunView:
    """The run as the stack shows it."""
    found = RunView(
        run_id=RUN_ID,
        name="a run",
        spec=StoredSpec(worker="cleanrl", algorithm="ppo", environment="CartPole-v1"),
        state=RunState.SUCCEEDED,
        revision=3,
        created_at=NOW,
        end=RunEnd(cause=EndCause.COMPLETED, message="It completed."),
        run_dir=f"runs/{RUN_ID}",
        worker_lock="1" * 64,
    )
    return found.model_copy(update=changes)


def manifest() -> RunManifest:
    """All that the run has, and what of it no archive takes."""
    entries = [
        ManifestEntry(
            path=path, kind=kind, bytes=len(data), sha256=hashlib.sha256(data).hexdigest()
        )
        for path, (kind, data) in FILES.items()
    ]
    entries += [
        ManifestEntry(path="latest", kind="other", bytes=0, type=FileType.LINK),
        ManifestEntry(path="gone.pt", kind="checkpoint", bytes=9, state=FileState.PRUNED),
        ManifestEntry(path="checkpoints", kind="checkpoint", bytes=9, type=FileType.FOLDER),
        ManifestEntry(path="\\xff", kind="other", bytes=2, name_hex="ff"),
    ]
    return RunManifest(run_id=RUN_ID, entries=entries)


def stack(
    shown: RunView | None = None,
    files: Mapping[str, bytes] = MappingProxyType({}),
    pages: Sequence[BatchPage] = PAGES,
) -> Callable[[httpx.Request], httpx.Response]:
    """A stack with this run."""
    by_cursor = dict(zip(["", *(page.cursor for page in pages)], pages, strict=False))
    shown, listed = shown or view(), manifest()

    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(f"/api/v1/runs/{RUN_ID}")
        if path == "/batches":
            return httpx.Response(
                200, content=encode_page(by_cursor[request.url.params.get("cursor", "")])
            )
        if path == "/manifest":
            return httpx.Response(200, content=listed.model_dump_json())
        if path.startswith("/artifacts/"):
            name = path.removeprefix("/artifacts/")
            return httpx.Response(200, stream=httpx.ByteStream(files.get(name, FILES[name][1])))
        return httpx.Response(200, content=shown.model_dump_json())

    return answer


def client_of(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    """A client of that stack."""
    return Client(Location("http://127.0.0.1:9", "secret"), transport=httpx.MockTransport(answer))


def test_all_of_a_run_is_in_the_archive(tmp_path: Path) -> None:
    """Record, spec, events in three forms, files, and what was left out with the reason."""
    target = tmp_path / "run.mosaic.zip"
    seen: list[ArchiveProgress] = []
    with client_of(stack()) as client:
        made = client.archive([RUN_ID, RUN_ID], target, progress=seen.append)
    assert made.sha256 == hashlib.sha256(target.read_bytes()).hexdigest()
    assert list(tmp_path.iterdir()) == [target]
    (facts,) = made.runs
    assert facts.events == EVENTS
    assert {file.path for file in facts.files} == set(FILES)
    assert {file.path: file.reason for file in facts.left_out} == {
        "latest": "no regular file",
        "\\xff": "its name fits no archive",
    }
    with zipfile.ZipFile(target) as archive:
        run = f"runs/{RUN_ID}"
        for path, (_, data) in FILES.items():
            assert archive.read(f"{run}/files/{path}") == data
        assert archive.getinfo(f"{run}/files/logs/worker.log").compress_size < 10_000
        lines = zstandard.ZstdDecompressor().stream_reader(
            io.BytesIO(archive.read(f"{run}/events/events.jsonl.zst"))
        )
        assert len(lines.read().splitlines()) == EVENTS
        step = pq.read_table(io.BytesIO(archive.read(f"{run}/events/parquet/step.parquet")))
        assert step.num_rows == 2
        assert json.loads(archive.read(f"{run}/spec.json"))["algorithm"] == "ppo"
        batches = list(read_batches(io.BytesIO(archive.read(f"{run}/events/batches.bin"))))
    seqs = [
        (batch.head.source, seq)
        for batch in batches
        for seq in range(batch.head.seq0, batch.head.seq0 + batch.head.n)
    ]
    assert len(set(seqs)) == len(seqs) == EVENTS
    assert {progress.phase.value for progress in seen} == {
        *("events", "files", "verify"),
    }


def test_kinds_and_forms_can_be_left_out(tmp_path: Path) -> None:
    """They are named in the archive; the events as they were stay, for an import reads these."""
    target = tmp_path / "a.zip"
    with client_of(stack()) as client:
        made = client.archive([RUN_ID], target, without=["video", "jsonl", "parquet"])
    assert [f.path for f in made.runs[0].left_out if f.reason == "not wanted"] == ["videos/0.mp4"]
    with SealedZip(target) as archive:
        assert not any(".parquet" in name or ".jsonl" in name for name in archive.sums)
        assert any(name.endswith("events/batches.bin") for name in archive.sums)


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("Stop it first", {"state": RunState.RUNNING, "end": None}),
        ("on their way", {"telemetry_pending": True}),
        ("on their way", {"stale": True}),
    ],
)
def test_a_run_that_is_not_whole_is_refused(
    tmp_path: Path, words: str, changes: dict[str, Any]
) -> None:
    """With what to do; nothing is written."""
    with client_of(stack(view(**changes))) as client, pytest.raises(ArchiveRefused, match=words):
        client.archive([RUN_ID], tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changed_meanwhile_is_noticed(tmp_path: Path) -> None:
    """An archive has what the run recorded, or does not exist; an older one of that name stays."""
    target = tmp_path / "a.zip"
    target.write_bytes(b"older")
    answer = stack(files={"videos/0.mp4": b"other pictures"})
    with client_of(answer) as client, pytest.raises(ArchiveRefused, match="changed while"):
        client.archive([RUN_ID], target)
    assert target.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize(
    ("seq0", "seqs", "parts"),
    [
        (5, [5, 6, 7], [[5, 6, 7]]),
        (5, [6, 7], [[6, 7]]),
        (5, [5, 7, 8, 11], [[5], [7, 8], [11]]),
    ],
)
def test_thinned_batches_are_cut_into_whole_ones(
    seq0: int, seqs: list[int], parts: list[list[int]]
) -> None:
    """A recorder takes only batches without missing seqs; what was removed stays away."""
    records: list[Record] = [Metric(seq, seq, "loss", seq, 1.0) for seq in seqs]
    found = contiguous_parts(Batch(1, RUN_ID, 1, "worker", seq0, 0, records))
    assert [[record.seq for record in part.records] for part in found] == parts
    assert [part.seq0 for part in found] == [part[0] for part in parts]


def test_a_value_that_fits_no_column_is_in_the_archive_as_text(tmp_path: Path) -> None:
    """It is seen after other files were begun: all Parquet files are written once more, from the archive."""
    records: list[Record] = [
        Config(1, 0, {"spaces": SPACES}),
        Step(2, 0, 0, 0, 1, 1, 1.0, 0, HASH, 0, None),
        Step(3, 0, 0, 0, 2, "left", 1.0, 0, HASH, 0, None),
    ]
    page = BatchPage({1: SPACES}, [frame(records[:2]), frame(records[2:])], "1.worker.3", False)
    target = tmp_path / "a.zip"
    with client_of(stack(pages=[page])) as client:
        client.archive([RUN_ID], target)
    with zipfile.ZipFile(target) as archive:
        folder = f"runs/{RUN_ID}/events/parquet"
        names = {name for name in archive.namelist() if name.startswith(folder)}
        assert names == {f"{folder}/config.parquet", f"{folder}/step.parquet"}
        step = pq.read_table(io.BytesIO(archive.read(f"{folder}/step.parquet")))
    assert step.to_pydict()["action"] == ["1", '"left"']
    assert list(tmp_path.iterdir()) == [target]


def forms_of(pid: int) -> list[int]:
    """Processes that make forms of events for a process."""
    return [
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdigit() and is_form_of(folder, pid)
    ]


def is_form_of(folder: Path, pid: int) -> bool:
    """Whether the process that `/proc` shows there is one of them."""
    try:
        parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        return parent == pid and b"form_process" in (folder / "cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False  # it ended


@pytest.mark.parametrize("number", [0, 1])
def test_a_form_whose_process_is_killed_leaves_nothing(tmp_path: Path, number: int) -> None:
    """Neither a file nor another process; the message says what ended."""
    answer = stack()
    killed: list[int] = []

    def answer_after_kill(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/batches") and not killed:
            killed.append(forms_of(os.getpid())[number])
            os.kill(killed[0], signal.SIGKILL)
        return answer(request)

    with client_of(answer_after_kill) as client, pytest.raises(ArchiveRefused, match="by signal 9"):
        client.archive([RUN_ID], tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
    assert forms_of(os.getpid()) == []


def test_a_cancelled_archive_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    """Whatever is done at that moment: the processes that make forms end with it."""

    def cancel(progress: ArchiveProgress) -> None:
        assert len(forms_of(os.getpid())) == 2
        raise KeyboardInterrupt

    with client_of(stack()) as client, pytest.raises(KeyboardInterrupt):
        client.archive([RUN_ID], tmp_path / "a.zip", progress=cancel)
    assert list(tmp_path.iterdir()) == []
    assert forms_of(os.getpid()) == []


def test_forms_end_when_their_writer_is_killed(tmp_path: Path) -> None:
    """They wait for more batches when the process that orders them is gone."""
    batches = tmp_path / "batches"
    batches.touch()
    program = (
        "import sys, pathlib, time\n"
        "from mosaic_client.archive.forms import EventForms\n"
        "from mosaic_client.archive.form_messages import FormKind\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "with EventForms(list(FormKind), folder) as forms:\n"
        "    forms.begin(folder / 'batches', 0)\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        forms = [os.pidfd_open(pid) for pid in forms_of(process.pid)]
        assert len(forms) == 2
        process.kill()
        process.wait()
    for form in forms:
        assert select.select([form], [], [], 60)[0] == [form]
        os.close(form)


def test_several_runs_use_the_same_processes(tmp_path: Path) -> None:
    """One after the other; each has its own events."""
    other = RUN_ID[:-1] + "W"
    answer = stack()

    def answer_for_both(request: httpx.Request) -> httpx.Response:
        renamed = httpx.Request("GET", str(request.url).replace(other, RUN_ID))
        found = answer(renamed)
        if found.headers.get("content-type") or not request.url.path.endswith(other):
            return found
        return httpx.Response(200, content=found.content.replace(RUN_ID.encode(), other.encode()))

    seen: set[int] = set()
    with client_of(answer_for_both) as client:
        client.archive(
            [RUN_ID, other],
            tmp_path / "a.zip",
            progress=lambda _: seen.update(forms_of(os.getpid())),
        )
    assert len(seen) == 2
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        for run_id in (RUN_ID, other):
            folder = f"runs/{run_id}/events"
            lines = zstandard.ZstdDecompressor().stream_reader(
                io.BytesIO(archive.read(f"{folder}/events.jsonl.zst"))
            )
            assert len(lines.read().splitlines()) == EVENTS
            step = pq.read_table(io.BytesIO(archive.read(f"{folder}/parquet/step.parquet")))
            assert step.num_rows == 2


def gone() -> httpx.Response:
    """The answer for a run that was deleted for good."""
    problem = Problem(code=ProblemCode.RUN_UNKNOWN, title="No such run", detail="No run has the id")
    return httpx.Response(404, content=problem.model_dump_json())


def test_a_run_that_is_deleted_meanwhile_gives_no_archive(tmp_path: Path) -> None:
    """Its events go step by step: what was read of them may be a part."""
    answer = stack()
    reads: list[str] = []

    def answer_until_deleted(request: httpx.Request) -> httpx.Response:
        reads.append(request.url.path)
        is_run = request.url.path.endswith(RUN_ID)
        return gone() if is_run and len(reads) > 1 else answer(request)

    with (
        client_of(answer_until_deleted) as client,
        pytest.raises(ArchiveRefused, match="was deleted while"),
    ):
        client.archive([RUN_ID], tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"events": EVENTS + 1}, {"events": EVENTS + 1}),
        ({"events": EVENTS}, {"events": EVENTS, "thinned_steps": 1}),
    ],
)
def test_a_run_of_which_events_go_meanwhile_gives_no_archive(
    tmp_path: Path, before: dict[str, int], after: dict[str, int]
) -> None:
    """The store had more when the archive was begun, or steps were thinned since."""
    views = [view(summary=RunSummary(run_id=RUN_ID, **each)) for each in (before, after)]
    answers = [stack(each) for each in views]
    reads: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        reads.append(request.url.path)
        return answers[len(reads) > 1](request)

    with client_of(answer) as client, pytest.raises(ArchiveRefused, match="changed while"):
        client.archive([RUN_ID], tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
