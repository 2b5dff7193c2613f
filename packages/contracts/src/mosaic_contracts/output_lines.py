"""Lines of a program's output as a terminal would show them, each bounded in length."""

from collections.abc import Callable

from mosaic_contracts.terminal import split_unfinished, strip_controls

Mark = Callable[[int], str]
"""Makes the text that replaces a number of left-out characters."""

_MOST_RAW = 65_536
"""Characters of an open line before its control sequences are removed; bounds the memory of a line without end."""


def left_out(count: int) -> str:
    """Return the default mark.

    Args:
        count: number of characters left out.

    Returns:
        Text that replaces them.
    """
    return f" … [{count:,} character{'' if count == 1 else 's'} left out] … "


def shorten(text: str, most: int, mark: Mark = left_out) -> str:
    """Shorten a text to its beginning and its end.

    Args:
        text: the text.
        most: most characters to keep of it.
        mark: makes the text between beginning and end.

    Returns:
        The text, unchanged where it is short enough.
    """
    excerpt = _Excerpt(most)
    excerpt.add(text)
    return excerpt.text(mark)


class OutputLines:
    """Joins pieces of output into lines: redrawn lines show their last state, control sequences are removed.

    A piece may be cut anywhere. Memory is bounded, whatever the length of a line. A line of more than `most`
    characters shows its beginning, the number of characters left out, and its end.

    Args:
        most: Characters of a line that are shown.
        mark: Makes the text between beginning and end.
        keep_colours: Leave SGR sequences in lines that are shown whole.
    """

    def __init__(self, most: int, mark: Mark = left_out, *, keep_colours: bool = False) -> None:
        self._most, self._mark, self._keep_colours = most, mark, keep_colours
        self._raw = ""
        self._before: _Excerpt | None = None
        """What precedes `_raw` in a long open line."""

    def feed(self, text: str) -> list[str]:
        """Take a piece of output.

        Args:
            text: the piece; it may be cut anywhere.

        Returns:
            The lines that it completes.
        """
        *ended, rest = text.split("\n")
        lines = []
        for part in ended:
            self._take(part)
            lines.append(self.unfinished)
            self.clear()
        self._take(rest)
        return lines

    def finish(self) -> list[str]:
        """End the output, and start again.

        Returns:
            The last line where it has no line end, else nothing.
        """
        has_text = bool(self._raw) or self._before is not None
        last = self.unfinished
        self.clear()
        return [last] if has_text else []

    @property
    def unfinished(self) -> str:
        """The last line, which may still grow."""
        body = self._raw.rstrip("\r")
        if self._before is not None:
            whole = self._before.copy()
            whole.add(strip_controls(body))
            return whole.text(self._mark)
        text = strip_controls(body, keep_colours=self._keep_colours)
        words = strip_controls(text) if self._keep_colours else text
        if len(words) > self._most:
            return shorten(words, self._most, self._mark)
        return text if words else ""

    def clear(self) -> None:
        """Forget the open line."""
        self._raw, self._before = "", None

    def _take(self, part: str) -> None:
        raw = self._raw + part
        body = raw.rstrip("\r")
        returned = "\r" if len(body) < len(raw) else ""
        if "\r" in body:  # drawn again from its start
            body, self._before = body.rpartition("\r")[2], None
        if len(body) > _MOST_RAW:
            fit, body = split_unfinished(body)
            self._before = self._before or _Excerpt(self._most)
            self._before.add(strip_controls(fit))
        self._raw = body + returned


class _Excerpt:
    """Beginning and end of a text that comes in pieces, and the number of characters between them."""

    def __init__(self, most: int) -> None:
        self._end = most // 4
        self._beginning = most - self._end
        self._head = self._tail = ""
        self._left_out = 0

    def add(self, text: str) -> None:
        """Append a piece."""
        free = self._beginning - len(self._head)
        self._head += text[:free]
        tail = self._tail + text[free:]
        surplus = max(0, len(tail) - self._end)
        self._left_out += surplus
        self._tail = tail[surplus:]

    def text(self, mark: Mark) -> str:
        """What is kept, with a mark where something is left out."""
        return self._head + (mark(self._left_out) if self._left_out else "") + self._tail

    def copy(self) -> "_Excerpt":
        """Return an equal one that can grow on its own."""
        other = _Excerpt(self._beginning + self._end)
        other._head, other._tail, other._left_out = self._head, self._tail, self._left_out
        return other
