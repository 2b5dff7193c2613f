"""Which seqs of a source are in the store: everything up to last_seq but the holes."""

import sqlite3


class Coverage:
    """One source's row and holes, inside one transaction."""

    def __init__(self, db: sqlite3.Connection, run: int, attempt: int, source: str) -> None:
        self._db = db
        key = (run, attempt, source)
        row = db.execute(
            "SELECT id, last_seq, missing FROM source WHERE run=? AND attempt=? AND source=?", key
        ).fetchone()
        if row is None:
            made = db.execute(
                "INSERT INTO source (run, attempt, source, last_seq, next_seq, missing)"
                " VALUES (?,?,?,0,1,0)",
                key,
            )
            row = (made.lastrowid, 0, 0)
        self.id, self.last_seq, self.missing = row

    def claim(self, first: int, last: int) -> list[tuple[int, int]]:
        """Enter `first..last` and return the ranges of it that were not here before, in order."""
        fresh: list[tuple[int, int]] = []
        if self.missing and first <= self.last_seq:
            fresh = self._fill(first, min(last, self.last_seq))
        if last > self.last_seq:
            if first > self.last_seq + 1:
                self._dig(self.last_seq + 1, first - 1)
            fresh.append((max(first, self.last_seq + 1), last))
            self.last_seq = last
        return fresh

    def save(self) -> None:
        """Write the row back."""
        next_seq = self.last_seq + 1
        if self.missing:
            next_seq = self._db.execute(
                "SELECT min(first) FROM hole WHERE source=?", (self.id,)
            ).fetchone()[0]
        self._db.execute(
            "UPDATE source SET last_seq=?, next_seq=?, missing=? WHERE id=?",
            (self.last_seq, next_seq, self.missing, self.id),
        )

    def _fill(self, first: int, last: int) -> list[tuple[int, int]]:
        filled: list[tuple[int, int]] = []
        holes = self._db.execute(
            # the hole that begins before `first` and reaches it, and all that begin inside
            "SELECT first, last FROM hole WHERE source=?1 AND last>=?2 AND first<=?3 AND first>="
            " coalesce((SELECT max(first) FROM hole WHERE source=?1 AND first<=?2), 0)"
            " ORDER BY first",
            (self.id, first, last),
        ).fetchall()
        for hole_first, hole_last in holes:
            self._db.execute("DELETE FROM hole WHERE source=? AND first=?", (self.id, hole_first))
            self.missing -= hole_last - hole_first + 1
            if hole_first < first:
                self._dig(hole_first, first - 1)
            if hole_last > last:
                self._dig(last + 1, hole_last)
            filled.append((max(hole_first, first), min(hole_last, last)))
        return filled

    def _dig(self, first: int, last: int) -> None:
        self._db.execute("INSERT INTO hole VALUES (?,?,?)", (self.id, first, last))
        self.missing += last - first + 1
