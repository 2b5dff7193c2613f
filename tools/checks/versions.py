"""The version is set in the project file of the command line; every other file that needs it has the same one."""

import re
import tomllib
from pathlib import Path

SOURCE = "cli/pyproject.toml"
_PATTERNS = (
    re.compile(r'^version = "([^"]+)"$', re.MULTILINE),
    re.compile(r'^VERSION = "([^"]+)"$', re.MULTILINE),
    re.compile(r"^ARG VERSION=(\S+)$", re.MULTILINE),
    re.compile(r"\$\{MOSAIC_VERSION:-([^}]+)\}"),
    re.compile(r'^image = "localhost/mosaic/[a-z_]+:([^"]+)"$', re.MULTILINE),
    re.compile(r"^version: (\S+)$", re.MULTILINE),
)
"""How project files, modules, Dockerfiles, compose files, workers' manifests and CITATION.cff write it."""
_FILES = re.compile(
    r"(^|/)(pyproject\.toml|__init__\.py|Dockerfile|compose[^/]*\.yaml|worker\.toml|CITATION\.cff)$"
)
_OTHERS = ("examples/", "docs/tutorial/")
"""Workers of users, which have versions of their own."""


def version(root: Path) -> str:
    """The version of this checkout."""
    project = tomllib.loads((root / SOURCE).read_text(encoding="utf-8"))
    return str(project["project"]["version"])


def find_versions(root: Path, names: list[str]) -> list[str]:
    """Findings for every file that has another version."""
    expected = version(root)
    return [
        f"{name}:{text.count(chr(10), 0, start) + 1}: version {found}, and {SOURCE} has {expected}"
        for name in names
        if _holds_version(name)
        for text in [(root / name).read_text(encoding="utf-8")]
        for found, start in _occurrences(text)
        if found != expected
    ]


def set_version(root: Path, names: list[str], new: str) -> list[str]:
    """Write a new version everywhere; return the files that changed."""
    changed = []
    for name in filter(_holds_version, names):
        path = root / name
        text = path.read_text(encoding="utf-8")
        made = text
        for found, start in reversed(_occurrences(text)):
            made = made[:start] + new + made[start + len(found) :]
        if made != text:
            changed.append((path, made))
    for path, made in changed:
        path.write_text(made, encoding="utf-8")
    return [str(path.relative_to(root)) for path, _ in changed]


def _holds_version(name: str) -> bool:
    return _FILES.search(name) is not None and not name.startswith(_OTHERS)


def _occurrences(text: str) -> list[tuple[str, int]]:
    """Each version in a text, with where it begins, in their order."""
    matches = (match for pattern in _PATTERNS for match in pattern.finditer(text))
    return sorted(((match[1], match.start(1)) for match in matches), key=lambda pair: pair[1])
