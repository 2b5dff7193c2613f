"""The manifest of a run: what its events say and what its folder has, put together."""

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from tests.run_records import make_record

from mosaic_base.file_tree import list_files
from mosaic_contracts.manifest import FileReport, ReportedFile, RunManifest
from mosaic_contracts.manifest_words import FileType
from mosaic_gateway.manifests.compose import compose, with_report
from mosaic_gateway.manifests.look import look_at
from mosaic_store import NO_FILES, KnownFile, KnownFiles
from mosaic_store.testing import RUN_ID, messages


def announced(path: str, kind: str, content: bytes, **more: Any) -> KnownFile:
    """A file that the run announced."""
    digest = hashlib.sha256(content).hexdigest()
    known = KnownFile(
        path, True, kind, len(content), digest, 5, None, None, "best", 9.0, False, None, None
    )
    return known._replace(**more)


def facts(manifest: RunManifest) -> dict[str, tuple[str, str, str, int]]:
    """Kind, type, state and size of each entry."""
    return {
        each.path: (each.kind, each.type.value, each.state.value, each.bytes)
        for each in manifest.entries
    }


def test_each_file_has_its_state(tmp_path: Path) -> None:
    """Present, changed, missing and pruned; folders count by their files; links and odd names are named."""
    for folder in ("tensorboard/a", "logs", "empty"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "tensorboard/a/x").write_bytes(b"12")
    (tmp_path / "tensorboard/extra.bin").write_bytes(b"123")
    (tmp_path / "best.pt").write_bytes(b"best")
    (tmp_path / "last.pt").write_bytes(b"other content")
    (tmp_path / "logs/worker.log").write_bytes(b"log")
    (tmp_path / "key").symlink_to("/etc/hostname")
    (tmp_path / os.fsdecode(b"\xff")).write_bytes(b"odd")
    known = KnownFiles(
        [
            announced("best.pt", "checkpoint", b"best"),
            announced("last.pt", "checkpoint", b"last"),
            announced("gone.pt", "checkpoint", b"gone"),
            announced("old.mp4", "video", b"old", pruned=True, pruned_reason="quota"),
            announced("tensorboard", "tensorboard", b"", sha256=None),
            announced("empty", "wandb", b"", sha256=None),
        ],
        None,
        0,
        0,
        [],
    )
    manifest = compose(RUN_ID, known, list_files(tmp_path))
    assert facts(manifest) == {
        "best.pt": ("checkpoint", "file", "present", 4),
        "last.pt": ("checkpoint", "file", "changed", 13),
        "gone.pt": ("checkpoint", "file", "missing", 4),
        "old.mp4": ("video", "file", "pruned", 3),
        "tensorboard": ("tensorboard", "folder", "present", 5),
        "empty": ("wandb", "folder", "present", 0),
        "\\xff": ("other", "file", "present", 3),
        "key": ("other", "link", "present", 0),
        "logs/worker.log": ("log", "file", "present", 3),
        "tensorboard/a/x": ("tensorboard", "file", "present", 2),
        "tensorboard/extra.bin": ("tensorboard", "file", "present", 3),
    }
    entries = {each.path: each for each in manifest.entries}
    assert entries["best.pt"].sha256 == hashlib.sha256(b"best").hexdigest()
    assert entries["last.pt"].sha256 is None
    assert entries["old.mp4"].reason == "quota"
    assert entries["\\xff"].name_hex == "ff"
    totals = {total.kind: (total.files, total.bytes, total.gone) for total in manifest.totals}
    assert totals["checkpoint"] == (2, 17, 1)
    assert totals["tensorboard"] == (2, 5, 0)
    assert totals["video"] == (0, 0, 1)


def test_a_report_gives_digests_to_the_versions_that_it_saw(tmp_path: Path) -> None:
    """A file that changed since has no digest, and one that is gone keeps its last known facts."""
    report = FileReport(files=[])
    for name in ("kept", "grows", "goes"):
        (tmp_path / name).write_bytes(name.encode())
        at = (tmp_path / name).stat()
        report.files.append(
            ReportedFile(
                path=name,
                kind="other",
                bytes=at.st_size,
                mtime_us=at.st_mtime_ns // 1000,
                sha256=hashlib.sha256(name.encode()).hexdigest(),
            )
        )
    (tmp_path / "grows").write_bytes(b"grows and grows")
    (tmp_path / "goes").unlink()
    manifest = compose(RUN_ID, with_report(NO_FILES, report), list_files(tmp_path))
    entries = {each.path: each for each in manifest.entries}
    assert {path: each.state.value for path, each in entries.items()} == {
        "goes": "missing", "grows": "changed", "kept": "present",
    }  # fmt: skip
    assert entries["kept"].sha256 == hashlib.sha256(b"kept").hexdigest()
    assert entries["grows"].sha256 is None
    assert (entries["goes"].bytes, entries["goes"].sha256 is not None) == (4, True)
    assert all(each.type is FileType.FILE for each in entries.values())


def test_a_large_folder_is_not_looked_at_again_and_again(tmp_path: Path) -> None:
    """A look that took long answers for ten times as long; what a run announced is found beyond the limit too."""
    (tmp_path / "z.pt").write_bytes(b"zz")
    known = KnownFiles([announced("z.pt", "checkpoint", b"zz")], None, 0, 0, [])
    looked = look_at(tmp_path, known, has_ended=False, max_files=0)
    assert [found.path for found in looked.tree.files] == ["z.pt"]
    assert looked._replace(took_s=10.0).is_fresh(has_ended=False)
    assert not looked._replace(took_s=10.0).is_fresh(has_ended=True)
    assert not looked._replace(took_s=0.0).is_fresh(has_ended=False)


@pytest.mark.broker
async def test_the_manifest_of_an_older_run_is_complete_at_once(gateway: Any, peers: Any) -> None:
    """A run that ended under an older version has no report: the scheduler makes one. No live run is reported."""
    folder = gateway.home / "runs" / RUN_ID
    (folder / "control").mkdir(parents=True)
    (folder / "control" / "broker.creds").write_text("canary")
    (folder / "log.csv").write_bytes(b"abc")
    os.utime(folder / "log.csv", ns=(10**18, 10**18))
    await peers.commit(list(messages(40, 40)))
    peers.records[RUN_ID] = make_record(RUN_ID)
    manifest = (await gateway.get(f"/runs/{RUN_ID}/manifest")).json()
    assert [(each["path"], each["sha256"]) for each in manifest["entries"]] == [("log.csv", None)]
    peers.records[RUN_ID] = make_record(RUN_ID, "failed")
    manifest = (await gateway.get(f"/runs/{RUN_ID}/manifest")).json()
    (entry,) = manifest["entries"]
    assert (entry["sha256"], entry["state"], entry["announced"]) == ("aa" * 32, "present", False)
    assert manifest["links"] == []
