"""What runs differ in."""

from typing import Any

from mosaic_contracts.run_diff import DiffSide, compare_runs, value_text


def side(*, lr: float = 0.1, torch: str = "2.0", **more: Any) -> DiffSide:
    run = {
        "run_id": "01J",
        "state": "succeeded",
        "spec": {
            "worker": "w",
            "algorithm": "a",
            "environment": "e",
            "seed": 1,
            "parameters": {"lr": lr},
        },
        "defaults": {"gamma": 0.99},
        "summary": {"best_return": 5.0},
        **more,
    }
    config = {
        "arguments": {"lr": lr, "gamma": 0.99, "seed": 1, "net": {"layers": [1, 2]}},
        "packages": {"torch": torch},
        "surroundings": {"cpu": "x"},
        "git": {"commit": "abc"},
    }
    return DiffSide(run, config, {"losses/entropy": lr})


def test_rows_are_equal_or_not_by_section() -> None:
    rows = compare_runs([side(), side(lr=0.2, torch="2.1", tags=["new"])])

    different = {(row.section, row.name): row.values for row in rows if not row.equal}
    assert different == {
        ("Run", "tags"): (None, "new"),
        ("Parameters", "lr"): (0.1, 0.2),
        ("Packages", "torch"): ("2.0", "2.1"),
        ("Metrics", "losses/entropy"): (0.1, 0.2),
    }
    equal = {(row.section, row.name) for row in rows if row.equal}
    assert {
        ("Parameters", "gamma"),
        ("Parameters", "net"),
        ("Code", "git commit"),
        ("Hardware", "cpu"),
    } <= equal
    assert ("Parameters", "seed") not in equal, "the run has it"


def test_a_run_that_recorded_nothing_yet_has_no_values() -> None:
    rows = compare_runs([side(), DiffSide({**side().run, "defaults": {}})])

    by_name = {row.name: row for row in rows}
    assert by_name["torch"].values == ("2.0", None)
    assert not by_name["gamma"].equal
    assert by_name["lr"].equal


def test_what_a_run_has_yet_to_report_is_no_difference() -> None:
    """Next to runs that have begun, a run in the queue has no packages; that says nothing of it."""
    queued = DiffSide({**side(lr=0.2).run, "state": "queued"})
    rows = {row.name: row for row in compare_runs([side(), queued])}

    assert all(rows[name].equal for name in ("torch", "cpu", "git commit", "losses/entropy"))
    assert rows["torch"].values == ("2.0", None)
    assert not rows["lr"].equal
    assert not rows["state"].equal


def test_values_are_shown_in_a_line() -> None:
    values = (0.1 + 0.2, True, None, "two\nlines", {"b": 1, "a": [1]})

    shown = [value_text(value) for value in values]

    assert shown == ["0.3", "true", "null", "two lines", '{"a": [1], "b": 1}']


def test_all_packages_and_the_script_of_a_run_are_compared() -> None:
    known = side()
    one = {**known.config, "installed": {"gymnasium": "1"}, "script_file": {"sha256": "a"}}
    other = {**known.config, "installed": {"gymnasium": "2"}, "script_file": {"sha256": "b"}}
    rows = compare_runs([known._replace(config=one), known._replace(config=other)])

    different = {(row.section, row.name): row.values for row in rows if not row.equal}
    assert different == {
        ("Code", "script sha256"): ("a", "b"),
        ("Packages", "gymnasium"): ("1", "2"),
    }
