"""What a person should know of an algorithm before choosing it: our words, and where its authors' are."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from mosaic_worker_cleanrl.algorithm import Script

_LINK = re.compile(r"https://docs\.cleanrl\.dev/\S+")
_HEAD_LINES = 5


def documentation_of(script: Script) -> str:
    """Return Markdown; of a script without a page here, its summary and the link that it names.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    pages = [name for name in (script.page or script.id, script.takes) if _page(name).is_file()]
    words = "\n\n".join(_page(name).read_text("utf-8").rstrip() for name in pages)
    if (script.page or script.id) not in pages:
        words = f"{script.summary}\n\n{words}".rstrip()
    source = script.source()
    head = source.read_text("utf-8").splitlines()[:_HEAD_LINES]
    found = _LINK.search("\n".join(head))
    source_note = f"Runs `{source.name}` of the installed `cleanrl`, unmodified"
    if found is not None:
        source_note += f"; its authors' page, with results: [docs.cleanrl.dev]({found.group()})"
    return f"{words}\n\n{source_note}.\n"


def _page(name: str) -> Traversable:
    return files(__package__) / f"{name}.md"
