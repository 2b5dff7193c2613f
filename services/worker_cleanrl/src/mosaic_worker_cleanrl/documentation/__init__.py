"""What a person should know of an algorithm before choosing it: our words, and where its authors' are."""

import re
from importlib.resources import files
from importlib.resources.abc import Traversable

from mosaic_worker_cleanrl.algorithm import Script
from mosaic_worker_cleanrl.checkout import script_source

_LINK = re.compile(r"https://docs\.cleanrl\.dev/\S+")
_HEAD_LINES = 40


def documentation_of(script: Script) -> str:
    """Return Markdown; of a script without a page here, its summary and the link that it names.

    Raises:
        ScriptMissing: the cleanrl package is not installed.
    """
    names = [
        script.page or script.id,
        script.takes,
        *([script.bundle] if script.bundle is not None else []),
    ]
    pages = [name for name in names if _page(name).is_file()]
    words = "\n\n".join(_page(name).read_text("utf-8").rstrip() for name in pages)
    if (script.page or script.id) not in pages:
        words = f"{script.summary}\n\n{words}".rstrip()
    if script.unavailable:
        words = f"**It cannot run here.** {script.unavailable}\n\n{words}"
    source = script.source()
    head = source.read_text("utf-8").splitlines()[:_HEAD_LINES]
    found = _LINK.search("\n".join(head))
    verb = "It is" if script.unavailable else "Runs"
    source_note = f"{verb} `{source.name}` of {script_source().words}, unmodified"
    if found is not None:
        source_note += f"; its authors' page, with results: [docs.cleanrl.dev]({found.group()})"
    return f"{words}\n\n{source_note}.\n"


def _page(name: str) -> Traversable:
    return files(__package__) / f"{name}.md"
