"""Masks the values of a run's secrets where output enters MOSAIC: the log, and the events.

Standard library only, for the runner. A mask protects against mistakes, such as a script that prints its settings. A
program that wants to can always write a value in a form that nobody looks for.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

MIN_CHARS = 4
"""Minimum length of a value that is masked. Shorter ones occur in too many other words."""
_MIN_PART_CHARS = 8
"""Least length of a value's line, or of its Base64 inside other Base64: shorter ones would match by chance."""
_START_BYTES = 3
_WRAPS = (64, 76)
"""Columns at which tools wrap Base64."""
_VARIABLE = re.compile(r"MOSAIC_SECRET_\w+_FILE")
_XMPP_VARIABLE = "MOSAIC_XMPP_FILE"
_USER_INFO = re.compile(r"://([^/@\s]*):([^/@\s]*)@")


class SecretMask:
    """Masks the values of a run's secrets, in all forms in which they may be written.

    Args:
        values: each secret's value by its name; empty ones are left out.
    """

    def __init__(self, values: Mapping[str, str | None]) -> None:
        self._names: dict[bytes, str] = {}
        for name, value in values.items():
            for form in _forms(value or ""):
                self._names.setdefault(form, name)
        self._forms = sorted(self._names, key=len, reverse=True)
        self._longest = len(self._forms[0]) if self._forms else 0
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms)) or rb"(?!)")
        starts = sorted({form[:_START_BYTES] for form in self._forms})
        self._start = re.compile(b"(?=" + b"|".join(map(re.escape, starts)) + b")")
        self.found: set[str] = set()
        """Names of the secrets that were masked so far."""

    def __bool__(self) -> bool:
        return bool(self._names)

    def is_in(self, data: bytes) -> bool:
        """Return whether a value occurs in the data."""
        # Much faster than the pattern where nothing stands, which is the rule.
        return any(form in data for form in self._forms)

    def in_bytes(self, data: bytes) -> bytes:
        """Return the data with `[secret NAME]` in place of each value."""
        return self._pattern.sub(self._replace, data) if self.is_in(data) else data

    def in_text(self, text: str) -> str:
        """Return the text with `[secret NAME]` in place of each value."""
        return self.in_bytes(text.encode(errors="surrogatepass")).decode(errors="surrogatepass")

    def in_value(self, value: Any) -> Any:
        """Mask every text inside lists and maps, keys included."""
        if isinstance(value, str):
            return self.in_text(value)
        if isinstance(value, list):
            return [self.in_value(item) for item in value]
        if isinstance(value, dict):
            return {self.in_value(key): self.in_value(item) for key, item in value.items()}
        return value

    def begin_of_rest(self, data: bytes) -> int:
        """Return the offset of the part that can be masked only together with the data that follows."""
        at = max(0, len(data) - self._longest + 1)
        certain = max(at, len(data) - _START_BYTES + 1)
        starts = [match.start() for match in self._start.finditer(data, at, certain + 2)]
        places = (*starts, *range(certain, len(data)))
        ends = (place for place in places if self._may_go_on(data[place:]))
        begin = next(ends, len(data))
        for match in self._pattern.finditer(data, max(0, begin - self._longest), len(data)):
            if match.start() < begin < match.end():
                return match.start()
        return begin

    def _may_go_on(self, end: bytes) -> bool:
        return any(len(form) > len(end) and form.startswith(end) for form in self._forms)

    def notes(self) -> dict[str, str]:
        """Return a note for each secret that was masked, by its name."""
        return {
            name: f"The value of the secret {name} was printed or recorded; it is masked as [secret {name}]."
            for name in sorted(self.found)
        }

    def _replace(self, match: "re.Match[bytes]") -> bytes:
        name = self._names[match[0]]
        self.found.add(name)
        return f"[secret {name}]".encode()


class MaskedStream:
    """Masks a stream of chunks. A value may begin in one chunk and end in another."""

    def __init__(self, mask: SecretMask, write: Callable[[bytes], None]) -> None:
        self._mask = mask
        self._write = write
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Read a chunk, and write what is certain."""
        data = self._rest + chunk
        begin = self._mask.begin_of_rest(data)
        self._rest = data[begin:]
        if begin:
            self._write(self._mask.in_bytes(data[:begin]))

    def finish(self) -> None:
        """Write the data that was held back."""
        rest, self._rest = self._rest, b""
        if rest:
            self._write(self._mask.in_bytes(rest))


def read_secrets(environment: Mapping[str, str]) -> dict[str, str | None]:
    """Return the values of a run's secrets by name; None for one that cannot be read.

    Passwords of its XMPP accounts are among them.
    """
    values: dict[str, str | None] = {}
    for variable, path in environment.items():
        if _VARIABLE.fullmatch(variable) and path:
            values[Path(path).name] = _read(Path(path))
    if path := environment.get(_XMPP_VARIABLE, ""):
        values |= _passwords(_read(Path(path)))
    return values


def unmasked_words(values: Mapping[str, str | None]) -> list[str]:
    """Return notes about secrets that cannot be masked."""
    words = [
        f"The secret {name} could not be read and is not masked."
        for name, value in values.items()
        if value is None
    ]
    short = [name for name, value in values.items() if value and len(value.strip()) < MIN_CHARS]
    return words + [
        f"The secret {name} is shorter than {MIN_CHARS} characters and is not masked."
        for name in short
    ]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _passwords(access: str | None) -> dict[str, str | None]:
    name = "XMPP password"
    if access is None:
        return {name: None}
    try:
        accounts = json.loads(access)["accounts"]
        return {f"{name} {each['name']}": str(each["password"]) for each in accounts}
    except (ValueError, KeyError, TypeError):
        return {name: None}


def _forms(value: str) -> Iterator[bytes]:
    parts = [value, value.strip()]
    for user, password in _USER_INFO.findall(value):
        parts += [f"{user}:{password}", password, unquote(password)]
    for part in dict.fromkeys(parts):
        if len(part.strip()) >= MIN_CHARS:
            yield from _written(part)
            yield from _base64_forms(part.encode())
    # A log shows a key of many lines line by line.
    yield from (line.strip().encode() for line in value.splitlines() if _is_line(line))


def _is_line(line: str) -> bool:
    return len(line.strip()) >= _MIN_PART_CHARS and not line.startswith("-----")


def _written(part: str) -> Iterator[bytes]:
    """As programs write a text: plain, in JSON, in a URL, as Python's repr of text or bytes, in hexadecimal."""
    yield part.encode()
    yield json.dumps(part)[1:-1].encode()
    yield json.dumps(part, ensure_ascii=False)[1:-1].encode()
    yield from (quote(part).encode(), quote(part, safe="").encode(), quote_plus(part).encode())
    yield repr(part)[1:-1].encode(errors="backslashreplace")
    yield from (ascii(part)[1:-1].encode(), repr(part.encode())[2:-1].encode())
    yield from (part.encode().hex().encode(), part.encode().hex().upper().encode())


def _base64_forms(data: bytes) -> Iterator[bytes]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        whole = encode(data)
        yield from (whole, whole.rstrip(b"="))
        for width in _WRAPS:
            lines = [whole[at : at + width] for at in range(0, len(whole), width)]
            yield from (line for line in lines if len(line) >= _MIN_PART_CHARS)
        for before in range(3):
            # Inside other Base64 the first and last characters depend on what stands next to the value.
            begin, end = (before * 8 + 5) // 6, (before + len(data)) * 8 // 6
            part = encode(bytes(before) + data)[begin:end]
            if len(part) >= _MIN_PART_CHARS:
                yield part
