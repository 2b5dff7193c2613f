"""What an image is built from: the files of the checkout that its Dockerfile copies."""

import hashlib
from collections.abc import Iterator
from pathlib import Path


def source_digest(root: Path, dockerfile: Path) -> str:
    """Digest of a Dockerfile and of everything that it copies from the checkout: names, contents, who may execute."""
    digest = hashlib.sha256(dockerfile.read_bytes())
    for path in sorted({file for name in _copied(dockerfile) for file in _files(root, name)}):
        is_program = bool(path.stat().st_mode & 0o100)
        digest.update(f"{path.relative_to(root)} {is_program}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def _copied(dockerfile: Path) -> Iterator[str]:
    """Sources of every COPY but those from another stage."""
    text = dockerfile.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        verb, *words = line.split() or [""]
        if verb.upper() != "COPY" or any(word.startswith("--from=") for word in words):
            continue
        yield from [word for word in words if not word.startswith("--")][:-1]


def _files(root: Path, name: str) -> Iterator[Path]:
    for found in root.glob(name.rstrip("/")):
        inner = found.rglob("*") if found.is_dir() else [found]
        for path in inner:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
