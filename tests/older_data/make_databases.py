"""Make the databases of versions that have none yet, each with the code that has the version, from the git history.

    python tests/older_data/make_databases.py

The archives lie where their tests are: packages/store/tests/data and services/scheduler/tests/data. After a change of
a schema, add the commit of the version to the table. An archive that is deleted is made again.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Database(NamedTuple):
    """A kind of database, and the commits that have its versions."""

    name: str
    file: str
    component: str
    filler: str
    commits: tuple[str, ...]
    """The first one has version 1."""


STORE = Database(
    "telemetry",
    "telemetry.sqlite3",
    "packages/store",
    "fill_store.py",
    ("0a764387", "ae0caaae", "15c498f4", "e4d57187", "13b19856", "3901d853"),
)
SCHEDULER = Database(
    "scheduler",
    "scheduler.sqlite3",
    "services/scheduler",
    "fill_database.py",
    (
        *("80243905", "e640853f", "94b9bf19", "938489ad", "d3a20ca7"),
        *("38f4acfd", "a931704d", "a246cff8", "7b5e3391", "13b19856"),
        *("090fcf69", "bcb45ff7"),
    ),
)


def archive_path(database: Database, version: int) -> Path:
    """The archive of a version."""
    folder = ROOT / database.component / "tests" / "data"
    return folder / f"{database.name}_{version}.tar.xz"


def make(database: Database, version: int, commit: str) -> Path:
    """Fill one database with the code of a commit, and archive it with what that code reads of it."""
    component = ROOT / database.component
    target = archive_path(database, version)
    with tempfile.TemporaryDirectory(prefix="mosaic-older-") as made:
        code, data = Path(made) / "code", Path(made) / "data"
        code.mkdir()
        (data / "db").mkdir(parents=True)
        archive = ["git", "-C", str(ROOT), "archive", commit, "packages", database.component]
        with subprocess.Popen(archive, stdout=subprocess.PIPE) as git:
            subprocess.run(["tar", "-x", "-C", str(code)], stdin=git.stdout, check=True)
        source = sorted(code.glob("packages/*/src")) + sorted(code.glob("services/*/src"))
        subprocess.run(
            [
                str(ROOT / "var" / "venvs" / component.name / "bin" / "python"),
                str(component / "tests" / database.filler),
                str(data / "db" / database.file),
                str(data / "expected.json"),
            ],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, source))},
            check=True,
        )
        target.parent.mkdir(exist_ok=True)
        with tarfile.open(target, "w:xz") as packed:
            packed.add(data / "db" / database.file, database.file)
            packed.add(data / "expected.json", "expected.json")
    return target


def main() -> None:
    """Make those that are missing."""
    for database in (STORE, SCHEDULER):
        for version, commit in enumerate(database.commits, 1):
            if archive_path(database, version).exists():
                continue
            made = make(database, version, commit)
            size = f"{made.stat().st_size:,} bytes"
            sys.stdout.write(f"{made.relative_to(ROOT)}: {size}, from {commit}\n")


if __name__ == "__main__":
    main()
