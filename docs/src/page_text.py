"""Turn the Markdown of this repository into what the site generator reads, without a change of its meaning."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^(?:[-*] |\d+\. )")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_ADDRESS = re.compile(r"^(?:[a-z]+:|#|/)")


def separate_lists(text: str) -> str:
    """Put an empty line between a paragraph and a list, which GitHub does not need and Python-Markdown does."""
    lines: list[str] = []
    for line, is_code in _lines(text):
        before = lines[-1] if lines else ""
        follows_text = bool(before.strip()) and not before.startswith(("#", " ", "\t", "|", ">"))
        if not is_code and _ITEM.match(line) and follows_text and not _ITEM.match(before):
            lines.append("")
        lines.append(line)
    return "\n".join(lines) + "\n"


class Links:
    """Rewrites links of one page from places in the repository to places in the site."""

    def __init__(
        self, root: Path, pages: Mapping[str, str], warn: Callable[[str], None], browse: str = ""
    ) -> None:
        """Rewrite by `pages`, from source to page.

        Args:
            root: The checkout.
            pages: Page of the site by path of its source in the repository.
            warn: Called with a message for each link that leads nowhere.
            browse: Address below which the repository's files can be read. Without it, a link to a file that is no
                page becomes its text.
        """
        self._root = root
        self._pages = pages
        self._warn = warn
        self._browse = browse

    def rewrite(self, text: str, source: str) -> str:
        """Return the text of the page made from `source`, with its links as the site has them."""
        return "\n".join(
            line if is_code else self._rewrite_line(line, source) for line, is_code in _lines(text)
        )

    def _rewrite_line(self, line: str, source: str) -> str:
        if "](" not in line:
            return line
        return _LINK.sub(lambda match: self._link(match, source), line)

    def _link(self, match: re.Match[str], source: str) -> str:
        image, text, target = match.groups()
        if _ADDRESS.match(target):
            return match[0]
        path, _, fragment = target.partition("#")
        place = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        place = self._folder_page(place)
        anchor = f"#{fragment}" if fragment else ""
        if page := self._pages.get(place):
            here = posixpath.dirname(self._pages[source])
            return f"{image}[{text}]({posixpath.relpath(page, here or '.')}{anchor})"
        if not (self._root / place).exists():
            self._warn(f"{source}: the link to {target} leads to no file of the repository")
            return match[0]
        return f"{image}[{text}]({self._browse}/{place}{anchor})" if self._browse else text

    def _folder_page(self, place: str) -> str:
        readme = posixpath.join(place, "README.md")
        return readme if readme in self._pages else place


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it belongs to a block of code."""
    is_code = False
    for line in text.splitlines():
        if _FENCE.match(line):
            is_code = not is_code
            yield line, True
        else:
            yield line, is_code
