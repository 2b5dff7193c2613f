import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from tests.net.gateway_stub import Answer, HttpStub
from tests.specimen import run_id

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gui.net import backoff
from mosaic_gui.net.api import ApiClient
from mosaic_gui.net.download import Download
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.net.transfer import TRIES

WAIT_MS = 60_000
PATH = "checkpoints/a #1.pt"
TAG = '"1-8"'


@pytest.fixture
def stub() -> Iterator[HttpStub]:
    """An HTTP server that sends the answers that a test sets."""
    made = HttpStub()
    yield made
    made.close()


@pytest.fixture
def api(stub: HttpStub) -> Iterator[ApiClient]:
    """A client of it."""
    made = ApiClient(StackLocation(stub.url, "secret"))
    yield made
    made.close()


def refusal(qtbot: QtBot, download: Download) -> ApiProblem:
    """Why a file did not come."""
    with qtbot.waitSignal(download.failed, timeout=WAIT_MS) as got:
        pass
    found: ApiProblem = got.args[0]
    return found


def test_a_file_comes_whole(qtbot: QtBot, stub: HttpStub, api: ApiClient, tmp_path: Path) -> None:
    """The file has its name once it is whole, its progress is reported, and nothing else is left next to it."""
    stub.answers.append(Answer(body=b"x" * 3_000_000))
    download = api.download(run_id(0), PATH, tmp_path / "a.pt")
    seen: list[tuple[int, int | None]] = []
    download.progressed.connect(lambda *now: seen.append(now))
    with qtbot.waitSignal(download.done, timeout=WAIT_MS) as got:
        assert not (tmp_path / "a.pt").exists()
    assert got.args == [tmp_path / "a.pt"]
    assert (tmp_path / "a.pt").stat().st_size == 3_000_000
    assert seen[-1] == (3_000_000, 3_000_000)
    assert len(seen) > 1
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]
    assert stub.asked[0].path == f"/api/v1/runs/{run_id(0)}/artifacts/checkpoints/a%20%231.pt"
    assert stub.asked[0].headers["authorization"] == "Bearer secret"


def test_a_link_stays_and_a_pipe_is_not_replaced(
    qtbot: QtBot, stub: HttpStub, api: ApiClient, tmp_path: Path
) -> None:
    """The file that a link names gets the bytes; what is no file is refused before anything is asked."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link.pt").symlink_to(tmp_path / "real" / "a.pt")
    stub.answers.append(Answer(body=b"12345678"))
    with qtbot.waitSignal(
        api.download(run_id(0), PATH, tmp_path / "link.pt").done, timeout=WAIT_MS
    ) as got:
        pass
    assert got.args == [tmp_path / "link.pt"]
    assert (tmp_path / "link.pt").is_symlink()
    assert (tmp_path / "real" / "a.pt").read_bytes() == b"12345678"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="no regular file"):
        api.download(run_id(0), PATH, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    assert len(stub.asked) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"link.pt", "pipe", "real"}


def test_it_goes_on_where_the_line_broke(
    qtbot: QtBot, stub: HttpStub, api: ApiClient, tmp_path: Path
) -> None:
    """Only the missing part of the same file is asked for; nothing is there twice."""
    tag = {"ETag": TAG}
    stub.answers.append(Answer(body=b"1234", headers=tag, length=8))
    stub.answers.append(Answer(206, b"5678", {**tag, "Content-Range": "bytes 4-7/8"}))
    download = api.download(run_id(0), PATH, tmp_path / "a.pt")
    with qtbot.waitSignal(download.done, timeout=WAIT_MS):
        pass
    assert (tmp_path / "a.pt").read_bytes() == b"12345678"
    assert stub.asked[1].headers["range"] == "bytes=4-"
    assert stub.asked[1].headers["if-range"] == TAG


def test_a_file_that_changed_starts_again(
    qtbot: QtBot, stub: HttpStub, api: ApiClient, tmp_path: Path
) -> None:
    """Where the gateway sends all of it again, nothing of the old one stays."""
    stub.answers.append(Answer(body=b"old!", headers={"ETag": TAG}, length=8))
    stub.answers.append(Answer(body=b"new", headers={"ETag": '"2-3"'}))
    download = api.download(run_id(0), PATH, tmp_path / "a.pt")
    with qtbot.waitSignal(download.done, timeout=WAIT_MS):
        pass
    assert (tmp_path / "a.pt").read_bytes() == b"new"


def test_a_refused_file_leaves_nothing(
    qtbot: QtBot, stub: HttpStub, api: ApiClient, tmp_path: Path
) -> None:
    """The file is asked for once, the reason is reported, and the file that was there stays as it was."""
    (tmp_path / "a.pt").write_bytes(b"mine")
    gone = Problem(code=ProblemCode.ARTIFACT_UNKNOWN, title="No such file", detail="It went.")
    stub.answers.append(Answer(404, gone.model_dump(mode="json")))
    assert refusal(qtbot, api.download(run_id(0), PATH, tmp_path / "a.pt")).message == (
        "No such file. It went."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.pt"]
    assert (tmp_path / "a.pt").read_bytes() == b"mine"
    assert len(stub.asked) == 1


def test_a_line_that_brings_nothing_is_given_up(
    qtbot: QtBot,
    stub: HttpStub,
    api: ApiClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After a few connections in a row that bring nothing it fails, and no half file is left."""
    monkeypatch.setattr(backoff, "FIRST_S", 0.02)
    stub.answers.append(Answer(body=b"1234", headers={"ETag": TAG}, length=8))
    stub.answers.extend(Answer(503, {}) for _ in range(TRIES))
    words = refusal(qtbot, api.download(run_id(0), PATH, tmp_path / "a.pt")).message
    assert words == "a.pt was not downloaded completely: status 503. Try again."
    assert list(tmp_path.iterdir()) == []


def test_leaving_the_stack_leaves_no_part(api: ApiClient, stub: HttpStub, tmp_path: Path) -> None:
    """A client that is closed takes away what it had begun."""
    stub.answers.append(Answer(body=b"1234", length=8))
    api.download(run_id(0), PATH, tmp_path / "a.pt")
    assert len(list(tmp_path.iterdir())) == 1
    api.close()
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written_is_said_at_once(api: ApiClient, tmp_path: Path) -> None:
    """Before anything is asked for."""
    with pytest.raises(OSError, match="No such file"):
        api.download(run_id(0), PATH, tmp_path / "gone" / "a.pt")
