"""Rules for all runs in the database, and which rules look at a run. Pure but for the tables."""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mosaic_contracts.alert_rules import AlertError, AlertKind, AlertRule, parse_alert
from mosaic_contracts.alert_words import RUN_KINDS
from mosaic_contracts.alerts import AlertRuleView
from mosaic_contracts.run_search import SearchError, facts_of, parse_search
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler.database import transaction
from mosaic_scheduler.runs import alert_due

KEPT_S = 24 * 3600.0
"""How long a removed rule can be restored."""
_COLUMNS = "'r' || number, rule, runs, created_at, active_since, removed_at"


@dataclass(frozen=True)
class StoredRule:
    """A rule for all runs."""

    rule_id: str
    rule: str
    runs: str
    created_at: float
    active_since: float
    removed_at: float | None

    @property
    def view(self) -> AlertRuleView:
        """The rule as clients see it."""
        parsed = parsed_or_none(self.rule)
        return AlertRuleView(
            rule_id=self.rule_id,
            rule=self.rule,
            plain=self.rule if parsed is None else parsed.plain,
            runs=self.runs,
            created_at=datetime.fromtimestamp(self.created_at, UTC),
            removed_at=None
            if self.removed_at is None
            else datetime.fromtimestamp(self.removed_at, UTC),
        )


@dataclass(frozen=True)
class ActiveRule:
    """A rule that looks at a run."""

    key: str
    """Id of a rule for all runs; of one in a spec, its text."""
    rule_id: str | None
    text: str
    rule: AlertRule
    active_since: float


def parsed_or_none(text: str) -> AlertRule | None:
    """The rule; None: one of a newer version."""
    try:
        return parse_alert(text)
    except AlertError:
        return None


def rules_of(record: RunRecord, stored: Sequence[StoredRule]) -> list[ActiveRule]:
    """Rules that look at a run: those of its spec, and those for all runs that fit it; no rule twice."""
    found: dict[str, ActiveRule] = {}
    for text in record.spec.alerts:
        rule = parsed_or_none(text)
        if rule is not None:
            found[rule.text] = ActiveRule(rule.text, None, rule.text, rule, 0.0)
    for one in stored:
        rule = parsed_or_none(one.rule)
        if rule is None or rule.kind is AlertKind.DISK or rule.text in found:
            continue
        if one.removed_at is None and fits(one.runs, record):
            found[rule.text] = ActiveRule(
                one.rule_id, one.rule_id, one.rule, rule, one.active_since
            )
    return list(found.values())


def fits(runs: str, record: RunRecord) -> bool:
    """Whether a rule for all runs is about a run. Without a search that names kinds, it is about what trains."""
    facts = facts_of(record.model_dump(mode="json"))
    try:
        search = parse_search(runs).of_record.with_parameters(list(facts.parameters), strict=False)
    except SearchError:
        return False
    names_kind = any(term.key == "kind" for term in search.terms)
    if not names_kind and record.spec.kind.value not in RUN_KINDS:
        return False
    return search.record_test(time.time())(facts)


def all_rules(connection: sqlite3.Connection) -> list[StoredRule]:
    """Rules in force, and those that can be restored, oldest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM alert_rules WHERE removed_at IS NULL OR removed_at > ? ORDER BY number",  # noqa: S608 - our own words
        (time.time() - KEPT_S,),
    )
    return [StoredRule(*row) for row in rows]


def find(connection: sqlite3.Connection, rule_id: str) -> StoredRule | None:
    """A rule in force, or one that can be restored."""
    return next((rule for rule in all_rules(connection) if rule.rule_id == rule_id), None)


def add(connection: sqlite3.Connection, rule: str, runs: str) -> StoredRule:
    """Add a rule. One that says the same for the same runs is that rule, also after it was removed."""
    now = time.time()
    with transaction(connection):
        connection.execute("DELETE FROM alert_rules WHERE removed_at <= ?", (now - KEPT_S,))
        row = connection.execute(
            f"SELECT {_COLUMNS} FROM alert_rules WHERE rule = ? AND runs = ?",  # noqa: S608 - our own words
            (rule, runs),
        ).fetchone()
        if row is not None:
            return _restored(connection, StoredRule(*row), now)
        (number,) = connection.execute(
            "INSERT INTO alert_rules (rule, runs, created_at, active_since) VALUES (?, ?, ?, ?)"
            " RETURNING number",
            (rule, runs, now, now),
        ).fetchone()
        alert_due.note_rule(connection)
        return StoredRule(f"r{number}", rule, runs, now, now, None)


def restore(connection: sqlite3.Connection, rule_id: str) -> StoredRule | None:
    """Bring a removed rule back; None: there is no such rule."""
    with transaction(connection):
        known = find(connection, rule_id)
        return None if known is None else _restored(connection, known, time.time())


def _restored(connection: sqlite3.Connection, known: StoredRule, now: float) -> StoredRule:
    if known.removed_at is None:
        return known
    connection.execute(
        "UPDATE alert_rules SET removed_at = NULL, active_since = ? WHERE 'r' || number = ?",
        (now, known.rule_id),
    )
    alert_due.note_rule(connection)
    return StoredRule(known.rule_id, known.rule, known.runs, known.created_at, now, removed_at=None)
