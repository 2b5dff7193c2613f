"""Control sequences in what people, workers and files say: no verb passes them on to a terminal."""

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic

from mosaic_cli.verb_table import ENTRIES

EVIL = (
    "a\x1b[31mb\x1b]0;title\x07c\x1b]8;;file:///etc/passwd\x1b\\d\x1b(Be\x1b7f\x9b5ng\x9d0;t\x9ch"
    "\x08\x7f\rcut\x1b]52;c;AAAA"
)
"""Colour, title, link, character set, cursor, 8-bit forms, an unfinished OSC; harmless words between them."""
MARKUP = "[bold]i[/bold][/nothing][link=file:///etc]j"
"""What rich would take for its own: a style, an error, a link."""
FREE = f"{MARKUP} {EVIL}"
NO_TERMINAL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")

ENDED = RUN | {
    "name": FREE,
    "spec": {
        "worker": "cleanrl",
        "algorithm": FREE,
        "environment": FREE,
        "name": FREE,
        "parameters": {FREE: FREE},
    },
    "state": "failed",
    "ended_at": "2026-01-01T00:00:02Z",
    "end": {"cause": "exit_code", "message": FREE, "last_lines": [FREE]},
    "tags": [FREE],
    "note": FREE,
    "notes": [FREE],
    "waiting_reason": FREE,
    "worker_version": FREE,
    "image": FREE,
    "run_dir": FREE,
    "telemetry_pending": True,
    "summary": {"run_id": RUN_ID, "episodes": 3},
}
FINDING = {"level": "blocking", "where": FREE, "message": FREE, "nearest": [FREE]}
MANIFEST = {"id": "cleanrl", "title": FREE, "hint": FREE, "command": ["x"]}
ALGORITHM = {
    "id": "ppo",
    "title": FREE,
    "summary": FREE,
    "action_spaces": [FREE],
    "default_environment": FREE,
    "parameters": {"properties": {FREE: {"default": FREE, "type": FREE, "description": FREE}}},
}
DESCRIBED = {
    "worker": "cleanrl",
    "version": FREE,
    "title": FREE,
    "summary": FREE,
    "record_levels": [],
    "algorithms": [ALGORITHM],
    "environments": [{"id": FREE}],
}
WORKER = {"manifest": MANIFEST, "ready": False, "findings": [FINDING], "description": DESCRIBED}
EVENT = {"attempt": 1, "source": "worker", "seq": 1, "type": FREE, "t": 1.0, "message": FREE}
LINES = [{"id": "spec", "title": FREE, "level": "warning", "message": FREE, "todo": FREE}]
PROBLEM = {
    "status": 422,
    "code": "spec_invalid",
    "title": FREE,
    "detail": FREE,
    "fields": [{"where": FREE, "message": FREE, "nearest": [FREE]}],
}
GPU = {
    "index": 0,
    "uuid": FREE,
    "name": FREE,
    "state": "foreign",
    "detail": FREE,
    "foreign": [{"pid": 1, "user": FREE, "name": FREE, "kind": "compute"}],
}
UPLOAD = {"tracker": "wandb", "state": "incomplete", "error": FREE}
PLAN = {
    "run_id": RUN_ID,
    "way": "store",
    "address": FREE,
    "project": FREE,
    "entity": FREE,
    "files": 1,
    "file_bytes": 1,
    "lines": LINES,
    "needs": [FREE],
    "digest": FREE,
}
AT = "2026-01-01T00:00:00Z"
KIND_USE = {"kind": FREE, "files": 1, "bytes": 1, "allowed": 2}
GROUP = {
    "group_id": f"g{RUN_ID}",
    "kind": "group",
    "name": FREE,
    "created_at": AT,
    "worker": FREE,
    "algorithm": FREE,
    "environments": [FREE],
    "total": 2,
    "counts": {"failed": 2},
    "run_ids": [RUN_ID],
}
GROUP_PLAN = {"ok": True, "runs": 2, "expected_s": 9.0, "name": FREE, "names": [FREE, FREE]}
STORAGE = {
    "volumes": [
        {
            "label": FREE,
            "path": FREE,
            "free_bytes": 1,
            "total_bytes": 1,
            "level": "low",
            "message": FREE,
        }
    ],
    "kinds": [KIND_USE],
    "runs": [
        {
            "run_id": RUN_ID,
            "name": FREE,
            "state": "failed",
            "kinds": [KIND_USE],
            "profile": FREE,
            "kept_because": FREE,
            "next_removal": {"path": FREE, "kind": FREE, "bytes": 1, "rule": FREE},
        }
    ],
    "run_count": 2,
    "trash": {
        "files": 1,
        "items": [
            {
                "id": 1,
                "path": FREE,
                "kind": FREE,
                "bytes": 1,
                "rule": FREE,
                "removed_at": AT,
                "expires_at": AT,
            }
        ],
    },
    "planned_files": 1,
    "checked_at": AT,
    "notes": [FREE],
}
KEPT = [{"reason": FREE, "text": FREE, "files": 1, "bytes": 1}]
PRUNE_ITEM = {"path": FREE, "kind": FREE, "bytes": 1, "rule": FREE, "reason": FREE}
PRUNE_PLAN = {
    "items": [PRUNE_ITEM],
    "files": 1,
    "bytes_by_kind": {FREE: 1},
    "kept": KEPT,
    "planned_at": AT,
    "notes": [FREE],
}
SAMPLE = {
    "t": 1.0,
    "cpu_percent": 1.0,
    "cores": 1,
    "load1": 1.0,
    "memory_used_bytes": 1,
    "memory_total_bytes": 1,
    "disk_free_bytes": 1,
    "disk_total_bytes": 1,
    "runs": [{"run_id": RUN_ID, "cpu_percent": 1.0, "rss_bytes": 1, "processes": 1}],
}


ALERTS: dict[str, Any] = {
    "rules": [{"rule_id": "r1", "rule": FREE, "plain": FREE, "runs": FREE, "created_at": AT}],
    "alerts": [
        {
            "alert_id": 1,
            "run_id": RUN_ID,
            "run_name": FREE,
            "rule": FREE,
            "plain": FREE,
            "message": FREE,
            "raised_at": AT,
            "deliveries": [{"target": FREE, "state": "failed", "problem": FREE}],
        }
    ],
    "targets": [
        {"name": "chat", "kind": "webhook", "shown": FREE, "created_at": AT, "last_problem": FREE}
    ],
}


@pytest.fixture
def hostile(answers: Answers) -> Answers:
    """A stack in whose every free text there are control sequences."""
    answers |= {
        "/api/v1/runs": {"runs": [ENDED]},
        OF_RUN: ENDED,
        f"{OF_RUN}/artifacts": [{"path": FREE, "kind": FREE, "bytes": 1}],
        f"{OF_RUN}/manifest": {
            "run_id": RUN_ID,
            "entries": [{"path": FREE, "kind": FREE, "bytes": 1, "announced": True}],
            "links": [{"kind": "study", "run_id": FREE, "path": FREE}],
        },
        f"{OF_RUN}/metrics": [{"name": FREE, "points": 1, "last_step": 1, "last_value": 1}],
        f"{OF_RUN}/curve": {"run_id": RUN_ID, "name": FREE, "points": 0},
        f"{OF_RUN}/events": {"events": [EVENT], "cursor": "", "has_more": False},
        f"{OF_RUN}/episodes": {"episodes": []},
        f"{OF_RUN}/restore": ENDED,
        f"{OF_RUN}/retry": ENDED,
        f"{OF_RUN}/clone": PROBLEM,
        f"{OF_RUN}/play": PROBLEM,
        f"{OF_RUN}/fork": PROBLEM,
        f"{OF_RUN}/checkpoints/verify": PROBLEM,
        f"{OF_RUN}/syncs": {"syncs": [ENDED], "upload": UPLOAD},
        f"{OF_RUN}/syncs/check": PLAN,
        "/api/v1/tensorboards": PROBLEM,
        "/api/v1/checkpoints": PROBLEM,
        "/api/v1/queue": {"runs": [ENDED | {"state": "queued", "position": 1}]},
        "/api/v1/workers": {"workers": [WORKER]},
        "/api/v1/workers/cleanrl": WORKER,
        "/api/v1/runs/check": {"ok": False, "findings": [FINDING], "plan": {FREE: FREE}},
        "/api/v1/preflight": {"ok": True, "lines": LINES, "needs": [FREE], "digest": FREE},
        "/api/v1/stack": {"version": "1", "ready": True, "broker": True, "findings": [FREE]},
        "/api/v1/gpus": {"state": "ok", "share_limit": 1, "devices": [GPU], "note": FREE},
        "/api/v1/machine": {"interval_s": 1, "samples": [SAMPLE], "gpu_note": FREE},
        "/api/v1/secrets": {"secrets": [{"name": "A", "updated_at": "2026-01-01T00:00:00Z"}]},
        "/api/v1/storage": STORAGE,
        "/api/v1/groups": {"groups": [GROUP]},
        "/api/v1/groups/check": GROUP_PLAN,
        "/api/v1/storage/plan": PRUNE_PLAN,
        "/api/v1/storage/profiles": {"path": FREE, "exists": False, "problem": FREE, "content": {}},
        "/api/v1/storage/prune": {"files": 1, "bytes_by_kind": {FREE: 1}, "kept": KEPT},
        "/api/v1/storage/undo": {"files": 1, "refused": [FREE]},
        "/api/v1/alerts": ALERTS,
        "/api/v1/alerts/rules": ALERTS["rules"][0],
        "/api/v1/alerts/rules/r1": ALERTS["rules"][0],
        "/api/v1/alerts/rules/r1/restore": ALERTS["rules"][0],
        "/api/v1/alerts/test": {
            "rule": FREE,
            "plain": FREE,
            "changes": [{"is_raised": True, "message": FREE}],
            "note": FREE,
        },
        "/api/v1/alerts/targets/chat": ALERTS["targets"][0],
        "/api/v1/alerts/targets/chat/test": ALERTS["alerts"][0]["deliveries"][0],
        "/readyz": {"findings": [{"message": FREE}]},
        "/api/v1/tickets": {"url": FREE, "expires_at": "2026-01-01T00:00:00Z"},
    }
    return answers


LINES_OF_VERBS = [
    ("ps", "--flat"), ("run", "cleanrl", "a", "X", "--seed", "1-2", "--dry-run"), ("diff", "last", RUN_ID),
    ("ps",), ("show", "last"), ("status",), ("stop", "last"), ("queue",), ("queue", "hold", RUN_ID),
    ("events", "last"), ("episodes", "last"), ("metrics", "last"), ("metrics", "last", FREE), ("metrics", "last", EVIL),
    ("artifacts", "last"), ("download", "last", EVIL), ("link", "last", "x"), ("tag", "last"), ("note", "last"),
    ("rm", "last"), ("resume", "last"), ("restore", RUN_ID), ("retry", "last", "-d"), ("clone", "last", "-d"),
    ("play", "last"), ("evaluate", "last"), ("evaluate", "last", EVIL),
    ("play", "last", EVIL), ("workers",), ("describe",), ("describe", "cleanrl"), ("describe", "cleanrl", "ppo"),
    ("describe", EVIL), ("describe", "cleanrl", EVIL), ("check", "cleanrl", "ppo", "X"),
    ("preflight", "cleanrl", "ppo", "X"), ("run", "cleanrl", "ppo", "X"), ("run", EVIL), ("gpus",), ("top", "--once"),
    ("backup", EVIL), ("secret", "ls"), ("secret", "set", EVIL), ("doctor",),
    ("show", EVIL), ("export", EVIL), ("logs", EVIL), ("add", EVIL), ("new-worker", EVIL),
    ("beliefs", "last"), ("demo", "--steps", EVIL), ("xmpp", EVIL), ("images", "build", EVIL), (EVIL,), ("ps", EVIL),
    ("images", "export", EVIL), ("images", "export", f"a/{EVIL}"),
    ("ps", f"--{EVIL}"), ("completion", EVIL), ("worker-check", ".", f"--{EVIL}"), ("version", EVIL),
    ("up", EVIL), ("down", EVIL), ("watch", "last"), ("replay", "last", "-e", "0"), ("replay", EVIL, "-e", EVIL),
    ("export", "last", "-e", EVIL, "--mp4"), ("fork", "last", "-e", "0", "-k", "0"),
    ("fork", EVIL, "-e", "0", "-k", "0"),
    ("checkpoints",), ("checkpoints", "verify", "last"), ("checkpoints", "verify", EVIL), ("compare", "last", EVIL),
    ("compare", EVIL, "random"), ("compare", "--training", EVIL), ("reproduce", EVIL),
    ("reproduce", "last", "--with", EVIL), ("tensorboard", "last", "--no-open"), ("tensorboard", EVIL),
    ("disk", "--stack-only"), ("disk", "last"), ("disk", "--trash"), ("disk", EVIL), ("gc",), ("gc", "--dry-run"),
    ("disk", "--profiles"), ("gc", "--undo"), ("gc", "--run", EVIL), ("pin", "last"), ("pin", EVIL), ("unpin", "last"),
    ("profile", "last"), ("profile", EVIL), ("profile", "last", EVIL), ("pin", "last", "--checkpoint", EVIL),
    ("wandb", "status", "last"), ("wandb", "sync", "last"), ("wandb", "sync", EVIL), ("sweep", EVIL),
    ("archive", EVIL), ("archive", "last", "-o", EVIL), ("import", EVIL), ("report", EVIL),
    ("alerts",), ("alerts", "add", "nan"), ("alerts", "add", EVIL), ("alerts", "rm", "r1"), ("alerts", "restore", "r1"),
    ("alerts", "test", "nan", "last"), ("alerts", "target", "test", "chat"), ("alerts", "target", EVIL, "chat"),
    ("alerts", "target", "add", "chat", "--webhook", "http://a/b", "-y"), ("alerts", "target", "add", EVIL),
]  # fmt: skip


def test_every_verb_is_among_them() -> None:
    """A verb that is added is looked at as well."""
    assert {entry.verb.name for entry in ENTRIES} <= {line[0] for line in LINES_OF_VERBS}


@pytest.mark.parametrize("line", LINES_OF_VERBS, ids=lambda line: ascii(" ".join(line))[:40])
def test_no_control_character_reaches_a_terminal(
    line: tuple[str, ...], hostile: Answers, mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, tags, notes, parameters, findings and errors are shown without them, on stdout and on stderr."""
    monkeypatch.setattr("mosaic_cli.verbs.images.checkout_images", lambda *_: [])
    _, *said = mosaic(*line)
    assert all(NO_TERMINAL.search(talk) is None for talk in said)
    assert "cannot read" not in said[1], "the double answers as a gateway does"
    if EVIL not in "".join(line) and "\\u001b" not in said[0]:  # there it is visible
        assert "title" not in "".join(said), "what a sequence holds is no part of the text"


@pytest.mark.parametrize(
    "line", [("ps",), ("show", "last"), ("workers",), ("run", "cleanrl", "a", "X")]
)
def test_square_brackets_are_text(line: tuple[str, ...], hostile: Answers, mosaic: Mosaic) -> None:
    """A name cannot style what is printed, make a link, or end a verb with an error of the markup's parser."""
    said = "".join(mosaic(*line)[1:])
    assert "[bold]i" in "".join(said.split())
    assert "[link=file:///etc]j" in "".join(said.split())


@pytest.mark.parametrize(
    "line", [("ps", "--json"), ("show", "last", "--json"), ("events", "last", "--json")]
)
def test_json_escapes_them_and_keeps_them(
    line: tuple[str, ...], hostile: Answers, mosaic: Mosaic
) -> None:
    """A script reads every character as it was given, and a terminal sees none of them."""
    _, out, _ = mosaic(*line)
    assert NO_TERMINAL.search(out) is None
    assert FREE in _strings(json.loads(out))


def _strings(value: Any) -> list[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for one in inner for text in _strings(one)]


def test_on_a_terminal_only_colours_are_sent(hostile: Answers) -> None:
    """With colours on, the sequences that are sent are those of our own styles."""
    environ = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    for verb in ("ps", "show last", "workers", "queue"):
        command = [sys.executable, "-m", "mosaic_cli", *verb.split()]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
        assert "\x1b[" in done.stdout
        assert NO_TERMINAL.search(COLOUR.sub("", done.stdout + done.stderr)) is None


def test_a_line_break_in_a_name_makes_no_line(hostile: Answers, mosaic: Mosaic) -> None:
    """A name in several lines is written in one, so that it cannot look like a row or a message of ours."""
    spec = RUN["spec"] | {"name": "mine\n01KAAAAAAA  ppo X  succeeded"}
    hostile["/api/v1/runs"] = {"runs": [RUN | {"name": spec["name"], "spec": spec}]}
    hostile["/api/v1/groups"] = {"groups": [GROUP | {"name": spec["name"]}]}
    _, out, _ = mosaic("ps")
    assert len(out.splitlines()) == 3
