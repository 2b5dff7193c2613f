"""The Slurm cluster of the scheduler's tests, for tests of whole stacks: those tests are another component."""

import importlib.util
import sys
from types import ModuleType

from stack_under_test import ROOT


def _load() -> ModuleType:
    path = ROOT / "services" / "scheduler" / "tests" / "slurm.py"
    spec = importlib.util.spec_from_file_location("scheduler_tests_slurm", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


slurm = _load()
