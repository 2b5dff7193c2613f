"""Decides what goes, and in which order. Pure: no disk, no database, no clock."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mosaic_contracts.storage import RetentionRule, StorageProfile
from mosaic_contracts.storage_words import DRAFT, KeptReason, RuleScope
from mosaic_contracts.store_upkeep import RunSpace
from mosaic_scheduler.retention.facts import RetainedRun
from mosaic_scheduler.retention.inventory import StoredItem
from mosaic_scheduler.retention.values import BUDGET_KINDS, Unit, units_of

DAY_S = 86_400.0
DRAFT_AGE_S = 3600.0
"""Seconds after its run's end that a file which was not written to its end is swept."""
DRAFT_RULE = "half-written files"
_MIN_STEP_BYTES = 64 * 1024
"""A thinning that would free less is not worth its work."""


@dataclass(slots=True, eq=False)  # not frozen: as `Unit`
class PlannedUnit:
    """Files that go together."""

    unit: Unit
    rule: str
    reason: str
    grace_s: float
    profile: str


@dataclass(frozen=True)
class PlannedThinning:
    """Steps of a run that go."""

    run: RetainedRun
    every: int
    steps: int
    bytes: int
    """Both are estimates."""
    profile: str

    @property
    def rule(self) -> str:
        """The rule in words that follow `thinned by`."""
        return f"storage profile {self.profile} (it keeps the steps of 1 in {self.every} episodes)"


@dataclass
class Upcoming:
    """What goes later, when its age is reached."""

    unit: Unit
    rule: str
    at: float


@dataclass
class Decision:
    """What goes, and what stays although a rule would remove it."""

    units: list[PlannedUnit] = field(default_factory=list)
    """The least valuable first."""
    thinnings: list[PlannedThinning] = field(default_factory=list)
    kept: list[tuple[KeptReason, str, Unit]] = field(default_factory=list)
    upcoming: dict[str, Upcoming] = field(default_factory=dict)
    """By run: what goes next."""
    profiles: dict[str, str] = field(default_factory=dict)
    """By run: name of its profile."""


@dataclass(frozen=True)
class StorageFacts:
    """All that a decision is made of."""

    runs: Sequence[RetainedRun]
    files: Mapping[str, Sequence[StoredItem]]
    spaces: Mapping[str, RunSpace]
    profile_of: Callable[[str | None], tuple[str, StorageProfile]]
    restored: Mapping[str, frozenset[str]]
    """By run: paths of files that the user brought back."""
    now: float
    """Seconds since the epoch."""


def decide(facts: StorageFacts) -> Decision:
    """Decide what goes now."""
    decision = Decision()
    by_profile: dict[str, list[Unit]] = defaultdict(list)
    profiles: dict[str, StorageProfile] = {}
    for run in facts.runs:
        name, profile = facts.profile_of(run.profile)
        profiles[name] = profile
        decision.profiles[run.run_id] = name
        every = _kept_every(profile, facts.spaces.get(run.run_id))
        items = facts.files.get(run.run_id, ())
        if profile.budget_bytes is None:
            kinds = {DRAFT, *(rule.kind for rule in profile.rules)}
            items = [item for item in items if item.kind in kinds]
        restored = facts.restored.get(run.run_id, frozenset())
        by_profile[name] += units_of(run, items, every, restored)
        thinning = _thinning(run, name, profile, facts.spaces.get(run.run_id))
        if thinning is not None:
            decision.thinnings.append(thinning)
    for name, units in by_profile.items():
        _apply(decision, name, profiles[name], units, facts.now)
    decision.units.sort(key=lambda planned: planned.unit.value)
    return decision


def _apply(
    decision: Decision, name: str, profile: StorageProfile, units: list[Unit], now: float
) -> None:
    going: dict[int, PlannedUnit] = {}
    stays: dict[int, Unit] = {}

    def take(unit: Unit, rule: str, reason: str) -> None:
        if id(unit) in going:
            return
        if unit.kept is not None:
            stays[id(unit)] = unit
            return
        going[id(unit)] = PlannedUnit(unit, rule, reason, profile.grace_hours * 3600.0, name)

    for unit in units:
        if unit.kind == DRAFT and now - (unit.run.ended_at or now) >= DRAFT_AGE_S:
            take(unit, DRAFT_RULE, "its run ended more than an hour ago")
    by_kind: dict[str, list[Unit]] = defaultdict(list)
    for unit in units:
        by_kind[unit.kind].append(unit)
    for rule in profile.rules:
        text = rule.text
        for group in _scoped(rule.scope, by_kind[rule.kind]):
            left = [unit for unit in group if id(unit) not in going]
            for unit, reason in beyond(rule, left, now):
                take(unit, text, reason)
            _note_upcoming(decision, rule, left, going, now)
    if profile.budget_bytes is not None:
        total = sum(unit.bytes for unit in units if id(unit) not in going)
        over = total - profile.budget_bytes
        rule_text = f"budget {profile.budget_bytes} bytes of profile {name}"
        for unit in sorted(units, key=lambda unit: unit.value):
            if over <= 0:
                break
            is_out = id(unit) in going or unit.kept is not None or unit.kind not in BUDGET_KINDS
            if is_out or unit.is_best or unit.is_newest:
                continue
            over -= unit.bytes
            take(unit, rule_text, f"together they have {total} bytes")
    decision.units += going.values()
    decision.kept += [(*unit.kept, unit) for unit in stays.values() if unit.kept is not None]


def _scoped(scope: RuleScope, units: Iterable[Unit]) -> list[list[Unit]]:
    groups: dict[object, list[Unit]] = defaultdict(list)
    for unit in units:
        key: object = None
        if scope is RuleScope.RUN:
            key = unit.run.run_id
        elif scope is RuleScope.GROUP:
            key = unit.run.group
        groups[key].append(unit)
    return list(groups.values())


def beyond(rule: RetentionRule, units: Sequence[Unit], now: float) -> list[tuple[Unit, str]]:
    """Units of one scope that go by a rule, the least valuable first, each with the reason in words.

    Args:
        rule: the rule.
        units: all of its kind in one run, group, or profile.
        now: seconds since the epoch.
    """
    keep = _kept_by(rule, units)
    if rule.rebuildable_only:
        keep |= {id(unit) for unit in units if not unit.rebuildable}
    free = sorted((unit for unit in units if id(unit) not in keep), key=lambda unit: unit.value)
    found: dict[int, tuple[Unit, str]] = {}
    if not rule.has_limit:
        return [(unit, "the rule keeps others") for unit in free]
    if rule.max_age_days is not None:
        for unit in free:
            if _expires_at(rule, unit) <= now:
                found[id(unit)] = (unit, f"its run ended more than {rule.max_age_days:g} days ago")
    left = [unit for unit in units if id(unit) not in found or unit.kept is not None]
    over_count = 0 if rule.max_count is None else len(left) - rule.max_count
    bytes_left = sum(unit.bytes for unit in left)
    over_bytes = 0 if rule.max_bytes is None else bytes_left - rule.max_bytes
    for unit in free:
        if id(unit) in found:
            continue
        if over_count > 0:
            found[id(unit)] = (unit, f"there are more than {rule.max_count}")
        elif over_bytes > 0:
            found[id(unit)] = (unit, f"they have more than {rule.max_bytes} bytes")
        else:
            break
        if unit.kept is None:  # one that stays makes no room
            over_count -= 1
            over_bytes -= unit.bytes
    return sorted(found.values(), key=lambda pair: pair[0].value)


def _kept_by(rule: RetentionRule, units: Sequence[Unit]) -> set[int]:
    keep: set[int] = set()
    if rule.keep_last:
        keep |= {
            id(unit) for unit in sorted(units, key=lambda unit: unit.age_key)[-rule.keep_last :]
        }
    if rule.keep_best:
        rated = [unit for unit in units if unit.mean is not None]
        rated.sort(key=lambda unit: (unit.mean or 0.0, unit.is_best, unit.age_key))
        keep |= {id(unit) for unit in rated[-rule.keep_best :]}
        keep |= {id(unit) for unit in units if unit.is_best and rule.scope is RuleScope.RUN}
    if rule.keep_every:
        keep |= {id(unit) for unit in units if unit.items[0].place % rule.keep_every == 0}
    return keep


def _expires_at(rule: RetentionRule, unit: Unit) -> float:
    if unit.run.ended_at is None or rule.max_age_days is None:
        return float("inf")
    return unit.run.ended_at + rule.max_age_days * DAY_S


def _note_upcoming(
    decision: Decision,
    rule: RetentionRule,
    units: Sequence[Unit],
    going: Mapping[int, PlannedUnit],
    now: float,
) -> None:
    if rule.max_age_days is None:
        return
    keep = _kept_by(rule, units)
    for unit in units:
        is_out = id(unit) in keep or id(unit) in going or unit.kept is not None
        if is_out or (rule.rebuildable_only and not unit.rebuildable):
            continue
        at = _expires_at(rule, unit)
        known = decision.upcoming.get(unit.run.run_id)
        if now < at < float("inf") and (known is None or at < known.at):
            decision.upcoming[unit.run.run_id] = Upcoming(unit, rule.text, at)


def _kept_every(profile: StorageProfile, space: RunSpace | None) -> int | None:
    """Steps of every n-th episode are in the store and stay there; None: those of all that were recorded."""
    if profile.steps_every is not None:
        return profile.steps_every
    return None if space is None else space.thinned_every


def _thinning(
    run: RetainedRun, name: str, profile: StorageProfile, space: RunSpace | None
) -> PlannedThinning | None:
    if (
        profile.steps_every is None
        or profile.steps_every == 1
        or space is None
        or run.kept is not None
    ):
        return None
    size = space.estimate_freed(profile.steps_every)
    if size < _MIN_STEP_BYTES and not space.is_thinning:
        return None
    steps = int(space.steps * (1 - 1 / profile.steps_every))
    return PlannedThinning(run, profile.steps_every, steps, size, name)


def allowed(profile: StorageProfile, kind: str) -> int | None:
    """Number of files of a kind that a run of this profile may have; None: no limit."""
    found: list[int] = []
    for rule in profile.rules:
        if rule.kind != kind or rule.scope is not RuleScope.RUN or rule.rebuildable_only:
            continue
        if rule.max_count is not None:
            found.append(rule.max_count)
        elif not rule.has_limit and rule.keep_every is None:
            found.append((rule.keep_last or 0) + (rule.keep_best or 0))
    return min(found, default=None)
