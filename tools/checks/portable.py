"""What a laptop runs, also with macOS or Windows: the client, the window, the command line of a stack elsewhere.

Finds modules that Windows does not have, and attributes of `os` and `signal` that are missing there, unless the code
asks for the platform first; and modules that import something of the embedded stack, which needs Linux, when they are
themselves imported.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from checks.sources import parsed

POSIX_MODULES = frozenset(
    {"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty", "posix", "readline"}
)
POSIX_CALLS = frozenset(
    {
        "fork",
        "forkpty",
        "getegid",
        "geteuid",
        "getgid",
        "getgroups",
        "getloadavg",
        "getpgid",
        "getsid",
        "getuid",
        "killpg",
        "mkfifo",
        "mknod",
        "pidfd_open",
        "sched_getaffinity",
        "setpgid",
        "setsid",
        "statvfs",
        "uname",
        "wait4",
    }
)
"""Attributes of `os` that Windows lacks."""
SIGNALS = frozenset(
    {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}
)
"""Those that Windows has."""
ROOTS = ("mosaic_client", "mosaic_gui", "mosaic_cli", "mosaic_contracts", "mosaic_base")
STACK = (
    "mosaic_cli.stack",
    "mosaic_cli.images",
    "mosaic_cli.installed",
    "mosaic_cli.verbs.stack",
    "mosaic_cli.verbs.demo",
    "mosaic_cli.verbs.images",
    "mosaic_cli.verbs.xmpp",
    "mosaic_cli.verbs.doctor",
    "mosaic_cli.examination",
    "mosaic_cli.verbs.worker_check",
)
"""Modules that run or inspect the stack of this machine, with everything below them."""


def find_unportable(root: Path, names: list[str]) -> list[str]:
    """Findings for every import and call that a laptop's operating system may lack."""
    findings = []
    for name in names:
        module = _module(name)
        if module is None or not module.startswith(ROOTS) or _is_below(module, STACK):
            continue
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        findings += [
            f"{name}:{line}: {what} is missing on Windows; ask for the platform first"
            for line, what in unguarded(tree)
        ]
    return findings + find_linux_imports(root, names)


def find_linux_imports(root: Path, names: list[str]) -> list[str]:
    """Findings for every portable module that cannot be imported without a module of POSIX, directly or not."""
    files = {module: name for name in names if (module := _module(name)) is not None}
    imports: dict[str, dict[str, int]] = {}
    reasons: dict[str, str] = {}
    for module, name in files.items():
        tree = parsed((root / name).read_text(encoding="utf-8"), name)
        imports[module] = {target: line for line, target in _imported_at_once(tree, files)}
        posix = [what for _, what in unguarded(tree, at_once=True)]
        if posix:
            reasons[module] = posix[0]
    waiting = list(reasons)
    while waiting:
        bad = waiting.pop()
        for module, targets in imports.items():
            if bad in targets and module not in reasons:
                reasons[module] = f"{bad} ({reasons[bad]})"
                waiting.append(module)
    return [
        f"{files[module]}: imports {reason}, which Windows lacks; import it where it is used"
        for module, reason in sorted(reasons.items())
        if module.startswith(ROOTS) and not _is_below(module, STACK)
    ]


def _imported_at_once(tree: ast.Module, files: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Our own modules that importing this one imports."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            named = [f"{node.module}.{alias.name}" for alias in node.names] + [node.module]
        else:
            continue
        yield from ((node.lineno, name) for name in named if name in files)


def unguarded(tree: ast.Module, *, at_once: bool = False) -> Iterator[tuple[int, str]]:
    """Line and name of each import and attribute of POSIX that is used without asking for the platform.

    Args:
        at_once: only what runs when the module is imported, not what is inside functions.
    """
    yield from _visit(tree.body, at_once)


def _visit(nodes: list[ast.stmt], at_once: bool) -> Iterator[tuple[int, str]]:
    for node in nodes:
        if at_once and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if asks_and_leaves(node):
            return  # what follows is for other platforms
        if isinstance(node, ast.If) and _asks_platform(node.test):
            continue
        if isinstance(node, ast.Try) and _catches_import(node):
            continue
        for found in _own_expressions(node):
            yield from _unportable(found)
        for field in ("body", "orelse", "finalbody"):
            yield from _visit(getattr(node, field, []) or [], at_once)
        for handler in getattr(node, "handlers", []):
            yield from _visit(handler.body, at_once)


def _own_expressions(node: ast.stmt) -> Iterator[ast.AST]:
    """The statement without the statements within it."""
    waiting: list[ast.AST] = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [
            child
            for child in ast.iter_child_nodes(one)
            if not isinstance(child, ast.stmt | ast.ExceptHandler)
        ]


def _unportable(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from (
            (node.lineno, alias.name) for alias in node.names if alias.name in POSIX_MODULES
        )
    elif isinstance(node, ast.ImportFrom) and node.module in POSIX_MODULES:
        yield node.lineno, str(node.module)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        base, name = node.value.id, node.attr
        is_signal = base == "signal" and name.startswith("SIG") and name not in SIGNALS
        if (base == "os" and name in POSIX_CALLS) or is_signal:
            yield node.lineno, f"{base}.{name}"


def asks_and_leaves(node: ast.stmt) -> bool:
    """`if sys.platform == "win32": return ...`"""
    leaves = isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return | ast.Raise)
    return isinstance(node, ast.If) and leaves and _asks_platform(node.test)


def _asks_platform(test: ast.expr) -> bool:
    """`sys.platform`, `os.name` or `hasattr(os, ...)` in a condition."""
    text = ast.unparse(test)
    return any(word in text for word in ("sys.platform", "os.name", "hasattr(os"))


def _catches_import(node: ast.Try) -> bool:
    caught = [ast.unparse(handler.type) for handler in node.handlers if handler.type is not None]
    return any("ImportError" in text or "ModuleNotFoundError" in text for text in caught)


def _module(name: str) -> str | None:
    """The module that a file of shipped code is."""
    before, found, path = name.partition("/src/")
    if not found or not path.endswith(".py") or "/tests/" in before:
        return None
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _is_below(module: str, parents: tuple[str, ...]) -> bool:
    return any(module == parent or module.startswith(f"{parent}.") for parent in parents)
