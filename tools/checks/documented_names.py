"""Names in documentation exist: modules, classes, files and verbs that a page puts between backticks.

A record of a decision and the changelog speak of their own time and are not checked.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

HISTORY = ("docs/adr/", "CHANGELOG.md")
OWN_VERBS = {
    "build",
    "docs",
    "gui",
    "help",
    "imports",
    "lint",
    "lock",
    "pictures",
    "sync",
    "test",
    "types",
    "words",
}
"""Verbs of the checkout's `./mosaic` itself; all others are the command line's."""
VERBS = "cli/src/mosaic_cli/verb_words.py"
GLOSSARY = "docs/glossary.md"
DECISIONS = "docs/adr/README.md"
EVENTS = "packages/contracts/src/mosaic_contracts/events.py"
FOREIGN = {"TimeoutStopSec", "YourSettings"}
"""Names of other programs, and of examples."""
MADE = {"checkpoints/", "conf/", "control/", "db/", "inputs/", "log/", "tensorboard/", "var/venvs/"}
"""Folders that a stack or a run makes."""

_TERM = re.compile(r"`([^`]+)`")
_MODULE = re.compile(r"(mosaic_[a-z_]+(?:\.[A-Za-z_]\w*)+)(?:\(.*)?")
_CLASS = re.compile(r"([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)(?:[.({].*)?")
_FILE = re.compile(r"[\w./-]+\.py")
_FOLDER = re.compile(r"(?:\w[\w-]*/)+")
_VERB = re.compile(r"\./mosaic ([a-z][a-z-]*)")
_EVENT = re.compile(r"event `([a-z_]+)`")
_RECORD = re.compile(r"docs/adr/\d{4}-[\w-]+\.md")
_DECISION = re.compile(r"\| \[(?P<number>\d{4})\]\((?P<file>[^)]+)\) \| (?P<title>.+) \|")
_WORD = re.compile(r"\b[A-Z]\w+")


class Tree(NamedTuple):
    """What the repository has, for a look at each name."""

    root: Path
    files: frozenset[str]
    words: frozenset[str]
    """Capitalised identifiers of all Python files."""
    verbs: frozenset[str]


def find_documented_names(root: Path, names: list[str]) -> list[str]:
    """Findings for each name in a Markdown file that is nowhere in the repository."""
    tree = _tree(root, names)
    return [
        f"{name}:{number}: names {term!r}, which is nowhere in the code"
        for name in names
        if name.endswith(".md") and not name.startswith(HISTORY)
        for number, term in _terms(root / name)
        if not _exists(term, tree)
    ]


def find_glossary_faults(root: Path, names: list[str]) -> list[str]:
    """Findings for rows of the glossary without a word, meaning or code, words given twice, and unknown event types."""
    if GLOSSARY not in names:
        return []
    known = _event_types((root / EVENTS).read_text("utf-8"))
    findings: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate((root / GLOSSARY).read_text("utf-8").splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| word", "| ---")):
            continue
        say = partial("{}:{}: {}".format, GLOSSARY, number)
        findings += [say(fault) for fault in _row_faults(line, seen, known)]
    return findings


def find_decision_faults(root: Path, names: list[str]) -> list[str]:
    """Findings for each record of a decision whose title is not that of the list, or that is not in it."""
    if DECISIONS not in names:
        return []
    listed = {
        f"docs/adr/{found['file']}": (number, f"# {found['number']}: {found['title']}")
        for number, line in enumerate((root / DECISIONS).read_text("utf-8").splitlines(), 1)
        if (found := _DECISION.fullmatch(line)) is not None
    }
    records = [name for name in names if _RECORD.fullmatch(name)]
    findings = [f"{name}:1: is not in {DECISIONS}" for name in records if name not in listed]
    for name, (number, title) in listed.items():
        if name not in records:
            findings.append(f"{DECISIONS}:{number}: lists {name}, which there is not")
        elif (root / name).read_text("utf-8").partition("\n")[0] != title:
            findings.append(f"{name}:1: the first line is not {title!r}, the title in {DECISIONS}")
    return findings


def _row_faults(line: str, seen: set[str], events: set[str]) -> Iterator[str]:
    cells = [cell.strip() for cell in line.strip("|").split(" | ")]
    if len(cells) != 3 or not all(cells):
        yield "a row has a word, its meaning, and its names in the code (- for none)"
        return
    for word in cells[0].split(", "):
        if word in seen:
            yield f"explains {word!r} twice"
        seen.add(word)
    for event in _EVENT.findall(cells[2]):
        if event not in events:
            yield f"names the event {event!r}, which is no event type"


def _terms(page: Path) -> Iterator[tuple[int, str]]:
    """Line and text of each term between backticks; of blocks of code, the verbs."""
    is_code = False
    for number, line in enumerate(page.read_text("utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif is_code:
            yield from ((number, match.group()) for match in _VERB.finditer(line))
        else:
            yield from ((number, term) for term in _TERM.findall(line))


def _exists(term: str, tree: Tree) -> bool:
    """Whether a term is no name of ours, or one that there is."""
    kinds: list[tuple[re.Pattern[str], Callable[[re.Match[str], Tree], bool]]] = [
        (_VERB, lambda found, tree: found[1] in tree.verbs),
        (_FILE, _has_file),
        (_FOLDER, _has_folder),
        (_MODULE, _has_module),
        (_CLASS, lambda found, tree: found[1] in tree.words or found[1] in FOREIGN),
    ]
    for pattern, is_there in kinds:
        found = pattern.match(term) if pattern is _VERB else pattern.fullmatch(term)
        if found is not None:
            return is_there(found, tree)
    return True


def _has_file(found: re.Match[str], tree: Tree) -> bool:
    name = found.group().removeprefix("./")
    return name in tree.files or any(file.endswith(f"/{name}") for file in tree.files)


def _has_folder(found: re.Match[str], tree: Tree) -> bool:
    name = found.group()
    return name in MADE or any(f"/{name}" in f"/{file}" for file in tree.files)


def _has_module(found: re.Match[str], tree: Tree) -> bool:
    """Whether the longest part that is a module exists, and spells the rest."""
    parts = found[1].split(".")
    for count in range(len(parts), 0, -1):
        place = "/".join(parts[:count])
        for ending in (f"src/{place}.py", f"src/{place}/__init__.py"):
            module = next((file for file in tree.files if file.endswith(f"/{ending}")), None)
            if module is not None:
                text = (tree.root / module).read_text("utf-8") if parts[count:] else ""
                return all(re.search(rf"\b{part}\b", text) for part in parts[count:])
    return False


def _tree(root: Path, names: list[str]) -> Tree:
    words: set[str] = set()
    for name in names:
        if name.endswith(".py"):
            words.update(_WORD.findall((root / name).read_text("utf-8")))
    verbs = set(OWN_VERBS)
    if VERBS in names:
        verbs |= _verbs((root / VERBS).read_text("utf-8"))
    return Tree(root, frozenset(names), frozenset(words), frozenset(verbs))


def _verbs(source: str) -> set[str]:
    """Keys of the table of verbs."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict):
            return set(_texts(node.value.keys))
    return set()


def _event_types(source: str) -> set[str]:
    """Values of the field `type` of each model of an event."""
    return set(
        _texts(
            node.value
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == "type"
        )
    )


def _texts(nodes: Iterable[ast.expr | None]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
