"""A map of FrozenLake as a person writes it in a parameter."""

from mosaic_worker_spade.errors import MapInvalid

NAMED = ("4x4", "8x8")
_LETTERS = {"S": "start", "F": "frozen", "H": "hole", "G": "goal"}
MAX_SIDE = 64


def read_map(text: str) -> list[str]:
    """Rows of a map: `SFF/FHF/FFG`, or rows on lines.

    Raises:
        MapInvalid: with row and column of what is wrong.
    """
    rows = [row.strip().upper() for row in text.replace("\n", "/").split("/") if row.strip()]
    if not rows:
        raise MapInvalid("The map is empty. Write its rows with / between them, e.g. SFF/FHF/FFG.")
    if max(len(rows), len(rows[0])) > MAX_SIDE:
        raise MapInvalid(f"The map is larger than {MAX_SIDE} by {MAX_SIDE}. Take a smaller one.")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise MapInvalid(
                f"Row {number} of the map has {len(row)} cells and row 1 has {len(rows[0])}. Make them equally long."
            )
        for column, letter in enumerate(row, 1):
            if letter not in _LETTERS:
                raise MapInvalid(
                    f"Row {number}, column {column} of the map is {letter!r}. "
                    "Write S (start), F (frozen), H (hole) or G (goal)."
                )
    for letter in "SG":
        if not any(letter in row for row in rows):
            raise MapInvalid(f"The map has no {letter}, its {_LETTERS[letter]}. Put one in.")
    _require_way(rows)
    return rows


def _require_way(rows: list[str]) -> None:
    """A goal that no way leads to is nearly always a slip, and nothing could be learned."""
    starts = [(r, c) for r, row in enumerate(rows) for c, letter in enumerate(row) if letter == "S"]
    seen, edge = set(starts), list(starts)
    while edge:
        row, column = edge.pop()
        if rows[row][column] == "G":
            return
        for r, c in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
            inside = 0 <= r < len(rows) and 0 <= c < len(rows[0])
            if inside and (r, c) not in seen and rows[r][c] != "H":
                seen.add((r, c))
                edge.append((r, c))
    raise MapInvalid("No way leads from S to G: holes bar it. Open one.")
