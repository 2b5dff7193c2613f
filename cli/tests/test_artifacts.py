"""`artifacts`, `download`, `link` against a stand-in; tests/remote has them on a real stack."""

from pathlib import Path

import pytest
from tests.gateway_double import OF_RUN, RUN_ID, Answers, Mosaic, strict

ROW = {"path": "checkpoints/final.pt", "kind": "checkpoint", "bytes": 2048, "step": 500}
GONE = {**ROW, "path": "checkpoints/first.pt", "exists": False}

ENTRY = {**ROW, "announced": True}
LOG = {"path": "logs/new\nline.log", "kind": "log", "bytes": 1024}
MANIFEST = {
    "run_id": RUN_ID,
    "entries": [ENTRY, {**ENTRY, "path": GONE["path"], "state": "pruned"}, LOG],
    "links": [{"kind": "tracker", "tracked": {"tracker": "wandb", "url": "https://wandb.ai/r/1"}}],
    "totals": [{"kind": "checkpoint", "files": 1, "bytes": 2048}, {"kind": "log", "files": 1, "bytes": 1024}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def announced(answers: Answers) -> None:
    """A run with one file, and one that was there."""
    answers[f"{OF_RUN}/artifacts"] = [ROW, GONE]
    answers[f"{OF_RUN}/manifest"] = MANIFEST


def test_files_are_listed(mosaic: Mosaic) -> None:
    """Path, size and step of each; what is not there any more says so."""
    code, out, _ = mosaic("artifacts", RUN_ID)
    assert code == 0
    final, first, wandb = out.splitlines()[1:]
    assert wandb == "wandb: https://wandb.ai/r/1"
    assert final.split() == ["checkpoints/final.pt", "checkpoint", "2.0", "KiB", "500"]
    assert "deleted" in first
    _, out, _ = mosaic("artifacts", RUN_ID, "--json")
    assert [row["path"] for row in strict(out)] == [ROW["path"], GONE["path"]]


def test_all_files_are_listed_with_their_sums(mosaic: Mosaic) -> None:
    """Logs too, each in one line; what is not listed by default is in the sums."""
    _, out, _ = mosaic("artifacts", RUN_ID, "--all")
    *_, log, _, sums = out.splitlines()
    assert log.split() == ["logs/new\\nline.log", "log", "1.0", "KiB", "-"]
    assert sums == "2 files, 3.0 KiB: checkpoint 2.0 KiB, log 1.0 KiB"
    _, out, _ = mosaic("artifacts", RUN_ID, "--all", "--json")
    assert len(strict(out)["entries"]) == 3


def test_videos_are_listed_with_their_episodes(mosaic: Mosaic, answers: Answers) -> None:
    """The columns are there where a file shows an episode."""
    video = {"path": "videos/a.mp4", "kind": "video", "bytes": 2048, "env": 0, "episode": 1200}
    answers[f"{OF_RUN}/manifest"] = {**MANIFEST, "entries": [ENTRY, video], "links": []}
    _, out, _ = mosaic("artifacts", RUN_ID)
    heading, final, clip = out.splitlines()
    assert heading.split() == ["PATH", "KIND", "SIZE", "STEP", "ENV", "EPISODE"]
    assert final.split()[-3:] == ["500", "-", "-"]
    assert clip.split()[-3:] == ["-", "0", "1,200"]


def test_a_file_goes_where_it_is_told(
    mosaic: Mosaic, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into a folder under its own name, or to the file that is named; a place that cannot be written is named."""
    monkeypatch.chdir(tmp_path)
    answers[f"{OF_RUN}/artifacts/checkpoints/final.pt"] = {"weights": 1}
    assert mosaic("download", RUN_ID, "checkpoints/final.pt")[0] == 0
    assert (tmp_path / "final.pt").read_text() == '{"weights": 1}'
    code, out, _ = mosaic("download", RUN_ID, "checkpoints/final.pt", "-o", "here.pt", "--json")
    assert (code, strict(out)["bytes"]) == (0, Path("here.pt").stat().st_size)
    code, _, err = mosaic("download", RUN_ID, "checkpoints/final.pt", "-o", "absent/here.pt")
    assert (code, "absent/here.pt cannot be written" in err) == (2, True)


def test_a_file_that_is_not_there_names_the_nearest(mosaic: Mosaic, answers: Answers) -> None:
    """A slip in the path is answered with the path that is meant, exit code 4."""
    unknown = {"code": "artifact_unknown", "title": "There is no such file", "status": 404}
    answers[f"{OF_RUN}/artifacts/final.pt"] = unknown
    code, _, err = mosaic("download", RUN_ID, "final.pt")
    assert (code, "Did you mean checkpoints/final.pt?" in err) == (4, True)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "checkpoints/../../x", "."])
@pytest.mark.parametrize("verb", ["download", "link"])
def test_a_path_out_of_the_folder_names_no_file(
    verb: str, path: str, mosaic: Mosaic, answers: Answers
) -> None:
    """It is said like that of any other file that is not there; no address is made of it."""
    code, out, err = mosaic(verb, RUN_ID, path)
    assert (code, out) == (4, "")
    assert f"mosaic artifacts {RUN_ID}" in err
    assert {asked.path for asked in answers.asked} <= {OF_RUN, f"{OF_RUN}/artifacts"}


def test_a_link_is_whole(mosaic: Mosaic, answers: Answers) -> None:
    """The address of the stack that is spoken to, with the ticket; its time is asked for in seconds."""
    ticket = f"{OF_RUN}/artifacts/videos/1%20a.mp4?ticket=1.ab"
    answers["/api/v1/tickets"] = {"url": ticket, "expires_at": "2026-01-01T00:00:00Z"}
    code, out, _ = mosaic("link", RUN_ID, "videos/1 a.mp4", "--for", "1h")
    assert (code, out.strip()) == (0, answers.url + ticket)
    asked = answers.last("POST").body
    assert asked == {"path": f"/runs/{RUN_ID}/artifacts/videos/1%20a.mp4", "ttl_s": 3600}
    _, out, _ = mosaic("link", RUN_ID, "videos/1 a.mp4", "--json")
    assert strict(out) == {"url": answers.url + ticket}
