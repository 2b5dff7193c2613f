"""The error of a small language that a user writes: it marks the word that is wrong."""


class MarkedError(ValueError):
    """A text that cannot be understood.

    Attributes:
        text: what the user wrote.
        start: position of the first character of the word that is wrong.
        end: position after its last character.
        reason: what is wrong with it, and what to write.
    """

    def __init__(self, text: str, start: int, end: int, reason: str) -> None:
        super().__init__(f"{text[start:end]!r}: {reason}" if text[start:end] else reason)
        self.text, self.start, self.end, self.reason = text, start, end, reason

    @property
    def pointed(self) -> str:
        """The text with a line below it that marks the word."""
        return f"{self.text}\n{' ' * self.start}{'^' * max(1, self.end - self.start)}"
