"""What goes by which rule, in which order, and what stays: pure decisions."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from mosaic_contracts.choices import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.storage import RetentionRule, StorageProfile, StorageProfiles
from mosaic_contracts.storage_words import KeptReason, RuleScope
from mosaic_contracts.store_upkeep import RunSpace
from mosaic_scheduler.retention.facts import RetainedRun, StoredRunRow, read_facts
from mosaic_scheduler.retention.inventory import StoredItem
from mosaic_scheduler.retention.planner import DAY_S, Decision, StorageFacts, allowed, decide

NOW = 1_000_000_000.0
RUN = RetainedRun(
    run_id="01J00000000000000000000000",
    revision=1,
    name="a run",
    worker="cleanrl",
    algorithm="ppo",
    environment="CartPole-v1",
    kind=RunKind.TRAIN,
    state=RunState.SUCCEEDED,
    ended_at=NOW - 10 * DAY_S,
    is_pinned=False,
    pinned_files=frozenset(),
    is_deleted=False,
    profile=None,
    replay_every=1,
    has_report=True,
    is_listed=True,
    kept=None,
)


def run(number: int, **changes: Any) -> RetainedRun:
    """One of several runs."""
    return dataclasses.replace(
        RUN, run_id=f"01J{number:023d}", ended_at=NOW - (100 - number) * DAY_S, **changes
    )


def file(path: str, kind: str, size: int = 10, place: int = 0, **facts: Any) -> StoredItem:
    """A file; later places are newer."""
    known: dict[str, Any] = {"t": NOW - 1000 + place, "step": None, "episode": None, "env": None}
    known |= {"mean": None, "reason": None, **facts}
    return StoredItem(path, path.encode(), kind, size, place=place, **known)


def checkpoints(*means: float | None) -> list[StoredItem]:
    """Checkpoints `0`, `1`, ... in the order in which they were saved."""
    return [file(str(n), "checkpoint", place=n, mean=mean) for n, mean in enumerate(means)]


def videos(count: int) -> list[StoredItem]:
    """Videos `v0`, `v1`, ... of as many episodes."""
    return [file(f"v{n}", "video", place=n, episode=n) for n in range(count)]


def decided(
    rules: Sequence[RetentionRule],
    files: Mapping[RetainedRun, Sequence[StoredItem]],
    restored: Mapping[str, frozenset[str]] | None = None,
    spaces: Mapping[str, RunSpace] | None = None,
    **profile: Any,
) -> Decision:
    """The decision for runs of one profile."""
    found = StorageProfile(rules=list(rules), **profile)
    return decide(
        StorageFacts(
            runs=list(files),
            files={facts.run_id: items for facts, items in files.items()},
            spaces=spaces or {},
            profile_of=lambda _name: ("small", found),
            restored=restored or {},
            now=NOW,
        )
    )


def gone(decision: Decision) -> list[str]:
    """Paths in the order in which they go."""
    return [item.path for planned in decision.units for item in planned.unit.items]


TEN = checkpoints(5, 9, 2, 7, 1, 3, 8, 4, 6, 0)
"""The best one is `1`, the newest `9`."""


@pytest.mark.parametrize(
    ("rule", "items", "expected"),
    [
        ({"keep_last": 2}, TEN, "4 2 5 7 0 3 6 1"),
        ({"keep_best": 2}, TEN, "4 2 5 7 0 8 3 9"),
        ({"keep_best": 1, "keep_last": 1}, TEN, "4 2 5 7 0 8 3 6"),
        ({"keep_every": 5}, TEN, "4 2 7 8 3 6 9 1"),
        ({"keep_best": 1, "keep_last": 1, "keep_every": 5}, TEN, "4 2 7 8 3 6"),
        ({"max_count": 8}, TEN, "4 2"),
        ({"max_count": 8, "keep_every": 2}, TEN, "5 7"),
        ({"max_count": 0}, TEN, "4 2 5 7 0 8 3 6 9 1"),
        ({"max_bytes": 75}, TEN, "4 2 5"),
        ({"max_age_days": 9}, TEN, "4 2 5 7 0 8 3 6 9 1"),
        ({"max_age_days": 11}, TEN, ""),
        ({"max_age_days": 9, "keep_best": 1}, TEN, "4 2 5 7 0 8 3 6 9"),
        ({"max_age_days": 9, "keep_last": 3, "max_count": 2}, TEN, "4 2 5 0 3 6 1"),
        ({"keep_last": 1}, checkpoints(None, None, None), "0 1"),
        ({"keep_best": 1}, checkpoints(None, None, None), "0 1 2"),
    ],
)
def test_each_rule_takes_what_it_says(
    rule: Mapping[str, Any], items: Sequence[StoredItem], expected: str
) -> None:
    """The least valuable first: a low mean return, then an early one; the newest and the best one last."""
    decision = decided([RetentionRule(kind="checkpoint", **rule)], {RUN: items})
    assert gone(decision) == expected.split()


def test_every_fifth_stays_the_fifth_when_others_are_gone() -> None:
    """A second look takes nothing more."""
    rule = RetentionRule(kind="checkpoint", keep_best=1, keep_last=1, keep_every=5)
    first = gone(decided([rule], {RUN: TEN}))
    left = [item for item in TEN if item.path not in first]
    assert [item.path for item in left] == ["0", "1", "5", "9"]
    assert gone(decided([rule], {RUN: left})) == []


def test_what_can_be_made_again_goes_before_checkpoints() -> None:
    """Videos of recorded episodes, then logs, event files, W&B folders, other videos, and checkpoints."""
    kinds = ("checkpoint", "video", "wandb", "tensorboard", "log")
    rules = [RetentionRule(kind=kind, max_count=0) for kind in kinds]
    items = [
        *checkpoints(1.0),
        file("seen", "video", episode=4),
        file("unseen", "video", episode=3),
        file("no-episode", "video"),
        file("events", "tensorboard"),
        file("run.wandb", "wandb"),
        file("worker.log", "log"),
        file("mine", "other"),
    ]
    facts = dataclasses.replace(RUN, replay_every=2)
    expected = ["seen", "worker.log", "events", "run.wandb", "no-episode", "unseen", "0"]
    assert gone(decided(rules, {facts: items})) == expected


@pytest.mark.parametrize(
    ("replay_every", "steps_every", "expected"),
    [(1, None, "v0 v1 v2 v3"), (2, None, "v0 v2"), (None, None, ""), (1, 3, "v0 v3")],
)
def test_a_video_can_be_rebuilt_while_its_steps_stay(
    replay_every: int | None, steps_every: int | None, expected: str
) -> None:
    """Steps that the same profile will thin do not count."""
    facts = dataclasses.replace(RUN, replay_every=replay_every)
    rule = RetentionRule(kind="video", max_age_days=1, rebuildable_only=True)
    decision = decided([rule], {facts: videos(4)}, steps_every=steps_every)
    assert gone(decision) == expected.split()


def test_a_group_has_one_worker_algorithm_and_environment() -> None:
    """Event files of the two newest runs of each group stay; those of one run go together."""
    rule = RetentionRule(kind="tensorboard", scope=RuleScope.GROUP, max_count=2)
    runs = [run(n) for n in range(4)] + [run(9, algorithm="dqn")]
    files = {
        facts: [file(f"{n}/a", "tensorboard"), file(f"{n}/b", "tensorboard")]
        for n, facts in enumerate(runs)
    }
    assert gone(decided([rule], files)) == ["0/a", "0/b", "1/a", "1/b"]


def test_all_runs_of_a_profile_together() -> None:
    """The limit of bytes is of all runs; the oldest files go first."""
    rule = RetentionRule(kind="video", scope=RuleScope.ALL, max_bytes=25)
    files = {run(n): [file(f"{n}/v", "video", place=n)] for n in range(4)}
    assert gone(decided([rule], files)) == ["0/v", "1/v"]


@pytest.mark.parametrize(
    "kept",
    [KeptReason.PINNED, KeptReason.NOT_ENDED, KeptReason.PENDING, KeptReason.IN_USE],
)
def test_a_run_that_stays_loses_nothing_and_says_why(kept: KeptReason) -> None:
    """Its files count for the limits all the same."""
    facts = dataclasses.replace(RUN, kept=(kept, "because"))
    decision = decided([RetentionRule(kind="video", max_count=1)], {facts: videos(3)})
    assert gone(decision) == []
    assert {(reason, text) for reason, text, _ in decision.kept} == {(kept, "because")}


def test_a_checkpoint_that_another_run_began_with_stays() -> None:
    """The next one goes in its stead."""
    facts = dataclasses.replace(RUN, needed={"4": "child"})
    decision = decided([RetentionRule(kind="checkpoint", max_count=8)], {facts: TEN})
    assert gone(decision) == ["2", "5"]
    assert [(reason, unit.path) for reason, _, unit in decision.kept] == [(KeptReason.PARENT, "4")]


def test_what_the_user_brought_back_stays() -> None:
    """Until the run is unpinned or gets another profile, which is the caller's business."""
    restored = {RUN.run_id: frozenset({"0", "v0"})}
    decision = decided([RetentionRule(kind="checkpoint", keep_last=8)], {RUN: TEN}, restored)
    assert gone(decision) == ["1"]


def test_a_budget_spares_the_best_and_the_newest_checkpoint() -> None:
    """And files that MOSAIC does not know."""
    items = [*checkpoints(1, 3, 2), *videos(2), file("mine", "other", 1000)]
    decision = decided([], {RUN: items}, budget_bytes=0)
    assert gone(decision) == ["v0", "v1", "0"]
    assert gone(decided([], {RUN: items}, budget_bytes=1035)) == ["v0", "v1"]
    assert gone(decided([], {RUN: items}, budget_bytes=1050)) == []


def test_a_budget_counts_what_rules_take() -> None:
    """What goes by a rule is not taken from the budget again."""
    decision = decided([RetentionRule(kind="video", max_count=0)], {RUN: [*TEN, *videos(2)]},
                       budget_bytes=90)  # fmt: skip
    assert gone(decision) == ["v0", "v1", "4"]


def test_half_written_files_go_an_hour_after_the_end() -> None:
    """With no rule, but not before."""
    items = [file("a.part", "draft"), file("b", "other")]
    assert gone(decided([], {RUN: items})) == ["a.part"]
    early = dataclasses.replace(RUN, ended_at=NOW - 10)
    assert gone(decided([], {early: items})) == []


def test_steps_are_thinned_once() -> None:
    """Where there is something to free."""
    space = RunSpace(run_id=RUN.run_id, bytes=10**7, events=100, steps=90)
    (planned,) = decided([], {RUN: []}, spaces={RUN.run_id: space}, steps_every=10).thinnings
    assert planned.every == 10
    assert planned.bytes == int(10**7 * 0.9 * 0.9)
    assert "small" in planned.rule
    done = space.model_copy(update={"thinned_every": 10})
    assert not decided([], {RUN: []}, spaces={RUN.run_id: done}, steps_every=10).thinnings
    pinned = dataclasses.replace(RUN, kept=(KeptReason.PINNED, ""))
    assert not decided([], {pinned: []}, spaces={RUN.run_id: space}, steps_every=10).thinnings


def test_what_goes_next_is_known_before_it_is_due() -> None:
    """With the time; not for what a rule keeps."""
    rule = RetentionRule(kind="checkpoint", max_age_days=30, keep_best=1)
    upcoming = decided([rule], {RUN: checkpoints(2, 1)}).upcoming[RUN.run_id]
    assert upcoming.unit.path == "1"
    assert upcoming.at == NOW + 20 * DAY_S
    assert not decided([rule], {RUN: checkpoints(2)}).upcoming


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "video"}, "would remove every file"),
        ({"kind": "record", "max_count": 1}, "never removed"),
        ({"kind": "steps", "max_count": 1}, "steps_every"),
        ({"kind": "video", "keep_best": 1}, "for checkpoints"),
        ({"kind": "log", "keep_every": 2}, "count as one"),
        ({"kind": "checkpoint", "max_count": True}, "number"),
        ({"kind": "checkpoint", "max_bytes": "5 parsecs"}, "KiB"),
        ({"kind": "checkpoint", "max_count": -1}, "greater than or equal"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(fields: Mapping[str, Any], message: str) -> None:
    """In words."""
    with pytest.raises(ValidationError, match=message):
        RetentionRule.model_validate(fields)


def test_sizes_have_units_and_profiles_join_those_that_ship() -> None:
    """A profile of the same name replaces one that ships."""
    found = StorageProfiles.model_validate(
        {"default": "mine", "profiles": {"mine": {"budget_bytes": "1.5 GiB"}, "lean": {}}}
    )
    assert found.profiles["mine"].budget_bytes == 3 * 2**29
    assert set(found.profiles) == {"default", "lean", "keep_all", "mine"}
    assert found.profiles["lean"].rules == []
    with pytest.raises(ValidationError, match="there is no profile 'other'"):
        StorageProfiles.model_validate({"default": "other"})


def test_how_many_files_a_run_may_have() -> None:
    """None where there is no limit for each run."""
    profile = StorageProfile(
        rules=[
            RetentionRule(kind="video", max_count=5),
            RetentionRule(kind="checkpoint", keep_last=2, keep_best=1),
            RetentionRule(kind="wandb", scope=RuleScope.GROUP, max_count=5),
        ]
    )
    found = {kind: allowed(profile, kind) for kind in ("video", "checkpoint", "wandb", "log")}
    assert found == {"video": 5, "checkpoint": 3, "wandb": None, "log": None}


def row(number: int, state: str = "succeeded", files_state: int = 3, **record: Any) -> StoredRunRow:
    """A run as the database has it."""
    spec = {"worker": "w", "algorithm": "a", "environment": "e", **record.pop("spec", {})}
    run_id = f"01J{number:023d}"
    whole = {"run_id": run_id, "name": f"run {number}", "spec": spec, **record}
    return StoredRunRow(run_id, 1, state, 0, files_state, json.dumps(whole))


def test_who_needs_a_run_is_found_in_the_specs_of_the_others() -> None:
    """A checkpoint that was the start of a run, runs that are being used, trials of a sweep that goes on."""
    first, second = row(1).run_id, row(2).run_id
    facts = {
        found.run_id: found
        for found in read_facts(
            [
                row(1),
                row(2),
                row(3, spec={"parameters": {"init": f'{first}/checkpoints/a "b".pt'}}),
                row(4, "running", spec={"kind": "play", "parent": second}),
                row(5, pinned=True),
                row(6, files_state=1),
                row(7, "running", spec={"kind": "sweep"}),
                row(8, trial="1", spec={"parent": row(7).run_id}),
                row(9, deleted_at="2026-01-01T00:00:00Z"),
                row(10, spec={"kind": "replay", "parent": first}),
            ]
        )
    }
    reasons = {run_id[-2:]: found.kept and found.kept[0] for run_id, found in facts.items()}
    assert reasons == {
        "01": None,
        "02": KeptReason.IN_USE,
        "03": None,
        "04": KeptReason.NOT_ENDED,
        "05": KeptReason.PINNED,
        "06": KeptReason.PENDING,
        "07": KeptReason.NOT_ENDED,
        "08": KeptReason.TRIAL,
        "09": KeptReason.ARCHIVED,
    }
    assert facts[first].needed == {'checkpoints/a "b".pt': "run 3"}
