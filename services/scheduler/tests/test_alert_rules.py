"""Which rules look at a run, what a look writes, and which files are targets."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from tests.records import RUN_ID, make_record

from mosaic_contracts.alert_evaluation import AlertChange, AlertState
from mosaic_contracts.alert_rules import parse_alert
from mosaic_contracts.alert_words import MAX_ALERTS, TARGETS_DIR
from mosaic_contracts.alerts import AlertTargetRequest
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_scheduler.alerts import ledger, rules
from mosaic_scheduler.alerts.ledger import RuleFinding
from mosaic_scheduler.alerts.rules import ActiveRule, StoredRule
from mosaic_scheduler.alerts.targets import AlertTargets
from mosaic_scheduler.errors import AlertTargetRefused
from mosaic_scheduler.runs import store
from mosaic_scheduler.schema import MIGRATIONS

NAN = ActiveRule("nan", None, "nan", parse_alert("nan"), 0.0)
RAISED = AlertChange(is_raised=True, step=3, value=float("nan"), metric="a_loss", message="a")
CLEARED = AlertChange(is_raised=False, step=4, value=1.0, metric="a_loss", message="b")


@pytest.fixture
def database() -> sqlite3.Connection:
    """The tables, with one run that runs."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for step in MIGRATIONS:
        connection.executescript(step)
    add_run(connection, make_record(RunState.RUNNING))
    return connection


def add_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Add a run as a submit does."""
    store._insert_within(connection, record, "nonce")


def due(connection: sqlite3.Connection) -> list[str]:
    """Ids of the runs that rules look at."""
    return [run_id for run_id, _ in ledger.due_marks(connection)]


def note(connection: sqlite3.Connection, *changes: AlertChange) -> RunRecord | None:
    """Write what one look found."""
    finding = RuleFinding(NAN, AlertState(), changes)
    return ledger.record_findings(connection, RUN_ID, [finding], 9.0, ["chat"])


def stored(rule: str, runs: str = "", **changes: Any) -> StoredRule:
    """A rule for all runs."""
    known = {"created_at": 0.0, "active_since": 0.0, "removed_at": None, **changes}
    return StoredRule(rule_id="r1", rule=rule, runs=runs, **known)


@pytest.mark.parametrize(
    ("rule", "kind", "looks"),
    [
        (stored("nan"), RunKind.TRAIN, True),
        (stored("nan"), RunKind.REPLAY, False),
        (stored("nan", "kind:replay"), RunKind.REPLAY, True),
        (stored("nan", "env:Synth*"), RunKind.TRAIN, True),
        (stored("nan", "env:Cart*"), RunKind.TRAIN, False),
        (stored("nan", "gamma>0.5"), RunKind.TRAIN, False),
        (stored("nan", removed_at=1.0), RunKind.TRAIN, False),
        (stored("disk low"), RunKind.TRAIN, False),
        (stored("a rule of a newer version"), RunKind.TRAIN, False),
    ],
)
def test_a_rule_for_all_runs_looks_at_those_that_fit(
    rule: StoredRule, kind: RunKind, looks: bool
) -> None:
    """Without a kind in its search it looks at what trains; that of a disk at the stack."""
    record = make_record(RunState.RUNNING)
    record = record.model_copy(update={"spec": record.spec.model_copy(update={"kind": kind})})
    assert bool(rules.rules_of(record, [rule])) is looks


def test_a_rule_in_the_spec_counts_once() -> None:
    """The same rule for all runs does not raise a second alert, and one of a newer version is left out."""
    record = make_record(RunState.RUNNING)
    spec = record.spec.model_copy(update={"alerts": ["nan", "NaN", "what is this"]})
    found = rules.rules_of(record.model_copy(update={"spec": spec}), [stored("nan")])
    assert [(one.key, one.rule_id) for one in found] == [("nan", None)]


def test_rules_look_at_runs_that_have_some(database: sqlite3.Connection) -> None:
    """A run without rules costs nothing until a rule for all runs is added; an import never ends here."""
    assert due(database) == []
    added = rules.add(database, "nan", "")
    assert due(database) == [RUN_ID]
    imported = make_record(RunState.SUCCEEDED, run_id="01ARZ3NDEKTSV4RRFFQ69G5FAW")
    add_run(database, imported)
    assert due(database) == [RUN_ID]
    assert rules.add(database, "nan", "") == added


def test_an_alert_its_event_and_its_delivery_are_one_transaction(
    database: sqlite3.Connection,
) -> None:
    """The record has it until it clears; each of both is one event and one delivery."""
    record = note(database, RAISED)
    assert record is not None
    assert [one.rule for one in record.alerts] == ["nan"]
    record = note(database, CLEARED)
    assert record is not None
    assert record.alerts == []
    rows = database.execute("SELECT data FROM supervisor_events WHERE type = 'extra' ORDER BY seq")
    assert [json.loads(data)["type"] for (data,) in rows] == ["alert.raised", "alert.cleared"]
    assert [one.delivery for one in ledger.due_deliveries(database)] == [
        "1-raised-chat",
        "1-cleared-chat",
    ]
    assert json.loads(ledger.due_deliveries(database)[0].body)["last_return"] == 9.0
    assert note(database, CLEARED) is None


def test_a_rule_is_silent_after_many_alerts(database: sqlite3.Connection) -> None:
    """A value that leaps around its limit floods nobody."""
    for _ in range(MAX_ALERTS + 5):
        note(database, RAISED, CLEARED)
    assert len(ledger.report(database, RUN_ID, 1000)) == MAX_ALERTS


def test_a_removed_rule_clears_its_alerts_and_can_come_back(database: sqlite3.Connection) -> None:
    """Nothing is sent of the removal."""
    rule = rules.add(database, "nan", "")
    active = ActiveRule(rule.rule_id, rule.rule_id, "nan", NAN.rule, rule.active_since)
    ledger.record_findings(
        database, RUN_ID, [RuleFinding(active, AlertState(is_raised=True), [RAISED])], None, []
    )
    (record,) = ledger.remove_rule(database, rule.rule_id) or []
    assert record.alerts == []
    assert ledger.states(database, RUN_ID) == {}
    assert ledger.remove_rule(database, rule.rule_id) is None
    back = rules.restore(database, rule.rule_id)
    assert back is not None
    assert back.removed_at is None
    assert back.active_since > rule.active_since


def test_a_target_that_others_can_read_is_none(tmp_path: Path) -> None:
    """The file is made for its user alone, and is left out when that was changed."""
    targets = AlertTargets(tmp_path)
    asked = AlertTargetRequest(webhook=SecretStr("https://example.org/hooks/x"), consent=True)
    assert targets.keep("chat", asked).shown == "https://example.org/***"
    assert list(targets.all()) == ["chat"]
    (tmp_path / TARGETS_DIR / "chat.json").chmod(0o644)
    assert targets.all() == {}


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Chat", "https://a.b/c"),
        ("../x", "https://a.b/c"),
        ("chat", "file:///etc/passwd"),
        ("chat", "ssh://host/x"),
    ],
)
def test_only_web_addresses_are_webhooks(tmp_path: Path, name: str, url: str) -> None:
    """A wrong name or address is refused, and nothing is written."""
    asked = AlertTargetRequest(webhook=SecretStr(url), consent=True)
    with pytest.raises(AlertTargetRefused):
        AlertTargets(tmp_path).keep(name, asked)
    assert list(tmp_path.iterdir()) == []
