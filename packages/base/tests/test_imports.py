import gc
import importlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from mosaic_base.imports import large_imports


def test_no_garbage_is_collected_while_packages_are_imported() -> None:
    """Afterwards it is again, and what was imported is not looked at any more."""
    before = gc.get_freeze_count()
    with large_imports():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > before
    gc.unfreeze()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package that counts how often it is loaded, with a module below it."""
    folder = tmp_path / "package_on_use"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "import sys, time\n"
        "loads = getattr(sys, 'loads_of_package', 0) + 1\n"
        "sys.loads_of_package = loads\n"
        "from . import below\n"
        "time.sleep(0.05)\n"
        "last = below.VALUE\n"
    )
    (folder / "below.py").write_text("VALUE = 5\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "package_on_use"
    for name in ("package_on_use", "package_on_use.below"):
        sys.modules.pop(name, None)
    vars(sys).pop("loads_of_package", None)


def _loads() -> int:
    return int(vars(sys).get("loads_of_package", 0))


def test_a_module_on_use_is_loaded_when_it_is_read(package: str) -> None:
    """It is imported without being loaded, and a second import does not load it either."""
    with large_imports(on_use=[package]):
        module = importlib.import_module(package)
    assert importlib.import_module(package) is module
    assert _loads() == 0
    assert module.last == 5
    assert type(module) is ModuleType
    assert _loads() == 1


def test_a_module_below_loads_the_one_on_use(package: str) -> None:
    """Its folder is known only then."""
    with large_imports(on_use=[package]):
        importlib.import_module(package)
        below = importlib.import_module(f"{package}.below")
    assert (below.VALUE, _loads()) == (5, 1)


def test_threads_see_a_module_on_use_whole(package: str) -> None:
    """Those that come while it is loaded wait."""
    with large_imports(on_use=[package]):
        module = importlib.import_module(package)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: module.last, range(4))) == [5] * 4
    assert _loads() == 1


def test_a_module_that_cannot_be_loaded_fails_at_each_use(tmp_path: Path, package: str) -> None:
    """As an import that failed can be tried again."""
    (tmp_path / package / "below.py").write_text("raise ImportError('not here')\n")
    with large_imports(on_use=[package]):
        module = importlib.import_module(package)
    for number in (1, 2):
        with pytest.raises(ImportError, match="not here"):
            module.last  # noqa: B018  # reading is what is tested
        assert _loads() == number
