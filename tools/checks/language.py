"""Plain English: words and fragments that a reader has to decode are counted, and a count may only fall.

What users read (window, command line, README and docs) and public docstrings of the packages that users import have a
limit of their own in `language.toml`; so has everything else.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from checks.sources import all_nodes, parsed

LIMITS = Path(__file__).with_name("language.toml")
WORDS = {
    r"\b(un)?told\b": "report, record, emit, say",
    r"\btells\b": "reports, shows, says",
    r"\banew\b": "again",
    r"\bwhoever\b": "name the person: the user, the operator",
    r"\bput away\b": "archive, delete",
    r"\btaken up again\b": "resume, reattach",
    r"\bstands? (in|for)\b": "replaces, means, is written in",
    r"\bis like that\b": "match",
    r"\bas by default\b": "default values",
    r"\btime was over\b": "time limit reached",
    r"\b(courier|consignment)s?\b": "publisher, batch",
    r"\b(an|the) ear\b": "wrapper, hook",
    r"(?:^|[.:] )Of (?!course)": "name the subject first",
    r"(?:^|[.] )Who (?!is\b|are\b)[^?]*?[.]": "name the subject first",
    r"\bbeside\b": "next to, in addition to",
}
"""Pattern and what to write instead."""
_PATTERNS = {
    # Of and Who with a capital begin a sentence; a word is one in any case.
    re.compile(word, re.IGNORECASE if word.startswith(r"\b") else 0): instead
    for word, instead in WORDS.items()
}
_ANY = re.compile(
    "|".join(f"(?i:{word})" if word.startswith(r"\b") else f"(?:{word})" for word in WORDS)
)
"""Any of them, to pass over a line at once."""
PUBLIC = tuple(f"packages/{name}/src/" for name in ("contracts", "client", "workerkit", "gymkit"))
USERS = ("gui/src/", "cli/src/")
TERMS = re.compile(r"`[^`]*`")
"""Names in a text are not its words."""


class Use(NamedTuple):
    """One use of a banned word."""

    area: str
    """`users`, `public` or `rest`."""
    name: str
    line: int
    word: str
    instead: str


def find_language(root: Path, names: list[str], limits: Path = LIMITS) -> list[str]:
    """Findings for areas with more banned words than their limit, or with fewer, so that the limit is lowered."""
    allowed = tomllib.loads(limits.read_text(encoding="utf-8"))
    found: dict[str, list[Use]] = defaultdict(list)
    for use in uses(root, names):
        found[use.area].append(use)
    findings = []
    for area, limit in allowed.items():
        count = len(found[area])
        if count > limit:
            findings += [
                f"{use.name}:{use.line}: {use.word!r}: write {use.instead} ({area}: {count} of at most {limit})"
                for use in found[area]
            ]
        elif count < limit:
            findings.append(
                f"tools/checks/{limits.name}:1: {area} has {count} left: lower its limit from {limit}"
            )
    return findings


def uses(root: Path, names: list[str]) -> Iterator[Use]:
    """Every banned word of the tree."""
    for name in names:
        if name.endswith(".md"):
            lines = enumerate(_prose(root / name), 1)
            yield from _in_texts("users", name, lines)
        elif name.endswith(".py") and not name.endswith("checks/language.py"):
            yield from _in_code(name, (root / name).read_text(encoding="utf-8"))


def _prose(path: Path) -> Iterator[str]:
    is_code = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        yield "" if is_code else line


def _in_code(name: str, source: str) -> Iterator[Use]:
    tree = parsed(source, name)
    docs = _docstrings(tree)
    texts = [
        (node.lineno, node.value)
        for node in all_nodes(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    ]
    shown = [text for text in texts if text not in docs]
    yield from _in_texts("users" if name.startswith(USERS) else "rest", name, shown)
    is_public = name.startswith(PUBLIC)
    yield from _in_texts("public" if is_public else "rest", name, docs)
    comments = [
        (number, line.partition("# ")[2])
        for number, line in enumerate(source.splitlines(), 1)
        if line.lstrip().startswith("# ")
    ]
    yield from _in_texts("rest", name, comments)


def _docstrings(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and text of docstrings, of attributes too."""
    return [
        (node.lineno, node.value.value)
        for node in all_nodes(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]


def _in_texts(
    area: str, name: str, texts: Iterator[tuple[int, str]] | list[tuple[int, str]]
) -> Iterator[Use]:
    for first, text in texts:
        for number, line in enumerate(TERMS.sub("``", text).splitlines()):
            if _ANY.search(line) is None:
                continue
            for pattern, instead in _PATTERNS.items():
                for match in pattern.finditer(line):
                    yield Use(area, name, first + number, match.group().strip(), instead)
