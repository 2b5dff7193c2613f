"""Short names of runs by what sets them apart among those in sight: `ppo lr=0.001 · seed 1`. Pure, without pydantic."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from mosaic_contracts.choices import RunKind
from mosaic_contracts.run_search import parameter_text, short_parameter

MAX_PARAMETERS = 4
"""Parameters in a name. More of them make a name that nobody reads; the rest is counted."""
_MAX_VALUE = 24
"""Characters of a value."""
_KEPT = 8
"""Characters of a long word that are kept next to those that differ."""
_OPTION = re.compile(r"(?:^|(?<= ))-\S+ $")
"""An option of a command line, of which the value comes next."""
_SHORTEST_ID = 10
_KINDS = {
    RunKind.EVALUATE: "evaluation",
    RunKind.PLAY: "play",
    RunKind.REPLAY: "replay",
    RunKind.SWEEP: "sweep",
    RunKind.IMPORT: "import",
}
_ABSENT = "default"
"""Shown for a value that is not known: the run takes the default of its algorithm."""


class NamedSpec(Protocol):
    """The part of a spec that names are made from."""

    @property
    def worker(self) -> str: ...
    @property
    def algorithm(self) -> str: ...
    @property
    def environment(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def name(self) -> str | None: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


class NamedRun(Protocol):
    """The part of a run that names are made from; a RunView or any other form of one."""

    @property
    def run_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> NamedSpec: ...
    @property
    def defaults(self) -> Mapping[str, Any]: ...
    @property
    def tags(self) -> Sequence[str]: ...


def distinct_names(runs: Sequence[NamedRun], *, seeds: bool = True) -> list[str]:
    """Name each run by what sets it apart from the others.

    Args:
        runs: the runs that are shown together.
        seeds: whether the seed is a part of the names. False: runs that differ in nothing else get equal names, as
            the title of their mean.

    Returns:
        A name for each run, in their order. With seeds they are all different: runs that were started alike have
        the beginning of their ids. A single run has algorithm, environment and seed.
    """
    if not runs:
        return []
    if len(runs) == 1:
        run, head = runs[0], _head(runs[0])
        own = [] if run.spec.algorithm in head.split() else [f"{head}:"]
        words = [*own, run.spec.algorithm if own else head, run.spec.environment]
        return [_joined(words, [f"seed {run.spec.seed}"] if seeds else [])]
    spelled = [_Parts(run) for run in runs]
    _add_differing(spelled, lambda run: run.spec.algorithm)
    _add_differing(spelled, lambda run: run.spec.worker)
    _add_differing(spelled, lambda run: run.spec.environment)
    _add_parameters(spelled)
    if len({run.spec.seed for run in runs}) > 1 and seeds:
        for parts in spelled:
            parts.after.append(f"seed {parts.run.spec.seed}")
    _tell_apart(spelled, lambda run: ", ".join(run.tags))
    if seeds:
        _add_ids(spelled)
    return [parts.text for parts in spelled]


def given_name(run: NamedRun) -> str | None:
    """Return the name that a user gave a run.

    Args:
        run: the run.

    Returns:
        The name in one line; None: its name was made by the scheduler.
    """
    if run.spec.name is not None or not _is_made(run):
        return " ".join(run.name.split())
    return None


class NamesInSight:
    """Names of many runs that come and go: each is made when it is asked for, by what differs in all of them.

    `distinct_names` reads all runs for each list; this keeps counts, so that a list of ten thousand stays fast. Names
    are the same but for runs that nothing but tags or ids sets apart: these have equal names here.
    """

    def __init__(self) -> None:
        self._known: dict[str, _Counted] = {}
        self._made: dict[str, tuple[NamedRun, _Counted]] = {}
        """What was counted of each run, also of those that were removed: a search takes runs away and brings them
        back."""
        self._values: dict[tuple[str, str], Counter[tuple[str, str]]] = {}
        """Number of runs by parameter and value, for each worker and algorithm."""
        self._given: Counter[str] = Counter()
        self._words: Counter[tuple[str, object]] = Counter()
        self._differing: _Differing | None = None

    def __len__(self) -> int:
        return len(self._known)

    def add(self, run: NamedRun) -> bool:
        """Count a run, or what it has become.

        Args:
            run: the run.

        Returns:
            Whether names may have changed.
        """
        made = self._made.get(run.run_id)
        counted = made[1] if made is not None and made[0] is run else _Counted.of(run)
        self._made[run.run_id] = run, counted
        if self._known.get(run.run_id) == counted:
            return False
        self.remove(run.run_id)
        self._known[run.run_id] = counted
        self._values.setdefault(counted.alike, Counter()).update(counted.values)
        self._given.update(counted.given)
        self._words.update(counted.words)
        self._differing = None
        return True

    def forget(self, run_id: str) -> None:
        """Remove a run that does not come back.

        Args:
            run_id: its id; one that is not known changes nothing.
        """
        self.remove(run_id)
        self._made.pop(run_id, None)

    def remove(self, run_id: str) -> bool:
        """Count a run no longer.

        Args:
            run_id: its id; one that is not known changes nothing.

        Returns:
            Whether names may have changed.
        """
        counted = self._known.pop(run_id, None)
        if counted is None:
            return False
        self._values[counted.alike].subtract(counted.values)
        self._given.subtract(counted.given)
        self._words.subtract(counted.words)
        self._differing = None
        return True

    def name(self, run: NamedRun, *, environments: bool = True) -> str:
        """Name a run by what sets it apart from the others that were added.

        Args:
            run: one of them.
            environments: whether the environment may be a part of the name. False: it is shown next to it.

        Returns:
            The name, e.g. `ppo lr=0.001 · seed 1`.
        """
        if len(self._known) < 2 and environments:
            return distinct_names([run])[0]
        differing = self._differing
        if differing is None:
            differing = self._differing = self._find_differing()
        parts = _Parts(run)
        for key, word in (
            ("algorithm", run.spec.algorithm),
            ("worker", run.spec.worker),
            ("environment", run.spec.environment),
        ):
            if key == "environment" and not environments:
                continue
            if key in differing.words and word not in " ".join(parts.words).split():
                parts.words.append(word)
        _add_parameter_words(parts, differing.parameters)
        if "seed" in differing.words or len(self._known) < 2:
            parts.after.append(f"seed {run.spec.seed}")
        return parts.text

    def _find_differing(self) -> "_Differing":
        found: dict[str, set[str]] = {}
        for (key, word), number in self._words.items():
            if number > 0:
                found.setdefault(key, set()).add(str(word))
        words = frozenset(key for key, values in found.items() if len(values) > 1)
        values: dict[str, set[str]] = {}
        having: Counter[str] = Counter()
        of_one: set[str] = set()
        """Parameters that differ in the runs of one algorithm, all of which know them."""
        for alike, counts in self._values.items():
            here: dict[str, set[str]] = {}
            there: Counter[str] = Counter()
            for (name, value), number in counts.items():
                if number > 0:
                    here.setdefault(name, set()).add(value)
                    there[name] += number
            size = self._words[("alike", alike)]
            of_one |= {n for n, seen in here.items() if len(seen) > 1 and there[n] == size}
            for name, seen in here.items():
                values.setdefault(name, set()).update(seen)
            having.update(there)
        given = {name for name, number in self._given.items() if number > 0}
        total = len(self._known)
        different = [
            name
            for name, seen in values.items()
            if (len(seen) + (having[name] < total) > 1 if name in given else name in of_one)
        ]
        parameters = [
            _NamedParameter.of(name, values[name])
            for name in sorted(different, key=lambda name: name not in given)
        ]
        steps = [_NamedParameter("")] if "steps" in words else []
        return _Differing(words, [*parameters, *steps])


class _NamedParameter(NamedTuple):
    """A parameter that is part of names, and what all of its values have in common."""

    name: str
    """Empty: the number of steps."""
    before: int = 0
    """Characters at the beginning of each value that are left out."""
    after: int = 0
    """Characters at the end."""

    @classmethod
    def of(cls, name: str, values: Collection[str]) -> "_NamedParameter":
        """Leave out what all values share, if some value is too long for a name.

        Of command lines and paths what differs may stand anywhere. Whole words are left out, and an option stays in
        front of its value. A word that is too long itself keeps some characters next to those that differ.
        """
        if len(values) < 2 or max(map(len, values)) <= _MAX_VALUE:
            return cls(name)
        shared = _shared_beginning(values)
        words = shared[: _place_of_word(shared)]
        option = _OPTION.search(words)
        before = len(words) if option is None else option.start()
        shared_end = _shared_beginning([value[before:][::-1] for value in values])
        after = _place_of_word(shared_end)
        if max(map(len, values)) - before - after > _MAX_VALUE:
            before = max(before, len(shared) - _KEPT)
            room = min(map(len, values)) - len(shared)
            after = max(after, min(len(shared_end), room) - _KEPT)
        return cls(name, before, after)

    def cut(self, value: str) -> str:
        """The part of a value that a name has."""
        end = len(value) - self.after
        middle = _cut(value[self.before : end])
        dots = "…" if self.before and not middle.startswith("…") else ""
        return f"{dots}{middle}{'…' if self.after and not middle.endswith('…') else ''}"


class _Counted(NamedTuple):
    """What is counted of a run."""

    alike: tuple[str, str]
    values: tuple[tuple[str, str], ...]
    given: tuple[str, ...]
    words: tuple[tuple[str, object], ...]

    @classmethod
    def of(cls, run: NamedRun) -> "_Counted":
        spec = run.spec
        parameters = {**spec.parameters}
        for name, value in run.defaults.items():
            parameters.setdefault(name, value)
        alike = (spec.worker, spec.algorithm)
        return cls(
            alike,
            tuple((name, parameter_text(value)) for name, value in parameters.items()),
            tuple(spec.parameters),
            (
                ("alike", alike),
                ("algorithm", spec.algorithm),
                ("worker", spec.worker),
                ("environment", spec.environment),
                ("seed", spec.seed),
                ("steps", spec.steps),
            ),
        )


class _Differing(NamedTuple):
    """What differs in many runs."""

    words: frozenset[str]
    parameters: list[_NamedParameter]
    """In the order of names."""


def differing_parameters(runs: Sequence[NamedRun]) -> list[str]:
    """Names of parameters that are not equal in all runs.

    Args:
        runs: the runs that are shown together.

    Returns:
        The names, in the order in which the first run that has each gives them; those that some user gave come
        first.
    """
    names = dict.fromkeys(name for run in runs for name in (*run.spec.parameters, *run.defaults))
    given = {name for run in runs for name in run.spec.parameters}
    different = [name for name in names if _differs(runs, name, name in given)]
    return sorted(different, key=lambda name: name not in given)


def _differs(runs: Sequence[NamedRun], name: str, is_given: bool) -> bool:
    """Whether a parameter has several values: in all runs if some user gave it, else in the runs of one algorithm.

    Defaults of two algorithms say nothing. A value that some of these runs do not know at all (an older version)
    differs in none.
    """
    if is_given:
        return len({_value_of(run, name) for run in runs}) > 1
    values: dict[tuple[str, str], set[str | None]] = {}
    for run in runs:
        value = _value_of(run, name) if _has(run, name) else None
        values.setdefault((run.spec.worker, run.spec.algorithm), set()).add(value)
    return any(len(found) > 1 and None not in found for found in values.values())


class _Parts:
    """The words of one name."""

    def __init__(self, run: NamedRun) -> None:
        self.run = run
        self.words = [_head(run)]
        self.after: list[str] = []

    @property
    def text(self) -> str:
        return _joined(self.words, self.after)


def _head(run: NamedRun) -> str:
    """The user's own name of a run; of others the algorithm, and what it does where it does not train."""
    if (given := given_name(run)) is not None:
        return given
    kind = _KINDS.get(RunKind(run.spec.kind)) if run.spec.kind in list(RunKind) else None
    return f"{run.spec.algorithm} {kind}" if kind else run.spec.algorithm


def _is_made(run: NamedRun) -> bool:
    """Whether the run's name was made by the scheduler, or is not known."""
    spec = run.spec
    return not run.name or f"__{spec.seed}" in run.name


def _joined(words: Sequence[str], after: Sequence[str]) -> str:
    return " · ".join([" ".join(words), *after])


def _add_differing(spelled: Sequence[_Parts], word: Callable[[NamedRun], str]) -> None:
    if len({word(parts.run) for parts in spelled}) > 1:
        for parts in spelled:
            if word(parts.run) not in " ".join(parts.words).split():
                parts.words.append(word(parts.run))


def _add_parameters(spelled: Sequence[_Parts]) -> None:
    runs = [parts.run for parts in spelled]
    parameters = [
        _NamedParameter.of(name, {_value_of(run, name) for run in runs if _has(run, name)})
        for name in differing_parameters(runs)
    ]
    if len({run.spec.steps for run in runs}) > 1:
        parameters.append(_NamedParameter(""))
    for parts in spelled:
        _add_parameter_words(parts, parameters)


def _add_parameter_words(parts: _Parts, parameters: Sequence[_NamedParameter]) -> None:
    words = [_parameter_words(parts.run, parameter) for parameter in parameters]
    known = [word for word in words if word]
    parts.words += known[:MAX_PARAMETERS]
    if len(known) > MAX_PARAMETERS:
        parts.words.append(f"+{len(known) - MAX_PARAMETERS}")


def _parameter_words(run: NamedRun, parameter: _NamedParameter) -> str:
    name = parameter.name
    if not name:
        return "" if run.spec.steps is None else f"steps={_count(run.spec.steps)}"
    if not _has(run, name):
        return ""
    return f"{short_parameter(name)}={parameter.cut(_value_of(run, name))}"


def _shared_beginning(values: Collection[str]) -> str:
    """The characters with which all texts begin."""
    first, last = min(values), max(values)
    for at, letter in enumerate(first):
        if letter != last[at : at + 1]:
            return first[:at]
    return first


def _place_of_word(shared: str) -> int:
    """Where the last word of a common beginning begins; it may go on in a different way in each value."""
    return max(shared.rfind(" "), shared.rfind("/")) + 1


def _cut(value: str) -> str:
    """A value that is short enough for a name; of a path the end is kept."""
    if len(value) <= _MAX_VALUE:
        return value
    kept = _MAX_VALUE - 1
    return f"…{value[-kept:]}" if "/" in value else f"{value[:kept]}…"


def _has(run: NamedRun, name: str) -> bool:
    return name in run.spec.parameters or name in run.defaults


def _value_of(run: NamedRun, name: str) -> str:
    if name in run.spec.parameters:
        return parameter_text(run.spec.parameters[name])
    return parameter_text(run.defaults[name]) if name in run.defaults else _ABSENT


def _count(number: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size and number % (size // 10) == 0:
            return f"{number / size:g}{unit}"
    return str(number)


def _tell_apart(spelled: Sequence[_Parts], words: Callable[[NamedRun], str]) -> None:
    """Add words to those names that are equal, where the words differ."""
    equal: dict[str, list[_Parts]] = {}
    for parts in spelled:
        equal.setdefault(parts.text, []).append(parts)
    for alike in equal.values():
        if len({words(parts.run) for parts in alike}) > 1:
            for parts in alike:
                if words(parts.run):
                    parts.after.insert(0, words(parts.run))


def _add_ids(spelled: Sequence[_Parts]) -> None:
    counted = Counter(parts.text for parts in spelled)
    alike = [parts for parts in spelled if counted[parts.text] > 1]
    length = _SHORTEST_ID
    ids = {parts.run.run_id for parts in alike}
    while length < 26 and len({run_id[:length] for run_id in ids}) < len(ids):
        length += 1
    for parts in alike:
        parts.after.append(parts.run.run_id[:length])
