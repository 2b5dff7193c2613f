"""Which packages of others a room may import: the third column of the table in docs/architecture.md.

import-linter can forbid packages by name; that a room imports nothing else is said here.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from checks.sources import all_nodes, parsed

# A room may also name what a room below it hands out (a pydantic model, a JetStream message).
BELOW = {
    "base": (),
    "contracts": (),
    "servicekit": ("base", "contracts"),
    "store": ("base", "contracts"),
    "workerkit": ("base", "contracts"),
    "gymkit": ("base", "contracts", "workerkit"),
    "client": ("base", "contracts"),
    "cli": ("base", "contracts", "client"),
    "gateway": ("base", "contracts", "servicekit", "store"),
    "scheduler": ("base", "contracts", "servicekit"),
    "recorder": ("base", "contracts", "servicekit", "store"),
    "gui": ("base", "contracts"),
    "exporter": ("base", "contracts", "client"),
    "analysis": ("base", "contracts", "client"),
}
OWN: dict[str, set[str]] = {
    "base": set(),
    "contracts": {"pydantic", "pydantic_core", "msgspec", "typing_extensions"},
    "servicekit": {"nats", "nkeys", "structlog", "pydantic_settings"},
    "store": {"msgspec", "zstandard", "numpy"},
    # tensorboard and werkzeug: only in `dashboard`, wandb: only in `sync`, which a worker calls that has them
    "workerkit": {
        "msgspec",
        "zstandard",
        "numpy",
        "nats",
        "nkeys",
        "tomli",
        "tensorboard",
        "wandb",
        "werkzeug",
    },
    "gymkit": {"gymnasium", "numpy", "simplejpeg", "zstandard", "ale_py", "av"},
    # arrays: only in its extra `notebook`; pictures: in `video` too; pyarrow: only in `parquet`
    "client": {
        "platformdirs",
        "httpx",
        "websockets",
        "zstandard",
        "numpy",
        "pandas",
        "PIL",
        "pyarrow",
        "async_timeout",
    },
    "cli": {
        "platformdirs",
        "typer",
        "click",
        "rich",
        "ruamel",
    },  # click is typer's own foundation: its errors are click's
    "gateway": {
        "fastapi",
        "starlette",
        "uvicorn",
        "prometheus_client",
        "httpx",
    },  # starlette is FastAPI's
    # requests and urllib3: what docker raises
    "scheduler": {"docker", "requests", "urllib3", "psutil", "pynvml", "ruamel", "zstandard"},
    "recorder": set(),
    "exporter": {"av", "gymnasium", "minari", "numpy", "tensorboardX"},
    "analysis": {"numpy", "scipy", "matplotlib"},
    "gui": {
        "platformdirs",
        "PyQt6",
        "pyqtgraph",
        "numpy",
        "msgspec",
        "zstandard",
        "keyring",
        "ruamel",
        "sdl2",
    },
}


def find_foreign_imports(root: Path, names: list[str]) -> list[str]:
    """Findings for imports that the table does not permit; workers may bring their own stacks."""
    findings = []
    for name in names:
        room = room_of(name)
        if room not in OWN or not name.endswith(".py"):
            continue
        allowed = OWN[room].union(*(OWN[below] for below in BELOW[room]), sys.stdlib_module_names)
        if "/testing/" in name:
            allowed |= {"pytest"}  # fixtures that other rooms' tests share
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        findings += [
            f"{name}:{line}: imports {package}, which the table of rooms does not give to {room}"
            for line, package in imported(tree)
            if package not in allowed and not package.startswith("mosaic_")
        ]
    return findings


def room_of(name: str) -> str:
    """The room whose shipped code a file is; empty for tests and everything else."""
    folder, found, _ = name.partition("/src/")
    return folder.rpartition("/")[2] if found else ""


def imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and top-level package of every import, also of those within functions."""
    for node in all_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.partition(".")[0]
