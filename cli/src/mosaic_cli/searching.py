"""Searches of the run list on the command line: read before they are sent, and shown with the wrong word marked."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mosaic_cli.errors import ValueRefused
from mosaic_client.errors import MosaicProblem
from mosaic_contracts.run_search import SearchError, parse_search

if TYPE_CHECKING:
    from mosaic_contracts.problems import Problem


def search_of(words: Sequence[str] | None) -> str:
    """The search that the words of a command line make.

    Raises:
        ValueRefused: it cannot be understood.
    """
    text = " ".join(words or ())
    try:
        parse_search(text)
    except SearchError as error:
        raise _refused(error) from error
    return text


@contextmanager
def marking(text: str) -> Iterator[None]:
    """Show what the stack finds wrong with a search as `search_of` does: it knows the names of all parameters.

    Raises:
        ValueRefused: the stack cannot understand the search.
    """
    try:
        yield
    except MosaicProblem as error:
        found = _of_problem(text, error.problem)
        if found is None:
            raise
        raise _refused(found) from error


def _of_problem(text: str, problem: "Problem") -> SearchError | None:
    for field in problem.fields:
        start, end = field.get("start"), field.get("end")
        if isinstance(start, int) and isinstance(end, int):
            return SearchError(text, start, end, str(field.get("message", "")))
    return None


def _refused(error: SearchError) -> ValueRefused:
    sentence = f"{error.reason[:1].upper()}{error.reason[1:]}".rstrip(".")
    end = "" if sentence.endswith("?") else "."
    return ValueRefused(f"The search cannot be understood.\n\n{error.pointed}\n\n{sentence}{end}")
