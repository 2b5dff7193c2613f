"""What the palette finds: entries of several kinds, the newest choices first, ten thousand without a stall."""

import heapq
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from mosaic_gui.state.fuzzy import FuzzyMatch, fuzzy_match, fuzzy_words, lower_case

MOST_RESULTS = 60
"""Results that are shown; more letters find the others."""
MOST_RECENT = 20
SLICE_S = 0.004
"""Time budget of one turn of the event loop."""
_LOOKS = 64
"""Entries between two looks at the clock."""
_RECENT_BONUS = 30.0
_KIND_STEP = 2.0


class EntryKind(StrEnum):
    """What an entry opens, in the order in which equal matches are shown."""

    COMMAND = "command"
    RUN = "run"
    ALGORITHM = "algorithm"
    ENVIRONMENT = "environment"
    CURVE = "curve"
    FILE = "file"
    SETTING = "setting"
    HELP = "help"


_ORDER = {kind: n for n, kind in enumerate(EntryKind)}


@dataclass(frozen=True, slots=True)
class PaletteEntry:
    """One thing that can be found."""

    kind: EntryKind
    key: str
    """What it is, among those of its kind."""
    title: str
    about: str = ""
    """More words to find it by, which are shown paler."""
    keys: str = ""
    """Keys of a command."""
    enabled: bool = True

    @property
    def name(self) -> str:
        """What is remembered of a choice."""
        return f"{self.kind.value}:{self.key}"

    @property
    def text(self) -> str:
        """All that is searched."""
        return f"{self.title} {self.about} {self.keys}".rstrip()


@dataclass(frozen=True, slots=True)
class PaletteResult:
    """An entry that matches."""

    entry: PaletteEntry
    places: tuple[int, ...] = ()
    """Letters of its `text` that matched."""
    is_recent: bool = False


class _Searched(NamedTuple):
    """An entry with its text, as it is matched."""

    entry: PaletteEntry
    text: str
    lower: str


@dataclass
class PaletteSearch:
    """One search at a time; `work` goes on with it for a few milliseconds."""

    source: Iterator[PaletteEntry]
    """Entries; read while the search is at work, and only once."""
    recent: Sequence[str] = ()
    """Names of what was chosen last, the newest first."""
    _entries: list[_Searched] = field(default_factory=list)
    _words: tuple[str, ...] = ()
    _query: str = ""
    _done: int = 0
    _is_read: bool = False
    _candidates: list[_Searched] | None = None
    """Entries that the words before have left; None: all."""
    _hits: list[_Searched] = field(default_factory=list)
    """Entries that match."""
    _heap: list[tuple[float, int, int, PaletteEntry, FuzzyMatch]] = field(default_factory=list)

    def start(self, query: str) -> None:
        """Begin a search, and drop the one before it."""
        goes_on = self.is_done and bool(self._words) and query.startswith(self._query)
        self._candidates = self._hits if goes_on else None
        self._words, self._query = fuzzy_words(query), query
        self._done, self._heap, self._hits = 0, [], []

    @property
    def is_done(self) -> bool:
        """Whether all entries were matched."""
        if self._candidates is not None:
            return self._done == len(self._candidates)
        return self._is_read and self._done == len(self._entries)

    def work(self, budget_s: float = SLICE_S) -> None:
        """Match entries for this long."""
        end = time.perf_counter() + budget_s
        while not self.is_done and time.perf_counter() < end:
            for _ in range(_LOOKS):
                searched = self._next()
                if searched is None:
                    break
                self._take(searched)

    def results(self) -> list[PaletteResult]:
        """The best entries so far. Without words: what was chosen last, then all commands."""
        if not self._words:
            return self._without_words()
        ranked = sorted(self._heap, reverse=True)
        return [
            PaletteResult(entry, match.places, entry.name in self.recent)
            for *_, entry, match in ranked
        ]

    def _next(self) -> _Searched | None:
        if self._candidates is not None:
            if self._done == len(self._candidates):
                return None
            self._done += 1
            return self._candidates[self._done - 1]
        if self._done == len(self._entries):
            entry = next(self.source, None)
            if entry is None:
                self._is_read = True
                return None
            text = entry.text
            self._entries.append(_Searched(entry, text, lower_case(text)))
        self._done += 1
        return self._entries[self._done - 1]

    def _take(self, searched: _Searched) -> None:
        if not self._words:
            return
        entry = searched.entry
        match = fuzzy_match(self._words, searched.text, searched.lower)
        if match is None:
            return
        self._hits.append(searched)
        score = match.score - _KIND_STEP * _ORDER[entry.kind]
        score += _RECENT_BONUS if entry.name in self.recent else 0.0
        # of equal scores the earlier entry is better; the numbers are all different
        ranked = (score, -self._done, id(entry), entry, match)
        if len(self._heap) < MOST_RESULTS:
            heapq.heappush(self._heap, ranked)
        elif ranked[:2] > self._heap[0][:2]:
            heapq.heapreplace(self._heap, ranked)

    def _without_words(self) -> list[PaletteResult]:
        seen = [searched.entry for searched in self._entries[: self._done]]
        by_name = {entry.name: entry for entry in seen if entry.name in self.recent}
        first = [by_name[name] for name in self.recent if name in by_name]
        commands = [entry for entry in seen if entry.kind is EntryKind.COMMAND]
        rest = [entry for entry in commands if entry.name not in by_name]
        return [PaletteResult(entry, is_recent=True) for entry in first] + [
            PaletteResult(entry) for entry in rest
        ]


def remembered(recent: Sequence[str], name: str) -> list[str]:
    """What was chosen last, with a new choice."""
    return [name, *(other for other in recent if other != name)][:MOST_RECENT]


def chained(*sources: Iterable[PaletteEntry]) -> Iterator[PaletteEntry]:
    """Entries of several sources, one after another."""
    for source in sources:
        yield from source
