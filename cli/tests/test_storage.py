"""`disk`, `gc`, `pin`, `unpin`: what they ask, what they say, how they end; and the example of the guide."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

from mosaic_cli.stack.layout import Layout
from mosaic_cli.storage.outside import OutsideEntry, OutsideKind
from mosaic_contracts.storage import StorageProfiles

NOW = datetime.now(UTC)
TOMORROW = (NOW + timedelta(days=1, hours=1)).isoformat()
MIB = 2**20
USE: dict[str, Any] = {
    "run_id": RUN_ID,
    "name": "a run",
    "state": "succeeded",
    "bytes": 7 * MIB,
    "event_bytes": MIB,
    "kinds": [
        {"kind": "video", "files": 2, "bytes": 5 * MIB, "allowed": 5},
        {"kind": "checkpoint", "files": 1, "bytes": MIB},
    ],
    "profile": "default",
    "next_removal": {
        "path": "videos/a.mp4",
        "kind": "video",
        "bytes": 2 * MIB,
        "at": TOMORROW,
        "rule": "video: max age 30 days",
    },
}
TRASH = {
    "files": 1,
    "bytes": 3 * MIB,
    "next_expiry_at": TOMORROW,
    "items": [
        {
            "id": 4,
            "run_id": RUN_ID,
            "path": "videos/old.mp4",
            "kind": "video",
            "bytes": 3 * MIB,
            "rule": "video: max count 3",
            "removed_at": NOW.isoformat(),
            "expires_at": TOMORROW,
        }
    ],
}
REPORT: dict[str, Any] = {
    "volumes": [
        {
            "label": "runs, store",
            "path": "/data",
            "free_bytes": 2 * MIB,
            "total_bytes": 64 * MIB,
            "level": "low",
            "used_bytes": 9 * MIB,
            "message": "The disk of runs, store is low.",
        }
    ],
    "kinds": USE["kinds"],
    "runs": [USE],
    "run_count": 3,
    "run_bytes": 7 * MIB,
    "trash": TRASH,
    "store_bytes": 4 * MIB,
    "planned_files": 2,
    "planned_bytes": 5 * MIB,
    "checked_at": NOW.isoformat(),
}
PLAN: dict[str, Any] = {
    "items": [
        {
            "run_id": RUN_ID,
            "path": "videos/a.mp4",
            "kind": "video",
            "bytes": 2 * MIB,
            "rule": "video: max count 3",
            "reason": "more than 3 videos",
        }
    ],
    "files": 1,
    "bytes": 2 * MIB,
    "bytes_by_kind": {"video": 2 * MIB},
    "kept": [
        {"reason": "pinned", "text": "their runs are pinned", "files": 2, "bytes": MIB},
    ],
    "planned_at": NOW.isoformat(),
}
STORAGE = "/api/v1/storage"


@pytest.fixture
def stored(answers: Answers) -> Answers:
    """A stack that has something on its disk."""
    answers |= {STORAGE: REPORT, f"{STORAGE}/plan": PLAN}
    return answers


def test_disk_shows_volumes_kinds_runs_and_what_would_go(mosaic: Mosaic, stored: Answers) -> None:
    """A low disk is said first, and how to remove what would go last."""
    code, out, err = mosaic("disk", "--stack-only")
    assert code == 0
    for words in (
        "runs, store",
        "low",
        "video",
        "5.0 MiB",
        "video 5.0 MiB (2 of 5)",
        "and 2 smaller runs",
    ):
        assert words in out
    assert err.startswith("The disk of runs, store is low.")
    assert "./mosaic gc --dry-run" in err
    assert strict(mosaic("disk", "--stack-only", "--json")[1])["storage"]["run_count"] == 3


def test_disk_counts_what_lies_outside_and_names_the_command(
    mosaic: Mosaic, stored: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only for the stack of this machine: what lies here says nothing of another one."""
    entry = OutsideEntry(OutsideKind.ENVIRONMENT, "scheduler", 5 * MIB, MIB, "rm -r /v/scheduler")
    monkeypatch.setattr(
        "mosaic_cli.verbs.storage.outside_entries", lambda *_args, **_given: [entry]
    )
    monkeypatch.setattr("mosaic_cli.verbs.storage.is_elsewhere", lambda: False)
    out = mosaic("disk")[1]
    assert "environment scheduler" in out
    assert "rm -r /v/scheduler" in out
    monkeypatch.setattr("mosaic_cli.verbs.storage.is_elsewhere", lambda: True)
    assert "environment scheduler" not in mosaic("disk")[1]


def test_disk_of_a_run_says_what_is_kept_and_what_goes_next(
    mosaic: Mosaic, stored: Answers
) -> None:
    """By kind, with the limit of its profile, and when the next file goes by which rule."""
    _, out, _ = mosaic("disk", "last")
    assert "2 of 5" in out
    assert "next: videos/a.mp4 (2.0 MiB) goes in ~1 d: video: max age 30 days" in out
    assert stored.last("GET").query == {"run": [RUN_ID]}
    stored[STORAGE] = REPORT | {"runs": [USE | {"pinned": True, "next_removal": None}]}
    assert f"./mosaic unpin {RUN_ID}" in mosaic("disk", "last")[1]
    stored[STORAGE] = REPORT | {"runs": []}
    assert mosaic("disk", "last")[0] == 4


def test_disk_without_a_stack_says_the_sizes_of_folders(mosaic: Mosaic, layout: Layout) -> None:
    """A full disk may be why no stack is up."""
    (layout.home / "runs").mkdir(parents=True)
    (layout.home / "runs" / "file").write_bytes(b"x" * MIB)
    code, out, err = mosaic("disk", "--stack-only")
    assert (code, "runs" in out, "1.0 MiB" in out) == (0, True, True)
    assert "a stack that is up says more" in err
    found = strict(mosaic("disk", "--stack-only", "--json")[1])
    assert (found["storage"], found["folders"]["runs"] >= MIB) == (None, True)


def test_the_trash_is_listed_with_the_time_that_is_left(mosaic: Mosaic, stored: Answers) -> None:
    """Each file has a number, by which it alone is brought back."""
    _, out, err = mosaic("disk", "--trash")
    assert "videos/old.mp4" in out
    assert "in ~1 d" in out
    assert "--item N" in err
    stored[STORAGE] = REPORT | {"trash": {}}
    assert "The trash is empty" in mosaic("disk", "--trash")[2]


def test_profiles_are_listed_with_their_rules(mosaic: Mosaic, stored: Answers) -> None:
    """With which one counts for runs that name none, and what is wrong with the file."""
    content = StorageProfiles.model_validate(
        {
            "default": "lab",
            "automatic": False,
            "profiles": {"lab": {"rules": [{"kind": "video", "max_count": 3}], "steps_every": 4}},
        }
    )
    answer = {"path": "/data/storage_profiles.yaml", "exists": True}
    stored[f"{STORAGE}/profiles"] = answer | {"content": content.model_dump(mode="json")}
    _, out, err = mosaic("disk", "--profiles")
    lines = out.splitlines()
    at = lines.index("lab (default, of runs that name none)")
    assert lines[at + 1 : at + 3] == [
        "  video: max count 3",
        "  steps: those of 1 in 4 episodes stay",
    ]
    assert lines[lines.index("keep_all") + 1] == "  removes nothing"
    assert "automatic: false" in err
    stored[f"{STORAGE}/profiles"] |= {"problem": "line 3: there is no field keep_lst."}
    assert "line 3" in mosaic("disk", "--profiles")[2]


def test_a_dry_run_lists_what_would_go_and_what_stays(mosaic: Mosaic, stored: Answers) -> None:
    """Nothing is sent that changes anything; filters are sent on."""
    code, out, err = mosaic("gc", "--dry-run", "--kind", "video", "--run", "last")
    assert (code, "more than 3 videos" in out) == (0, True)
    assert "1 file, 2.0 MiB: video 2.0 MiB. Nothing was changed" in err
    assert "2 files (1.0 MiB) would go and stay: their runs are pinned" in err
    sent = stored.last("POST")
    assert (sent.path, sent.body["kinds"], sent.body["run_ids"]) == (
        f"{STORAGE}/plan",
        ["video"],
        [RUN_ID],
    )
    stored[f"{STORAGE}/plan"] = {"items": [], "planned_at": NOW.isoformat()}
    assert "Nothing would go" in mosaic("gc", "-n")[2]


def test_steps_are_no_files(mosaic: Mosaic, stored: Answers) -> None:
    """Plan and result count them by themselves; a step of the work that frees no whole page goes on."""
    steps = {"path": "", "kind": "steps", "files": 0, "steps": 54_074, "bytes": 2 * MIB}
    item = steps | {"rule": "storage profile lean", "reason": "metrics stay", "run_id": RUN_ID}
    stored[f"{STORAGE}/plan"] = {
        "items": [item],
        "steps": 54_074,
        "bytes": 2 * MIB,
        "bytes_by_kind": {"steps": 2 * MIB},
        "planned_at": NOW.isoformat(),
    }
    _, out, err = mosaic("gc", "-n")
    assert "about 54,074 steps" in out
    assert "about 54,074 steps, 2.0 MiB: steps 2.0 MiB. Nothing was changed" in err
    assert "file" not in err
    answers = iter(
        [
            {"steps": 10, "bytes_by_kind": {"steps": 100}, "left": 1},
            {"steps": 5, "bytes_by_kind": {"steps": 2 * MIB - 100}, "freed_bytes": MIB},
        ]
    )
    stored[f"{STORAGE}/prune"] = lambda _asked: next(answers)
    code, _, err = mosaic("gc")
    assert code == 0
    assert "15 steps removed from the store for good, 2.0 MiB." in err
    assert "1.0 MiB given back to the disk." in err
    assert "Nothing to remove" not in err


def test_gc_repeats_bounded_steps_and_adds_them_up(mosaic: Mosaic, stored: Answers) -> None:
    """The last answer has nothing left; the sums are of all steps."""
    steps = iter(
        [
            {"files": 2, "bytes": MIB, "bytes_by_kind": {"video": MIB}, "left": 1},
            {"files": 1, "bytes": MIB, "bytes_by_kind": {"video": MIB}, "undo_until": TOMORROW},
        ]
    )
    stored[f"{STORAGE}/prune"] = lambda _asked: next(steps)
    code, out, err = mosaic("gc")
    assert (code, out) == (0, "")
    assert "3 files removed, 2.0 MiB (video 2.0 MiB)." in err
    assert "./mosaic gc --undo" in err
    asked = [one for one in stored.asked if one.path == f"{STORAGE}/prune"]
    assert [one.body for one in asked] == [{}, {}]


def test_gc_ends_where_a_step_removes_nothing(mosaic: Mosaic, stored: Answers) -> None:
    """What is left is said, with the exit code for what cannot be done now."""
    stored[f"{STORAGE}/prune"] = {"files": 0, "left": 3}
    code, _, err = mosaic("gc")
    assert (code, "3 files could not be removed now" in err) == (6, True)
    stored[f"{STORAGE}/prune"] = {"files": 0, "left": 0}
    code, _, err = mosaic("gc")
    assert (code, err.splitlines()[0]) == (0, "Nothing to remove.")
    assert "2 files (1.0 MiB) would go and stay: their runs are pinned" in err


def test_undo_brings_back_all_or_one_file(mosaic: Mosaic, stored: Answers) -> None:
    """What could not be brought back is said, and is no success."""
    stored[f"{STORAGE}/undo"] = {"files": 2, "bytes": MIB}
    code, _, err = mosaic("gc", "--undo", "--item", "4", "--item", "5")
    assert (code, err) == (0, "2 files brought back, 1.0 MiB.\n")
    assert stored.last("POST").body == {"items": [4, 5]}
    stored[f"{STORAGE}/undo"] = {"refused": ["videos/a.mp4: another file has its place."]}
    code, _, err = mosaic("gc", "--undo")
    assert (code, err) == (6, "videos/a.mp4: another file has its place.\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--undo", "--dry-run"),
        ("--undo", "--empty-trash"),
        ("--item", "4"),
        ("--dry-run", "--empty-trash"),
        ("--undo", "--kind", "video"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    mosaic: Mosaic, stored: Answers, words: tuple[str, ...]
) -> None:
    """Nothing is sent."""
    assert mosaic("gc", *words)[0] == 2
    assert not [one for one in stored.asked if one.method == "POST"]


@pytest.mark.parametrize(("verb", "pinned"), [("pin", True), ("unpin", False)])
def test_runs_are_pinned_and_unpinned(
    mosaic: Mosaic, answers: Answers, verb: str, pinned: bool
) -> None:
    """The change is one field of the run."""
    answers[f"PATCH {OF_RUN}"] = RUN | {"pinned": pinned}
    code, out, err = mosaic(verb, "last")
    assert (code, out, RUN_ID in err) == (0, "", True)
    expected: dict[str, Any] = {"pinned": pinned}
    assert answers.last("PATCH").body == expected | ({} if pinned else {"pinned_files": []})


@pytest.mark.parametrize(
    ("verb", "name", "known", "sent"),
    [
        ("pin", "200", [], ["checkpoints/200.pt"]),
        ("pin", "best", ["a"], ["a", "checkpoints/100.pt"]),
        ("pin", "last", ["a"], ["a", "checkpoints/200.pt"]),
        ("unpin", "checkpoints/200.pt", ["a", "checkpoints/200.pt"], ["a"]),
        ("unpin", "a", ["a"], []),
    ],
)
def test_a_checkpoint_is_pinned_by_itself(
    mosaic: Mosaic, answers: Answers, verb: str, name: str, known: list[str], sent: list[str]
) -> None:
    """By path, name or step; `best` and `last` are those of now. The file of a pin may be gone."""
    rows = [
        {"path": f"checkpoints/{step}.pt", "step": step, "mean_return_20": 1.0 / step}
        for step in (100, 200)
    ]
    kinds = {"kind": "checkpoint", "bytes": 5}
    whose = {"run_id": RUN_ID, "worker": "w", "algorithm": "a", "environment": "e", "bytes": 5}
    answers[f"{OF_RUN}/artifacts"] = [
        kinds | {"path": row["path"], "step": row["step"]} for row in rows
    ]
    answers["/api/v1/checkpoints"] = {"checkpoints": [whose | row for row in rows]}
    answers[OF_RUN] = RUN | {"pinned_files": known}
    answers[f"PATCH {OF_RUN}"] = RUN | {"pinned_files": sent}
    code, _, err = mosaic(verb, RUN_ID, "--checkpoint", name)
    assert (code, RUN_ID in err) == (0, True)
    assert answers.last("PATCH").body == {"pinned_files": sent}


def test_a_checkpoint_is_of_one_run(mosaic: Mosaic, answers: Answers) -> None:
    """Nothing is changed otherwise, nor when there is no such checkpoint."""
    code, _, err = mosaic("pin", "last", "last", "--checkpoint", "best")
    assert (code, "is for one run" in err) == (2, True)
    answers["/api/v1/checkpoints"] = {"checkpoints": []}
    code, _, err = mosaic("pin", "last", "--checkpoint", "best")
    assert (code, "no best checkpoint" in err) == (4, True)
    assert not [one for one in answers.asked if one.method == "PATCH"]


def test_the_profile_of_a_run_is_shown_and_changed(mosaic: Mosaic, answers: Answers) -> None:
    """`--default` gives it none."""
    assert mosaic("profile", "last")[:2] == (0, "the default profile\n")
    answers[f"PATCH {OF_RUN}"] = RUN | {"storage_profile": "lean"}
    code, out, err = mosaic("profile", "last", "lean")
    assert (code, out, "has the storage profile lean" in err) == (0, "", True)
    assert answers.last("PATCH").body == {"storage_profile": "lean"}
    answers[f"PATCH {OF_RUN}"] = RUN
    assert "has the default storage profile" in mosaic("profile", "last", "--default")[2]
    assert answers.last("PATCH").body == {"storage_profile": None}
    assert mosaic("profile", "last", "lean", "--default")[0] == 2


def test_the_profiles_of_the_guide_are_valid() -> None:
    """The example can be copied as it is, and says what its comments say."""
    guide = (Path(__file__).parents[2] / "docs" / "storage.md").read_text("utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", guide, re.S | re.M)
    content = StorageProfiles.model_validate(YAML(typ="safe").load(example))
    profile = content.profiles[content.default]
    assert {"lab", "default", "lean", "keep_all"} == content.profiles.keys()
    assert [rule.kind for rule in profile.rules] == ["video", "checkpoint", "tensorboard"]
    assert (profile.budget_bytes, profile.grace_hours, profile.steps_every) == (50 * 10**9, 48, 10)
