"""The rooms of this checkout as the judge sees them."""

import os
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(os.environ.get("MOSAIC_ROOT") or Path(__file__).parent.parent).resolve()
PLACES = ("packages/*", "cli", "gui", "services/*", "deploy/broker", "docs", "tools", "tests")


@dataclass(frozen=True)
class Room:
    """A folder with a project file and an environment of its own."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def python(self) -> Path:
        """The room's interpreter; `./mosaic sync` made it."""
        venvs = os.environ.get("MOSAIC_VENVS") or ROOT / "var" / "venvs"
        return Path(venvs, self.name, "bin", "python")

    @property
    def sources(self) -> list[str]:
        """Folders with Python to type-check, relative to the room."""
        if self.name in ("tools", "tests"):
            return ["."] if any(self.folder.rglob("*.py")) else []
        return [part for part in ("src", "tests") if any((self.folder / part).rglob("*.py"))]

    @property
    def tests(self) -> list[Path]:
        """Its test files; for the room `tests`, which crosses services, all of them."""
        folder = self.folder if self.name == "tests" else self.folder / "tests"
        return sorted(folder.rglob("test_*.py"))


def all_rooms() -> list[Room]:
    """Every room in the order of PLACES: what others build on comes first, `tests` last."""
    return [
        Room(file.parent)
        for place in PLACES
        for file in sorted(ROOT.glob(f"{place}/pyproject.toml"))
    ]


def named_rooms(names: list[str]) -> list[Room]:
    """The rooms called so. Raises SystemExit when there is none of a name."""
    rooms = {room.name: room for room in all_rooms()}
    if unknown := [name for name in names if name not in rooms]:
        raise SystemExit(f"there is no room called {unknown[0]!r}. Rooms: {' '.join(rooms)}")
    return [rooms[name] for name in names]
