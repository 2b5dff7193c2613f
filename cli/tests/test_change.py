"""The verbs that change runs, queue and secrets: what they send, what they say, how they end."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

OTHER = RUN_ID[:-1] + "W"


def test_rm_puts_away_and_restore_brings_back(mosaic: Mosaic, answers: Answers) -> None:
    """`rm` says how to undo it, `--now` is sent as such, and `restore` searches the deleted runs."""
    answers[f"DELETE {OF_RUN}"] = RUN | {"deleted_at": "2026-01-02T00:00:00Z"}
    code, out, err = mosaic("rm", "last")
    assert (code, out) == (0, "")
    assert f"./mosaic restore {RUN_ID}" in err
    assert "frees 3.0 MiB (events 2.0 MiB, checkpoint 1.0 MiB)" in err
    assert answers.last("DELETE").query == {}
    assert mosaic("rm", RUN_ID, "--now", "--yes", "--json")[0] == 0
    assert answers.last("DELETE").query == {"now": ["true"]}
    answers[f"{OF_RUN}/restore"] = RUN
    assert mosaic("restore", "last") == (0, "", f"{RUN_ID} is back.\n")
    assert answers.last("GET").query["deleted"] == ["true"]


def test_a_deletion_says_what_it_freed(mosaic: Mosaic, answers: Answers) -> None:
    """`--now` waits until the run is gone; `--force` is sent as such, and a refusal is shown."""
    answers[f"DELETE {OF_RUN}"] = RUN
    gone = {"run_id": RUN_ID, "state": "gone", "freed_bytes": 5 * 2**20}
    answers[f"{OF_RUN}/deletion"] = gone
    code, _, err = mosaic("rm", "last", "--now", "--force")
    assert (code, "5.0 MiB are free again" in err) == (0, True)
    assert answers.last("DELETE").query == {"now": ["true"], "force": ["true"]}
    answers[f"DELETE {OF_RUN}"] = {"status": 409, "code": "run_needed", "title": "It is needed"}
    code, _, err = mosaic("rm", "last")
    assert (code, "It is needed" in err) == (6, True)


def test_a_live_run_is_not_put_away(mosaic: Mosaic, answers: Answers) -> None:
    """The stack's refusal is shown, with the exit code for what cannot be done now."""
    answers[f"DELETE {OF_RUN}"] = {"status": 409, "code": "run_live", "title": "It is running"}
    code, out, err = mosaic("rm", "last", "--json")
    assert (code, out) == (6, "")
    assert "It is running" in err


def test_tags_are_added_taken_away_and_shown(mosaic: Mosaic, answers: Answers) -> None:
    """The whole new list is sent, nothing when nothing changes, and an unknown tag is refused."""
    answers["/api/v1/runs"] = {"runs": [RUN | {"tags": ["old", "kept"]}]}
    answers[f"PATCH {OF_RUN}"] = RUN | {"tags": ["kept", "new"]}
    assert mosaic("tag", "last", "new", "-r", "old")[1] == "kept\nnew\n"
    assert answers.last("PATCH").body == {"tags": ["kept", "new"]}
    asked = len(answers.asked)
    assert mosaic("tag", "last", "kept")[1] == "old\nkept\n"
    assert [one.method for one in answers.asked[asked:]] == ["GET"]
    code, _, err = mosaic("tag", "last", "--remove", "none")
    assert (code, "It has: old, kept." in err) == (2, True)


def test_a_note_is_written_from_stdin_and_cleared(
    mosaic: Mosaic, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long words come by stdin; an empty text takes the note away."""
    answers[f"PATCH {OF_RUN}"] = RUN | {"note": "two\nlines"}
    monkeypatch.setattr("sys.stdin", io.StringIO("two\nlines\n"))
    assert mosaic("note", "last", "-") == (0, "two\nlines\n", "")
    assert answers.last("PATCH").body == {"note": "two\nlines"}
    mosaic("note", "last", "--clear")
    assert answers.last("PATCH").body == {"note": ""}


def test_retry_and_clone_start_a_new_run(mosaic: Mosaic, answers: Answers) -> None:
    """Each gives the new run's id, and so does resume.

    A clone's overrides are a spec's fields; null takes a parameter away.
    """
    new = RUN | {"run_id": OTHER, "state": "queued"}
    answers[f"{OF_RUN}/retry"] = answers[f"{OF_RUN}/clone"] = new
    assert mosaic("retry", "last", "-d") == (0, f"{OTHER}\n", "")
    answers[f"{OF_RUN}/resume"] = new
    assert mosaic("resume", "last", "-d") == (0, f"{OTHER}\n", "")
    arguments = ["-e", "Acrobot-v1", "--seed", "7", "-p", "gamma=null", "-p", "ent_coef=0.01"]
    code, out, _ = mosaic(
        "clone", "last", *arguments, "--tag", "t", "--set", "grace_s=5", "-d", "--json"
    )
    assert (code, strict(out)["run_id"]) == (0, OTHER)
    assert answers.last("POST").body["overrides"] == {
        "environment": "Acrobot-v1",
        "seed": 7,
        "parameters": {"gamma": None, "ent_coef": 0.01},
        "tags": ["t"],
        "grace_s": 5,
    }


def test_a_clone_with_an_unknown_field_is_refused(mosaic: Mosaic, answers: Answers) -> None:
    """A slip in `--set` is met with the nearest field, and no run is made."""
    for slip in ("stepps=5", "run_id=x"):
        code, _, err = mosaic("clone", "last", "--set", slip, "-d")
        assert (code, "there is no such field" in err) == (2, True)
    assert "Did you mean steps" in mosaic("clone", "last", "--set", "stepps=5")[2]
    assert not [one for one in answers.asked if one.method == "POST"]


def test_the_queue_is_listed_and_changed(mosaic: Mosaic, answers: Answers) -> None:
    """Each verb sends its one change; a held run says so; a move needs one neighbour."""
    waiting = RUN | {"state": "queued", "position": 1, "held": True}
    answers["/api/v1/queue"] = {"runs": [waiting]}
    answers[f"{OF_RUN}/queue"] = waiting
    answers[f"/api/v1/runs/{OTHER}"] = RUN | {"run_id": OTHER}
    for arguments in ([], ["list"]):
        assert "its release (held)" in mosaic("queue", *arguments)[1]
    for words, change in (
        (["hold", RUN_ID], {"hold": True}),
        (["release", RUN_ID], {"hold": False}),
        (["priority", RUN_ID, "--", "-5"], {"priority": -5}),
        (["move", RUN_ID, "--before", OTHER], {"before": OTHER}),
        (["move", RUN_ID, "--after", OTHER], {"after": OTHER}),
    ):
        code, out, err = mosaic("queue", *words)
        assert (code, out, "(place 1)" in err) == (0, "", True)
        assert answers.last("PATCH").body == change
    assert mosaic("queue", "move", RUN_ID)[0] == 2
    answers["/api/v1/queue"] = {"runs": []}
    assert mosaic("queue", "--json") == (0, "[]\n", "")


def test_a_secret_comes_from_stdin_and_is_never_shown(
    mosaic: Mosaic, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line end is left out; the value is in the body alone; a value that is refused is not quoted."""
    answers["/api/v1/secrets/KEY"] = {"name": "KEY", "updated_at": "2026-01-01T00:00:00Z"}
    monkeypatch.setattr("sys.stdin", io.StringIO("s3cret value\n"))
    code, out, err = mosaic("secret", "set", "KEY")
    assert (code, "s3cret" in out + err) == (0, False)
    assert answers.last("PUT").body == {"value": "s3cret value"}
    monkeypatch.setattr("sys.stdin", io.StringIO("s3cret" * 20_000))
    code, out, err = mosaic("secret", "set", "KEY")
    assert (code, "s3cret" in out + err) == (2, False)
    assert mosaic("secret", "set", "KEY", "s3cret")[0] == 2, "a value is no argument"
    assert mosaic("secret", "set", "no/name")[0] == 2


def test_secrets_are_listed_and_deleted(mosaic: Mosaic, answers: Answers) -> None:
    """Only names and times are listed; a name that is unknown ends with 4."""
    entry = {"name": "KEY", "updated_at": "2026-01-01T00:00:00Z"}
    answers["/api/v1/secrets"] = {"secrets": [entry]}
    for word in ("ls", "list"):
        assert [row["name"] for row in strict(mosaic("secret", word, "--json")[1])] == ["KEY"]
    answers["/api/v1/secrets/KEY"] = None
    assert mosaic("secret", "rm", "KEY") == (0, "", "KEY is deleted.\n")
    answers["/api/v1/secrets/KEY"] = {"status": 404, "code": "secret_unknown", "title": "None"}
    assert mosaic("secret", "rm", "KEY")[0] == 4


def test_ps_asks_for_what_is_given(mosaic: Mosaic, answers: Answers) -> None:
    """Filters may be repeated, and sort and order are the stack's to apply."""
    asked = [
        "--state",
        "failed",
        "--state",
        "crashed",
        "-e",
        "Acrobot-v1",
        "--tag",
        "a",
        "--text",
        "x y",
    ]
    mosaic("ps", *asked, "--sort", "best_return", "--asc", "--parent", RUN_ID, "--deleted")
    query = answers.last("GET").query
    assert query.pop("limit")
    assert query == {
        "state": ["failed", "crashed"],
        "environment": ["Acrobot-v1"],
        "tag": ["a"],
        "text": ["x y"],
        "sort": ["best_return"],
        "order": ["asc"],
        "parent": [RUN_ID],
        "deleted": ["true"],
    }


def test_ps_shows_what_a_person_gave(mosaic: Mosaic, answers: Answers) -> None:
    """A run's own name, its tags and that it is held are in the list."""
    spec = RUN["spec"] | {"name": "baseline"}
    answers["/api/v1/runs"] = {
        "runs": [
            RUN
            | {
                "name": "baseline",
                "spec": spec,
                "tags": ["a", "b"],
                "state": "queued",
                "held": True,
            }
        ]
    }
    out = mosaic("ps")[1]
    for words in ("baseline: ppo CartPole-v1", "a, b", "queued, held"):
        assert words in out
    answers["/api/v1/runs"] = {"runs": [RUN]}
    assert "TAGS" not in mosaic("ps")[1]


def test_a_preflight_tells_each_line_with_what_to_do(mosaic: Mosaic, answers: Answers) -> None:
    """Blocking is 1; the line says what to do; what takes consent comes with the option that gives it."""
    lines = [
        {"id": "worker", "title": "worker", "level": "ok", "message": "ready"},
        {
            "id": "disk",
            "title": "disk",
            "level": "blocking",
            "message": "full",
            "todo": "Make room.",
        },
    ]
    report = {
        "ok": False,
        "lines": lines,
        "needs": ["internet access to wandb.ai"],
        "digest": "d1g",
    }
    answers["/api/v1/preflight"] = report
    code, out, _ = mosaic("preflight", "cleanrl", "ppo", "CartPole-v1", "--secret", "KEY")
    assert code == 1
    for words in ("Make room.", "internet access to wandb.ai", "--consent d1g", "would not start"):
        assert words in out
    assert answers.last("POST").body["secrets"] == ["KEY"]
    answers["/api/v1/preflight"] = report | {"ok": True}
    code, out, _ = mosaic("preflight", "cleanrl", "ppo", "CartPole-v1", "--json")
    assert (code, strict(out)["digest"]) == (0, "d1g")


def test_top_shows_machine_and_runs(mosaic: Mosaic, answers: Answers) -> None:
    """Off a terminal it is one look; with --json that sample alone; before the first sample it says so."""
    held = [{"uuid": "GPU-a", "memory_bytes": None}]
    use = {"run_id": RUN_ID, "cpu_percent": 93.0, "rss_bytes": 2**30, "processes": 3}
    use |= {"gpu_percent": 41.0, "gpus": held}
    sample = {
        "t": 1.0, "cpu_percent": 48.0, "cores": 2, "load1": 1.5,
        "memory_used_bytes": 2**32, "memory_total_bytes": 2**34,
        "disk_free_bytes": 2**35, "disk_total_bytes": 2**36, "runs": [use],
    }  # fmt: skip
    answers["/api/v1/machine"] = {
        "interval_s": 2,
        "samples": [sample, sample],
        "gpu_note": "no driver",
    }
    code, out, _ = mosaic("top")
    assert code == 0
    for words in (
        "48 % of 2 cores",
        "4.0 GiB of 16.0 GiB used (25 %)",
        "93 %",
        RUN_ID,
        "no driver",
    ):
        assert words in out
    assert strict(mosaic("top", "--json")[1])["runs"] == [use | {"gpu_memory_bytes": None}]
    answers["/api/v1/machine"] = {"interval_s": 2, "samples": []}
    assert mosaic("top")[0] == 4


def test_gpus_are_shown_with_everybody_on_them(mosaic: Mosaic, answers: Answers) -> None:
    """Leases, sharers, strangers and losses in words; without a device the reason; --json as it came."""
    taken = {"run_id": RUN_ID, "attempt": 1, "taken_at": "2026-01-01T00:00:00Z"}
    gpu = {"index": 0, "name": "A100", "memory_total_bytes": 2**33}
    desktop = {"kind": "graphics", "pid": 7, "name": "Xorg", "user": "ada", "memory_bytes": 2**28}
    devices: list[dict[str, Any]] = [
        gpu | {"uuid": "GPU-a", "state": "shared", "leases": [taken | {"memory_mb": 1000}]},
        gpu | {"uuid": "MIG-b", "state": "ending", "card": "GPU-x", "leases": [taken | {"ending": True}]},
        gpu | {"uuid": "GPU-c", "state": "foreign", "foreign": [desktop], "memory_used_bytes": 2**28},
        gpu | {"uuid": "GPU-d", "state": "lost", "detail": "GPU is lost", "index": -1},
    ]  # fmt: skip
    report = {"state": "partial", "note": "GPU 3 cannot be read.", "share_limit": 4}
    answers["/api/v1/gpus"] = report | {"devices": devices}
    code, out, err = mosaic("gpus")
    assert code == 0
    for words in (
        f"run {RUN_ID}, 1,000 MiB",
        "has ended; its memory is not free yet",
        "(MIG-b)",
        "Xorg (pid 7, ada, graphics, 256.0 MiB)",
        "256.0 MiB of 8.0 GiB",
        "GPU is lost",
    ):
        assert words in out
    assert "GPU 3 cannot be read." in err
    assert len(strict(mosaic("gpus", "--json")[1])["devices"]) == 4
    answers["/api/v1/gpus"] = report | {"note": "No NVIDIA GPU is seen here."}
    assert mosaic("gpus")[1:] == ("", "No NVIDIA GPU is seen here.\n")


def test_the_queue_says_what_is_waited_for_and_how_long(mosaic: Mosaic, answers: Answers) -> None:
    """Reason, GPUs asked for, and a rough start where one is known."""
    soon = (datetime.now(UTC) + timedelta(minutes=12, seconds=10)).isoformat()
    waiting = RUN | {
        "state": "queued",
        "position": 1,
        "waiting_reason": "needs 2 GPUs; 1 of 2 free",
    }
    waiting["spec"] = RUN["spec"] | {"gpus": 2, "gpu_memory_mb": 4000}
    answers["/api/v1/queue"] = {"runs": [waiting | {"expected_start_at": soon}, waiting]}
    out = mosaic("queue")[1]
    for words in ("needs 2 GPUs; 1 of 2 free", "2 x 4,000 MiB", "in ~12 min"):
        assert words in out


def test_a_run_asks_for_gpus_by_options(mosaic: Mosaic, answers: Answers) -> None:
    """`--gpus`, `--gpu-memory-mb` and `--memory-mb` are fields of the spec."""
    answers["/api/v1/runs/check"] = {"ok": True, "findings": []}
    asked = ("run", "cleanrl", "ppo", "CartPole-v1", "--gpus", "1", "--gpu-memory-mb", "2000")
    assert mosaic(*asked, "--memory-mb", "4000", "--dry-run")[0] == 0
    spec = answers.last("POST").body
    assert (spec["gpus"], spec["gpu_memory_mb"], spec["memory_mb"]) == (1, 2000, 4000)


def test_a_stack_elsewhere_is_named_by_options(
    mosaic: Mosaic, answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--url` and `--token-file` win over the environment, before the verb and after it, and for verbs in a group."""
    answers["/api/v1/queue"] = {"runs": []}
    token = tmp_path / "another"
    token.write_text("theirs")
    there = ["--url", answers.url, "--token-file", str(token)]
    for words in ([*there, "ps"], ["ps", *there], [*there, "queue"], ["queue", "list", *there]):
        monkeypatch.setenv("MOSAIC_URL", "http://127.0.0.1:1")
        monkeypatch.delenv("MOSAIC_TOKEN_FILE", raising=False)
        assert mosaic(*words)[0] == 0
        assert answers.asked[-1].token == "theirs"


def test_ps_sends_a_search(mosaic: Mosaic, answers: Answers) -> None:
    """The words of a search reach the stack as one text."""
    assert mosaic("ps", "lr>=1e-3 state:failed", "tag:a")[0] == 0
    assert answers.last("GET").query["q"] == ["lr>=1e-3 state:failed tag:a"]


def test_ps_marks_the_wrong_word_of_a_search(mosaic: Mosaic, answers: Answers) -> None:
    """What cannot be read is not sent; what only the stack knows to be wrong is shown in the same way."""
    asked = len(answers.asked)
    code, _, err = mosaic("ps", "tag:a best>high")
    assert (code, len(answers.asked)) == (2, asked)
    assert "tag:a best>high\n      ^^^^^^^^^\n" in err
    place = {"where": "q", "message": "there is no key or parameter 'rl'.", "start": 6, "end": 10}
    refusal = {"status": 422, "code": "request_invalid", "title": "No", "fields": [place]}
    answers["/api/v1/runs"] = refusal
    code, _, err = mosaic("ps", "tag:a rl>1")
    assert code == 2
    assert "tag:a rl>1\n      ^^^^\n" in err
