"""Runs as a search looks at them, kept in memory: to read ten thousand records for each search would take a second."""

import json
import sqlite3
import time
from collections.abc import Iterable

from mosaic_contracts.problems import search_problem
from mosaic_contracts.run_search import RunFacts, SearchError, facts_of, parse_search

_AT_ONCE = 500
"""Records that are read in one query; they are not held together."""


class SearchIndex:
    """Facts of all runs, by id. A record never changes without its revision: only new ones are read.

    Belongs to the database's thread.
    """

    def __init__(self) -> None:
        self._facts: dict[str, tuple[int, RunFacts]] = {}
        self._names: dict[str, str] = {}
        """Each name of a parameter once: all records have the same few."""

    def select(
        self, connection: sqlite3.Connection, text: str, among: Iterable[tuple[str, int]]
    ) -> list[str]:
        """Ids of the runs that a search finds, in the order of `among`.

        Args:
            text: the search. Terms that need the store are left out.
            among: ids of runs and their revisions.

        Raises:
            ProblemError: the search cannot be understood, or names a parameter that no run has.
        """
        marks = list(among)
        self._refresh(connection, marks)
        facts = self._facts
        try:
            search = parse_search(text).of_record.with_parameters(self._names)
        except SearchError as error:
            raise search_problem(error) from error
        fits = search.record_test(time.time())
        return [run_id for run_id, _ in marks if run_id in facts and fits(facts[run_id][1])]

    def parameters(self) -> list[str]:
        """Names of the parameters of all runs that were looked at."""
        return sorted(self._names)

    def _refresh(self, connection: sqlite3.Connection, marks: list[tuple[str, int]]) -> None:
        known = self._facts
        changed = [
            run_id
            for run_id, revision in marks
            if (fact := known.get(run_id)) is None or fact[0] != revision
        ]
        for first in range(0, len(changed), _AT_ONCE):
            rows = connection.execute(
                "SELECT run_id, revision, record FROM runs"
                " WHERE run_id IN (SELECT value FROM json_each(?))",
                (json.dumps(changed[first : first + _AT_ONCE]),),
            )
            for run_id, revision, record in rows:
                known[run_id] = (revision, self._shared(facts_of(json.loads(record))))
        self._drop_deleted(connection)

    def _shared(self, facts: RunFacts) -> RunFacts:
        share = self._names.setdefault
        parameters = {share(name, name): value for name, value in facts.parameters.items()}
        return facts._replace(parameters=parameters)

    def _drop_deleted(self, connection: sqlite3.Connection) -> None:
        (count,) = connection.execute("SELECT count(*) FROM runs").fetchone()
        if count < len(self._facts):
            left = {run_id for (run_id,) in connection.execute("SELECT run_id FROM runs")}
            self._facts = {run_id: one for run_id, one in self._facts.items() if run_id in left}
