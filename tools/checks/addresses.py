"""No file of this repository has the address of a package registry, or a path of the machine that wrote it."""

import re
import tempfile
from pathlib import Path

REGISTRY = re.compile(
    r"https?://[a-z0-9.-]*(?:pypi|pythonhosted|npmjs|debian|download\.pytorch)[a-z0-9./-]*",
    re.IGNORECASE,
)
LARGEST_BYTES = 2_000_000  # larger files are data, which no address hides in


def find_addresses(root: Path, names: list[str], home: Path | None = None) -> list[str]:
    """Findings for every line that holds one; files that are not UTF-8 text are passed over."""
    places = machine_places(root, home or Path.home())
    findings = []
    for name in names:
        path = root / name
        if path.stat().st_size > LARGEST_BYTES:
            continue
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, 1):
            if REGISTRY.search(line):
                findings.append(f"{name}:{number}: names a package registry; defaults need no name")
            findings += [
                f"{name}:{number}: holds {place}, a path of this machine"
                for place in places
                if place in line
            ]
    return findings


def machine_places(root: Path, home: Path) -> list[str]:
    """Return where this checkout, what lies next to it, and its user's files are.

    A parent that every machine has (the root, the temporary folder) says nothing of this one.
    """
    shared = {Path("/"), Path("/home"), Path(tempfile.gettempdir()), home}
    places = {root} | ({root.parent} - shared) | ({home} - {Path("/")})
    return sorted(f"{place}/" for place in places)
