"""The answer to one request, whichever HTTP library brought it."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class HttpAnswer(NamedTuple):
    """An HTTP answer: status, headers and body."""

    status_code: int
    headers: Mapping[str, str]
    """Headers by name in lower case."""
    content: bytes
    url: str

    @property
    def is_error(self) -> bool:
        """Whether the status is an error."""
        return self.status_code >= 400

    @property
    def redirect(self) -> str | None:
        """Target of a redirect."""
        return self.headers.get("location") if 300 <= self.status_code < 400 else None

    @property
    def text(self) -> str:
        """The body as text."""
        return self.content.decode("utf-8", "replace")

    def json(self) -> Any:
        """Return the body as JSON. Raises ValueError."""
        return json.loads(self.content)
