"""Imports: what a worker takes becomes a run, what it refuses leaves nothing, a kill leaves all of it or nothing."""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.script_worker import script_worker
from tests.stack import Stack, until

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.exported import ExportedCheckpoint
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.services import ImportOrder, RunRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.errors import FileRefused
from mosaic_scheduler.imports.exported import is_export, unpack
from mosaic_scheduler.imports.folder import ImportFolder, safe_name, sweep

CONTENT = b"what was learned" * 1000
UPLOAD, RUN_ID = "0" * 32, "01JGXSBMTTED00000000000000"
INSPECTS = """\
if sys.argv[1] == "inspect":
    asked = json.load(sys.stdin)
    words = open(asked["path"], "rb").read(8)
    found = {"algorithm": "a", "environment": asked["environment"] or "E-v0", "step": 7, "arguments": {"x": 1}}
    if words == b"convert ":
        pathlib.Path(asked["made"], "made.pt").write_bytes(b"converted")
        found |= {"converted": "made.pt", "form": "foreign", "step": None}
    if words == b"outside ":
        found["converted"] = "../given/f.pt"
    if words == b"hungry  ":
        bytearray(5 * 2**30)
    if words == b"waiting ":
        pathlib.Path(asked["path"]).with_name("waits").touch()
        time.sleep(600)
    finding = {"level": "blocking", "where": "file", "message": "It is no file of mine."}
    is_refused = words == b"refused "
    print(json.dumps({"ok": not is_refused, "findings": [finding] * is_refused, "checkpoint": found}))
"""


def exported(**changes: Any) -> ExportedCheckpoint:
    """Facts of an export of `CONTENT`."""
    row = CheckpointRow(
        run_id=RUN_ID,
        run_name="there",
        kind="train",
        worker="imports",
        algorithm="a",
        environment="E-v0",
        path="checkpoints/best.pt",
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        bytes=len(CONTENT),
        step=7,
        mean_return_20=3.5,
        worker_version="9",
    )
    facts = ExportedCheckpoint(file="best.pt", checkpoint=row, seed=5, parameters={"label": "x"})
    return facts.model_copy(update=changes)


def zipped(
    facts: ExportedCheckpoint, content: bytes = CONTENT, name: str = "", **options: Any
) -> bytes:
    """An export."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", **options) as archive:
        archive.writestr("mosaic-checkpoint.json", facts.model_dump_json())
        archive.writestr(name or facts.file, content)
    return target.getvalue()


def changed_byte(data: bytes) -> bytes:
    """The same with another byte in the checkpoint."""
    place = data.index(CONTENT) + 5
    return data[:place] + b"!" + data[place + 1 :]


def other_in_list(data: bytes) -> bytes:
    """The same with another name of the facts in the zip's list of files, but not in front of them."""
    place = data.rindex(b"mosaic-checkpoint.json")
    return data[:place] + b"M" + data[place + 1 :]


def larger_list(data: bytes) -> bytes:
    """The same with a list of files that seems to begin earlier, so that its files would begin before the zip."""
    end = data.rindex(b"PK\x05\x06")
    place = int.from_bytes(data[end + 16 : end + 20], "little") + 1
    return data[: end + 16] + place.to_bytes(4, "little") + data[end + 20 :]


@pytest.mark.parametrize(
    ("words", "data"),
    [
        ("truncated", zipped(exported())[:-1]),
        ("truncated", zipped(exported())[:3000]),
        ("Bad CRC-32", changed_byte(zipped(exported()))),
        ("SHA-256 is not that", zipped(exported(), CONTENT[:-1] + b"!")),
        ("compressed it", zipped(exported(), compression=zipfile.ZIP_DEFLATED)),
        ("version 2 of the format", zipped(exported(version=2))),
        ("file must match", zipped(exported(file="../x"))),
        ("not hold exactly", zipped(exported(), name="rest.pt")),
        ("list of files", other_in_list(zipped(exported()))),
        ("list of files", larger_list(zipped(exported()))),
    ],
)
def test_an_export_that_is_not_as_it_was_written_is_refused(
    tmp_path: Path, words: str, data: bytes
) -> None:
    """Each change has words of its own, and what was written by then is in the folder of this import alone."""
    path = tmp_path / "export.zip"
    path.write_bytes(data)
    assert is_export(path)
    with pytest.raises(FileRefused, match=words):
        unpack(path, tmp_path)


def test_an_export_is_unpacked_as_it_was_written(tmp_path: Path) -> None:
    """The checkpoint keeps its name, and the facts are read; a zip without facts in front is no export."""
    path = tmp_path / "export.zip"
    path.write_bytes(zipped(exported()))
    (tmp_path / "to").mkdir()
    found = unpack(path, tmp_path / "to")
    assert (found.path.name, found.path.read_bytes()) == ("best.pt", CONTENT)
    assert found.facts == exported()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x/data.pkl", b"")
    assert not is_export(path)


def test_names_of_files_are_made_safe() -> None:
    """No name leads out of a folder or is hidden."""
    names = ["a b.pt", "../../x", ".hidden", "\u00e9t\u00e9.pt", "...", "a" * 300 + ".pt"]
    assert [safe_name(name)[-8:] for name in names] == [
        *("a_b.pt", "_.._x", "hidden", "_t_.pt", "checkpoint"[-8:], "aaaaa.pt"),
    ]
    assert all("/" not in safe_name(name) and safe_name(name)[0] != "." for name in names)


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("step", ["claimed", "published"])
def test_the_next_scheduler_removes_what_was_not_added(
    tmp_path: Path, step: str, is_known: bool
) -> None:
    """A kill after each step: the run's folder stays only where the database has the run."""
    place = ImportFolder(tmp_path, RUN_ID)
    (tmp_path / "uploads").mkdir()
    (tmp_path / "uploads" / UPLOAD).write_bytes(CONTENT)
    place.claim(UPLOAD, "a.pt")
    if step == "published":
        place.take(place.given / "a.pt", "checkpoints/a.pt")
        place.publish()
    assert sweep(tmp_path, lambda _run_id: is_known) == 1
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    stays = is_known and step == "published"
    assert left == ([tmp_path / "runs" / RUN_ID / "checkpoints/a.pt"] if stays else [])


def upload(stack: Stack, content: bytes, **asked: Any) -> ImportOrder:
    """What the gateway asks once it has written a file."""
    folder = stack.home / "uploads"
    folder.mkdir(exist_ok=True)
    (folder / UPLOAD).write_bytes(content)
    key = asked.pop("key", None)
    return ImportOrder(
        upload=UPLOAD,
        sha256=hashlib.sha256(content).hexdigest(),
        bytes=len(content),
        asked={"file": "f.pt", **asked},
        idempotency_key=key,
    )


def importing_worker(stack: Stack) -> None:
    """A worker that takes imports."""
    schema = {"properties": {"label": {"type": "string"}, "start": {"x-checkpoint": True}}}
    answer = {"ok": True, "findings": []}
    modes = ("train", "import")
    script_worker(stack, "imports", answer, INSPECTS, {"parameters": schema}, modes=modes)


def files_of(stack: Stack, run_id: str) -> dict[str, bytes]:
    """Files in a run's folder."""
    folder = stack.home / "runs" / run_id
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def left_in(stack: Stack) -> list[Path]:
    """What is left of imports outside of runs."""
    return [
        path
        for name in ("imports", "uploads")
        if (stack.home / name).exists()
        for path in (stack.home / name).iterdir()
    ]


async def stored(stack: Stack, run_id: str) -> list[dict[str, Any]]:
    """Events of an imported run, once the report of its files is stored, which is the last one."""

    async def has_report() -> bool:
        found = stack.recorder.of(run_id, "supervisor")
        return any(event["type"] == RUN_FILES for event in found)

    await until(has_report)
    *events, report = stack.recorder.of(run_id, "supervisor")
    assert {each["sha256"] for each in report["data"]["files"]} == {
        hashlib.sha256(content).hexdigest() for content in files_of(stack, run_id).values()
    }
    return events


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_file_becomes_a_run_with_its_facts(stack: Stack) -> None:
    """Record, events, folder and list of files. The same key answers with the same run, or refuses another file."""
    importing_worker(stack)
    made = await stack.ask("import", upload(stack, CONTENT, key="k", tag=["lab"], name="mine"))
    assert (made.spec.kind, made.state, made.name, made.tags) == (
        *("import", RunState.SUCCEEDED, "mine", ["lab"]),
    )
    events = await stored(stack, made.run_id)
    assert [event["type"] for event in events] == ["config", "checkpoint", "lifecycle"]
    digest = hashlib.sha256(CONTENT).hexdigest()
    saved = events[1]
    assert (saved["path"], saved["sha256"], saved["step"], saved["reason"]) == (
        *("checkpoints/f.pt", digest, 7, "imported"),
    )
    assert events[0]["data"]["arguments"] == {"x": 1}
    files = files_of(stack, made.run_id)
    assert files["checkpoints/f.pt"] == CONTENT
    assert json.loads(files["manifest.json"])["artifacts"][0]["sha256"] == digest
    again = await stack.ask("import", upload(stack, CONTENT, key="k", tag=["lab"], name="mine"))
    assert again.run_id == made.run_id
    with pytest.raises(ProblemError) as caught:
        await stack.ask("import", upload(stack, b"other", key="k"))
    assert caught.value.problem.code is ProblemCode.IDEMPOTENCY_CONFLICT
    with pytest.raises(ProblemError, match="is not a spec to run"):
        await stack.ask("retry", RunRequest(run_id=made.run_id))


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_an_export_keeps_the_facts_of_its_stack(stack: Stack) -> None:
    """Returns, seed, version, and the parameters that this worker knows; a converted file keeps its original."""
    importing_worker(stack)
    facts = exported(parameters={"label": "x", "start": "RUN/a.pt", "gone": 1})
    made = await stack.ask("import", upload(stack, zipped(facts)))
    assert (made.spec.seed, made.spec.parameters, made.worker_version) == (5, {"label": "x"}, "9")
    saved = (await stored(stack, made.run_id))[1]
    assert (saved["path"], saved["data"]["mean_return_20"]) == ("checkpoints/best.pt", 3.5)
    made = await stack.ask("import", upload(stack, b"convert me"))
    events = await stored(stack, made.run_id)
    assert [event["type"] for event in events] == ["config", "checkpoint", "artifact", "lifecycle"]
    assert events[1]["data"] == {"step_unknown": True}
    files = files_of(stack, made.run_id)
    assert (files["checkpoints/made.pt"], files["original/f.pt"]) == (b"converted", b"convert me")


@pytest.mark.broker
@pytest.mark.shared_stack
@pytest.mark.parametrize(
    ("words", "content", "asked"),
    [
        ("It is no file of mine", b"refused x", {}),
        ("named no file of its folder", b"outside x", {}),
        ("could not look into it.*exit code 1: MemoryError. It may use 4 GiB", b"hungry  x", {}),
        ("There is no such worker", CONTENT, {"worker": "nobody"}),
        ("of its run cannot be: seed", zipped(exported(seed=-1)), {}),
        ("takes no imports", CONTENT, {"worker": "synthetic"}),
        ("its facts say step 8", zipped(exported(checkpoint=exported().checkpoint.model_copy(update={"step": 8}))), {}),
    ],
)  # fmt: skip
async def test_what_is_refused_leaves_nothing(
    stack: Stack, words: str, content: bytes, asked: dict[str, Any]
) -> None:
    """No file, no folder and no run stays; and a worker that wants too much memory is ended."""
    importing_worker(stack)
    before = sorted((stack.home / "runs").iterdir())
    with pytest.raises(ProblemError, match=words):
        await stack.ask("import", upload(stack, content, **asked))
    assert [path for path in left_in(stack) if path.name != UPLOAD] == []
    assert sorted((stack.home / "runs").iterdir()) == before


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_scheduler_that_is_killed_leaves_nothing_of_an_import(stack: Stack) -> None:
    """While a worker looks into the file: the next scheduler ends the worker and removes the file."""
    importing_worker(stack)
    order = upload(stack, b"waiting x")
    await stack.bus.publish("mosaic.v1.svc.scheduler.import", order.model_dump_json().encode())

    async def waits() -> bool:
        return any((stack.home / "imports").glob("*/given/waits"))

    await until(waits)
    assert len(stack.processes()) == 1
    await stack.kill_scheduler()
    await stack.start_scheduler()

    async def is_gone() -> bool:
        return not stack.processes() and not left_in(stack)

    await until(is_gone)
