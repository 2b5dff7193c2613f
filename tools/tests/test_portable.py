"""Code that a laptop with Windows runs does without POSIX; the check finds where it does not."""

import ast
from pathlib import Path

import pytest

from checks.portable import find_unportable, unguarded


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import pwd", ["pwd"]),
        ("from fcntl import flock", ["fcntl"]),
        ("def f():\n    import pwd", ["pwd"]),
        ("x = os.geteuid()", ["os.geteuid"]),
        ("x = signal.SIGKILL", ["signal.SIGKILL"]),
        ("x = signal.SIGTERM", []),
        ("if sys.platform != 'win32':\n    import pwd", []),
        ("try:\n    import pwd\nexcept ImportError:\n    pwd = None", []),
        (
            "def f():\n    if sys.platform == 'win32':\n        return 0\n    return os.geteuid()",
            [],
        ),
        ("def f():\n    if x:\n        return 0\n    return os.geteuid()", ["os.geteuid"]),
        ("if TYPE_CHECKING:\n    import pwd", []),
    ],
)
def test_posix_is_found_unless_the_platform_is_asked_for(code: str, found: list[str]) -> None:
    """Imports and attributes count, also in functions; a question for the platform excuses what depends on it."""
    assert [what for _, what in unguarded(ast.parse(code))] == found


def test_an_import_of_the_embedded_stack_is_found(tmp_path: Path) -> None:
    """A verb of a stack elsewhere may not import, through others, what needs Linux; inside a function it may."""
    files = {
        "cli/src/mosaic_cli/stack/lock.py": "import fcntl\n",
        "cli/src/mosaic_cli/helper.py": "from mosaic_cli.stack import lock\n",
        "cli/src/mosaic_cli/verbs/bad.py": "from mosaic_cli.helper import x\n",
        "cli/src/mosaic_cli/verbs/good.py": "def f():\n    from mosaic_cli.helper import x\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = {finding.partition(":")[0] for finding in find_unportable(tmp_path, list(files))}
    assert found == {"cli/src/mosaic_cli/helper.py", "cli/src/mosaic_cli/verbs/bad.py"}
