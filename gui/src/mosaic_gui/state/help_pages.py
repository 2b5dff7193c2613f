"""The help pages of this installation: the Markdown files of its `docs` folder."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DOCS = "docs"
_HEADING = "# "
_HEAD_BYTES = 500


@dataclass(frozen=True)
class HelpPage:
    """One page."""

    name: str
    """Name of its file, e.g. `storage.md`."""
    title: str


def docs_folder(environ: Mapping[str, str] = os.environ) -> Path | None:
    """Folder of the help pages; None: this installation has none."""
    root = environ.get("MOSAIC_ROOT", "")
    folder = Path(root) / _DOCS
    return folder if root and folder.is_dir() else None


def help_pages(folder: Path) -> list[HelpPage]:
    """All pages of the folder itself, by title. A page that cannot be read is left out."""
    pages = []
    for path in sorted(folder.glob("*.md")):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                first = file.read(_HEAD_BYTES).split("\n", 1)[0]
        except OSError:
            continue
        if first.startswith(_HEADING):
            pages.append(HelpPage(path.name, first.removeprefix(_HEADING).strip()))
    return sorted(pages, key=lambda page: page.title.lower())


def page_text(folder: Path, name: str) -> tuple[str, str]:
    """Title and text of a page, without its heading.

    Raises:
        OSError: it cannot be read.
    """
    head, _, text = (folder / Path(name).name).read_text("utf-8", errors="replace").partition("\n")
    return head.removeprefix(_HEADING).strip(), text.strip()
