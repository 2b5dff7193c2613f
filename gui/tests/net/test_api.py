from collections.abc import Iterator
from typing import Any

import pytest
from pytestqt.qtbot import QtBot
from tests.checkpoint_specimen import checkpoint
from tests.net.gateway_stub import Answer, HttpStub
from tests.specimen import report, run, run_id

from mosaic_contracts.problems import Problem, ProblemCode
from mosaic_gui.net.api import TRIES, ApiClient
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem, ApiReply, LogPiece

WAIT_MS = 60_000
AWAY = Problem(code=ProblemCode.SERVICE_UNAVAILABLE, title="Away", retry_after_s=0.05)


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


def answer(qtbot: QtBot, reply: ApiReply) -> Any:
    """What a request came to."""
    with qtbot.waitSignals([reply.done], timeout=WAIT_MS, raising=True) as got:
        pass
    return got.all_signals_and_args[0].args[0]


def problem(qtbot: QtBot, reply: ApiReply) -> ApiProblem:
    """Why a request came to nothing."""
    with qtbot.waitSignal(reply.failed, timeout=WAIT_MS) as got:
        pass
    found: ApiProblem = got.args[0]
    return found


def test_an_answer_is_a_model(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """The token goes along, and what comes back is the contract's model."""
    stub.answers.append(Answer(body=run(0).model_dump(mode="json")))
    assert answer(qtbot, api.run(run_id(0))).run_id == run_id(0)
    assert stub.asked[0].path == f"/api/v1/runs/{run_id(0)}"
    assert stub.asked[0].headers["authorization"] == "Bearer secret"


def test_a_refusal_keeps_its_findings(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """A refused launch says why, and at which field; it is not sent again."""
    refused = Problem(
        code=ProblemCode.PARAMETER_INVALID,
        title="This cannot be run",
        detail="gamma is too large.",
        fields=[{"where": "parameters.gamma", "message": "at most 1"}],
    )
    stub.answers.append(Answer(422, refused.model_dump(mode="json")))
    found = problem(qtbot, api.submit({"worker": "x"}))
    assert found.message == "This cannot be run. gamma is too large."
    assert found.fields[0]["where"] == "parameters.gamma"
    assert len(stub.asked) == 1


def test_a_busy_stack_is_asked_again(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """A 503 passes by itself: the same launch with the same key, so that it is still one run."""
    stub.answers += [
        Answer(503, AWAY.model_dump(mode="json")),
        Answer(201, run(0).model_dump(mode="json")),
    ]
    assert answer(qtbot, api.submit({"seed": 1})).run_id == run_id(0)
    keys = {asked.headers["idempotency-key"] for asked in stub.asked}
    assert len(stub.asked) == 2
    assert len(keys) == 1


def test_a_stack_that_stays_away_is_given_up(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """After a few tries the user hears why."""
    stub.answers += [Answer(503, AWAY.model_dump(mode="json"))] * TRIES
    assert problem(qtbot, api.preflight({})).message == "Away."
    assert len(stub.asked) == TRIES


def test_what_may_not_be_repeated_is_sent_once(
    qtbot: QtBot, stub: HttpStub, api: ApiClient
) -> None:
    """`retry` makes a new run each time: a lost answer must not make two."""
    stub.answers.append(Answer(503, AWAY.model_dump(mode="json")))
    problem(qtbot, api.retry_run(run_id(0)))
    assert len(stub.asked) == 1


def test_nobody_there_is_said_in_words(qtbot: QtBot) -> None:
    """An address without a stack is named in the message."""
    stub = HttpStub()
    stub.close()
    api = ApiClient(StackLocation(stub.url, "secret"))
    assert problem(qtbot, api.stack()).message.startswith(f"No stack answers at {stub.url}")
    api.close()


@pytest.mark.parametrize("body", [b"<html>", b"{}", b"\xff\xfe"])
def test_something_else_is_no_stack(
    qtbot: QtBot, stub: HttpStub, api: ApiClient, body: bytes
) -> None:
    """Another server's answer is a fault in words, not a crash."""
    stub.answers.append(Answer(200, body))
    assert "cannot be read" in problem(qtbot, api.runs()).message
    stub.answers.append(Answer(404, body))
    assert "no MOSAIC gateway" in problem(qtbot, api.runs()).message


def test_a_redirect_is_not_followed(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """The token is for this stack only, wherever it may point to."""
    stub.answers.append(Answer(302, b"", {"StackLocation": f"{stub.url}/elsewhere"}))
    problem(qtbot, api.runs())
    assert len(stub.asked) == 1


def test_the_log_comes_with_its_offset(qtbot: QtBot, stub: HttpStub, api: ApiClient) -> None:
    """A piece of output says from where to go on."""
    stub.answers.append(Answer(200, "läuft\n".encode(), {"X-Next-Offset": "7"}))
    assert answer(qtbot, api.log(run_id(0), 0)) == LogPiece("läuft\n", 7)


def test_nothing_comes_after_close(qtbot: QtBot, stub: HttpStub) -> None:
    """A client that was left does not call back into views that are gone."""
    api = ApiClient(StackLocation(stub.url, "secret"))
    reported: list[object] = []
    reply = api.preflight({})
    reply.done.connect(reported.append)
    reply.failed.connect(reported.append)
    stub.answers.append(Answer(body=report().model_dump(mode="json")))
    api.close()
    qtbot.wait(50)  # there is no event for silence
    assert reported == []


def test_checkpoints_are_pages_and_hashes_are_compared_by_path(
    qtbot: QtBot, stub: HttpStub, api: ApiClient
) -> None:
    """The query names cursor and runs; a verification answers with the rows themselves."""
    row = checkpoint(0, "checkpoints/my file.pt").model_dump(mode="json")
    stub.answers += [Answer(body={"checkpoints": [row], "next_cursor": "n"}), Answer(body=[row])]
    page = answer(qtbot, api.checkpoints("c", 5, [run_id(0), run_id(1)]))
    assert (page.checkpoints[0].path, page.next_cursor) == ("checkpoints/my file.pt", "n")
    (found,) = answer(qtbot, api.verify_checkpoints(run_id(0), "checkpoints/my file.pt"))
    assert found.run_id == run_id(0)
    assert [one.path for one in stub.asked] == [
        f"/api/v1/checkpoints?limit=5&run={run_id(0)}&run={run_id(1)}&cursor=c",
        f"/api/v1/runs/{run_id(0)}/checkpoints/verify?path=checkpoints%2Fmy+file.pt",
    ]
