"""What the window says can be translated: texts go through `mosaic_gui.state.language`, as whole sentences.

A translator finds a text only when it is a plain literal in the call itself. Texts for a terminal (`TERMINAL`) are
English, and so are words for a reader of a traceback or a regular expression.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from checks.sources import all_nodes, parsed

ROOM = "gui/src/mosaic_gui/"
SAYING = {"tr": (0,), "tr_n": (0, 1), "tr_as": (0, 1), "mark": (0,)}
"""Arguments that must be literals, by function."""
FOREIGN = {"tr", "trUtf8"}
"""Qt's own ways, of which the translations know nothing."""
SHOWING = re.compile(
    r"(set(Text|ToolTip|StatusTip|WhatsThis|PlaceholderText|WindowTitle|Title|AccessibleName|AccessibleDescription"
    r"|Suffix|Prefix|SpecialValueText|TabText|PlainText|NameFilter)|set_whole|set_help|set_state|insertText"
    r"|add(Action|Item|Tab|Row|Menu)|Q(Label|Action|PushButton|CheckBox|RadioButton|GroupBox|Menu|DockWidget)"
    r"|label|button|ElidedLabel|ElidedButton|Badge|_say|say|showText)"
)
"""What shows its argument to the user."""
TERMINAL = ("__main__.py", "program/arguments.py", "program/qt_check.py", "program/run.py")
UNSEEN = re.compile(
    r"(\w+Error|compile|search|fullmatch|match|sub|setStyleSheet|\w*[lL]og\.\w+|getLogger|mark)"
)
"""Calls whose words nobody sees in the window: errors of programmers, patterns, style sheets."""
PROSE = re.compile(r"[A-Za-z]{2,}[,;:]? [A-Za-z]{2,}")
NAMES = {"MOSAIC"}
EXEMPT = "# unsaid:"
"""Ends a line whose words are none for the user, with the reason."""
MARKUP = re.compile(r"[<{][^<>{}]*[>}]|&\w+;|[\w-]+\s*:\s*[^;]*;")
"""HTML and style sheets."""


def find_fixed_texts(root: Path, names: list[str]) -> list[str]:
    """Findings for texts of the window that cannot be translated."""
    findings = []
    for name in names:
        if name.startswith(ROOM) and name.endswith(".py"):
            source = (root / name).read_text(encoding="utf-8")
            tree, lines = parsed(source, name), source.splitlines()
            found = set(said_wrong(tree))
            if not name.endswith(TERMINAL):
                told = untranslated(tree)
                found |= {(line, fault) for line, fault in told if EXEMPT not in lines[line - 1]}
            findings += [f"{name}:{line}: {fault}" for line, fault in sorted(found)]
    return findings


def said_wrong(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Calls of the translating functions that would not be found, or not be filled in the user's language."""
    for node in all_nodes(tree):
        if isinstance(node, ast.JoinedStr) and any(map(_is_saying, ast.walk(node))):
            yield node.lineno, "a text within an f-string is not found: take it out"
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in FOREIGN:
                yield node.lineno, "use tr of mosaic_gui.state.language, not Qt's"
            if node.func.attr == "format" and _is_saying(node.func.value):
                yield node.lineno, "hand the values to tr by name, do not format what it gives"
        elif isinstance(node, ast.Call) and _is_saying(node):
            places = SAYING[called(node)]
            texts = [node.args[place] for place in places if place < len(node.args)]
            if len(texts) < len(places) or not all(map(is_text, texts)):
                yield node.lineno, f"{called(node)} takes a literal: another is not found"


def untranslated(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Words for the user that go through no translation: literals that are shown, and sentences wherever they stand."""
    passed = _passed_over(tree)
    for node in all_nodes(tree):
        if isinstance(node, ast.Call) and SHOWING.fullmatch(called(node)):
            for argument in node.args[:1]:
                if id(argument) not in passed and any(c.isalpha() for c in _words(argument)):
                    yield (
                        argument.lineno,
                        f"{called(node)} shows a text that does not go through tr",
                    )
        if isinstance(node, ast.Constant | ast.JoinedStr):
            is_prose = id(node) not in passed and PROSE.search(_words(node))
            if is_prose:
                yield node.lineno, "words for the user that do not go through tr"


def called(node: ast.Call) -> str:
    """Name of the function, without what it belongs to."""
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _is_saying(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in SAYING


def is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _words(node: ast.expr) -> str:
    """A literal without markup; of an f-string what stands around that which is filled in."""
    words = MARKUP.sub(" ", _raw(node))
    return "" if words in NAMES else words


def _raw(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "\0".join(_raw(part) for part in parts)
    return ""


def _passed_over(tree: ast.Module) -> set[int]:
    """Nodes that are no words for the user: documentation, arguments of calls that translate or show nothing."""
    found: set[int] = set()
    for node in all_nodes(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found.add(id(node.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = called(node)
            if name in SAYING or UNSEEN.fullmatch(name):
                found |= {id(inner) for argument in node.args for inner in ast.walk(argument)}
        elif isinstance(node, ast.JoinedStr):
            found |= {id(part) for part in node.values}
    return found
