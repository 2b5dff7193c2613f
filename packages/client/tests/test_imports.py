"""What the package imports, and when."""

import subprocess
import sys
from pathlib import Path

import pytest

import mosaic_client

HEAVY = ("pydantic", "httpx", "websockets", "asyncio", "ssl", "msgspec", "inspect")


def loaded(code: str) -> set[str]:
    """The heavy modules that a program with this code has imported at its end."""
    look = f"{code}\nimport sys\nprint(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_the_package_itself_imports_nothing_heavy() -> None:
    """`import mosaic_client` costs a few milliseconds, whatever it offers."""
    assert loaded("import mosaic_client") == set()


@pytest.mark.parametrize("name", mosaic_client.__all__)
def test_every_name_is_found_when_it_is_used(name: str) -> None:
    """Each public name is imported from its module at its first use, and listed before that."""
    assert getattr(mosaic_client, name) is not None
    assert name in dir(mosaic_client)


def test_no_name_is_also_a_module() -> None:
    """An import of a module sets the package's attribute, and would replace what is offered under the same name."""
    folder = Path(mosaic_client.__path__[0])
    modules = {path.stem for path in folder.iterdir()}
    assert modules.isdisjoint(mosaic_client.__all__)


def test_a_name_that_is_not_offered_is_an_attribute_error() -> None:
    """As of any module."""
    with pytest.raises(AttributeError, match="has no attribute 'connekt'"):
        _ = mosaic_client.connekt


def test_a_request_to_this_machine_needs_no_httpx_and_no_pydantic() -> None:
    """A connection to a stack on loopback sends its requests by the standard library."""
    assert loaded(
        "from mosaic_client.location import Location\n"
        "from mosaic_client.stack_connection import StackConnection\n"
        "StackConnection(Location('http://127.0.0.1:9', 'secret'))"
    ) <= {"ssl"}, "which http.client imports"
