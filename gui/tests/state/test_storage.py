"""What fills the disks, in words: entries of the picture, disks, what is kept, and how long the trash has."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.specimen import run as run_spec
from tests.specimen import run_id
from tests.storage_specimen import MIB, plan, report, trash_item, use

from mosaic_contracts.storage_reports import RunStorage, TrashItem
from mosaic_gui.state.storage import (
    EVENTS,
    ahead,
    details_rows,
    kind_rows,
    kind_word,
    map_entries,
    plan_rows,
    plan_words,
    retention_words,
    run_names,
    share_text,
    storage_line,
    tile_label,
    tile_words,
    trash_rows,
    volume_words,
)
from mosaic_gui.state.storage_map import MapGrouping, MapTile, map_groups

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def of_run(**fields: object) -> RunStorage:
    """A run with three videos, of which its profile lets it have five."""
    return RunStorage.model_validate(use(0) | fields)


def test_runs_without_a_row_are_one_entry_and_no_byte_is_lost() -> None:
    """A report names the largest runs; the picture has all bytes."""
    found = report(200, rows=20)
    entries = map_entries(found)
    assert [entry.run_id for entry in entries] == [*(run_id(n) for n in range(20)), ""]
    assert entries[-1].runs == 180
    assert sum(entry.bytes for entry in entries) == found.run_bytes
    assert entries[-1].kinds[EVENTS] > 0
    (group,) = map_groups(entries, MapGrouping.RUN)
    assert (group.tiles[-1].run_id, group.tiles[-1].runs) == ("", 180)


def test_a_report_with_all_runs_has_no_further_entry() -> None:
    """Every run has its own tile."""
    assert len(map_entries(report(7))) == 7


def test_a_tile_is_named_by_what_distinguishes_it() -> None:
    """Next to others of its algorithm and environment the seed is enough; a name that was given always counts."""
    named = run_spec(1, spec={"name": "baseline"})
    names = {one.run_id: run_names(one) for one in (run_spec(0), named)}
    entries = map_entries(report(3), names)
    assert [(entry.name, entry.short) for entry in entries[:2]] == [
        ("ppo CartPole-v1 · seed 1", "seed 1"),
        ("baseline", "baseline"),
    ]
    groups = map_groups(entries, MapGrouping.ORIGIN)
    labels = {tile.run_id: tile_label(tile) for group in groups for tile in group.tiles}
    assert labels[run_id(0)] == "seed 1"
    (group,) = map_groups(entries, MapGrouping.RUN)
    assert tile_label(group.tiles[0]) == "ppo CartPole-v1 · seed 1"


def test_a_kind_of_a_worker_keeps_its_name() -> None:
    """Only kinds that MOSAIC knows have words of their own."""
    assert [kind_word(kind) for kind in ("video", "replay_buffer")] == ["Videos", "replay_buffer"]


def test_a_tile_says_what_it_is_without_its_colour() -> None:
    """For a tool tip and for screen readers: name, size, share, pin and kinds."""
    tile = MapTile("R1", "one", (("video", 3 * MIB), ("log", MIB)), "", is_pinned=True)
    assert tile_words(tile, 8 * MIB).split("\n") == [
        "one, 4.0 MiB, 50 %",
        "Pinned",
        "Videos: 3.0 MiB",
        "Logs: 1.0 MiB",
    ]


def test_a_low_disk_has_the_tone_of_a_warning() -> None:
    """Its message says what to do."""
    fine, low = (volume_words(volume) for volume in report().volumes)
    assert (fine.level, fine.tone, fine.free) == ("OK", "ok", "41.0 GiB free of 64.0 GiB")
    assert (low.level, low.tone) == ("Low", "warn")
    assert low.message
    assert 0 < fine.own_share < fine.used_share < 1


def test_kept_of_allowed_is_said_where_there_is_a_limit() -> None:
    """`3 of 5` of what has a limit, else the number."""
    run = of_run()
    rows = {kind: number for kind, number, _ in kind_rows(run)}
    assert (rows["Videos"], rows["Logs"], rows["Events"]) == ("3 of 5", "2", "")
    details = dict(details_rows(run))
    assert details["Videos (disk)"].endswith("MiB (3 of 5)")
    assert "(" not in details["Events (disk)"].removesuffix(" (disk)")


def test_steps_are_a_part_of_the_events() -> None:
    """No byte counts twice: what is left are events that stay for ever."""
    kinds = [{"kind": "steps", "bytes": 3 * MIB}, {"kind": "log", "files": 1, "bytes": MIB}]
    run = of_run(kinds=kinds, event_bytes=5 * MIB, bytes=6 * MIB)
    assert kind_rows(run) == [
        ("Steps of episodes", "", "3.0 MiB"),
        ("Logs", "1", "1.0 MiB"),
        ("Events", "", "2.0 MiB"),
    ]
    (entry,) = map_entries(report(1, runs=[run], run_bytes=6 * MIB))
    assert entry.bytes == run.bytes


def test_retention_says_what_goes_next_and_why() -> None:
    """A pin, and what keeps a run, come before its profile."""
    run = of_run()
    assert run.next_removal is not None
    at = run.next_removal.at
    assert at is not None
    words = retention_words(run, at - timedelta(days=12, hours=1))
    assert storage_line(run, at - timedelta(days=3)).endswith("Videos go in 3 days")
    assert storage_line(of_run(pinned=True), NOW).endswith(", pinned")
    assert words[1].startswith("Goes next, in 12 days: videos/episode-3.mp4 (3.0 MiB)\nvideo: keep")
    assert retention_words(of_run(pinned=True), NOW)[1].startswith("Pinned")
    kept = of_run(kept_because="it runs", next_removal=None)
    assert retention_words(kept, NOW)[1] == "Nothing goes now: it runs"
    assert "as it is now" in retention_words(of_run(next_removal=None), NOW)[1]


def test_the_plan_is_said_in_a_sentence_with_what_is_protected() -> None:
    """What stays for another reason is counted."""
    assert plan_words(plan(5)) == "5 files would go now: 15.0 MiB  ·  4 more files are protected"
    assert plan_words(plan(0, files=0, kept=[])).startswith("Nothing would go")
    assert plan_words(None) == ""
    (row,) = plan_rows(plan(1))
    assert row[1:4] == ("videos/episode-0.mp4", "Videos", "3.0 MiB")


def test_a_file_in_the_trash_has_the_time_that_is_left() -> None:
    """As long as it can be brought back."""
    item = TrashItem.model_validate(trash_item(3))
    (row,) = trash_rows([item], item.expires_at - timedelta(hours=3))
    assert row[-1] == "in 3 h"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "now"),
        (20, "in 1 min"),
        (1_800, "in 30 min"),
        (7_200, "in 2 h"),
        (86_400 * 3, "in 3 days"),
    ],
)
def test_a_time_to_come_is_rounded(seconds: float, words: str) -> None:
    """No reader needs the second."""
    assert ahead(NOW + timedelta(seconds=seconds), NOW) == words
    assert ahead(None, NOW) == "now"


@pytest.mark.parametrize(
    ("part", "words"), [(0, "0 %"), (1, "< 1 %"), (250, "25 %"), (1000, "100 %")]
)
def test_a_share_that_is_little_is_not_nothing(part: int, words: str) -> None:
    """A small run is not said to take nothing."""
    assert share_text(part, 1000) == words
