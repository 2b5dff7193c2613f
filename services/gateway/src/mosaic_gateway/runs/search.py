"""Terms of a search of the run list that need the store: returns, steps, metrics."""

from collections.abc import Collection

from mosaic_contracts.problems import search_problem
from mosaic_contracts.run_search import (
    RunSearch,
    SearchError,
    StoredFacts,
    TermSource,
    find_metric,
    parse_search,
)
from mosaic_store import Reader, RunMarks

_NOTHING = StoredFacts()


def read_search(text: str) -> RunSearch:
    """Read a search. Raises ProblemError: it cannot be understood."""
    try:
        return parse_search(text)
    except SearchError as error:
        raise search_problem(error) from error


def search_store(reader: Reader, search: RunSearch, run_ids: Collection[str]) -> set[str]:
    """Those of the runs that fulfil the search's terms about returns, steps and metrics.

    Raises:
        ProblemError: a metric is known of no run, or several end so.
    """
    test = search.store_test()
    among = set(run_ids)
    names = _metric_names(reader, search)
    figures = {
        word: reader.metric_figures(name, among, only_last=_needs_last(search, word))
        for word, name in names.items()
    }
    needs_marks = any(term.source is TermSource.STORE for term in search.terms)
    marks = reader.run_marks() if needs_marks else {}
    return {
        run_id
        for run_id in among
        if test(
            _facts(marks.get(run_id)),
            {word: known[run_id] for word, known in figures.items() if run_id in known},
        )
    }


def _facts(marks: RunMarks | None) -> StoredFacts:
    if marks is None:
        return _NOTHING
    return StoredFacts(
        marks.global_step, marks.episodes, marks.last_return, marks.best_return, marks.mean_return
    )


def _needs_last(search: RunSearch, word: str) -> bool:
    return all(term.figure == "last" for term in search.terms if term.key == word)


def _metric_names(reader: Reader, search: RunSearch) -> dict[str, str]:
    """Whole names of the metrics of a search."""
    names: dict[str, str] = {}
    for term in search.terms:
        if term.source is not TermSource.METRIC or term.key in names:
            continue
        known = reader.known_metrics(newest=True)
        found = find_metric(term.key, known)
        if not found:
            known = reader.known_metrics(newest=False)
            found = find_metric(term.key, known)
        if len(found) == 1:
            names[term.key] = found[0]
            continue
        raise search_problem(
            SearchError(search.text, term.start, term.end, _reason(term.key, found, known))
        )
    return names


def _reason(word: str, found: list[str], known: list[str]) -> str:
    if found:
        return f"several metrics end so: {', '.join(found[:6])}. Write one of them in full"
    some = ", ".join(sorted(known)[:12]) or "none yet"
    return f"no run has a metric {word!r}. There are {some}."
