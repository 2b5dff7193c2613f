"""Which modules of the contract need no pydantic."""

import subprocess
import sys

import pytest

LIGHT = (
    "choices",
    "cursor",
    "gateway_address",
    "group_words",
    "http_api",
    "ids",
    "parameter_bounds",
    "problem_codes",
    "run_diff",
    "run_names",
    "run_search",
    "search_completion",
    "search_words",
    "stack_files",
    "states",
    "subjects",
    "terminal",
)


@pytest.mark.parametrize("module", LIGHT)
def test_names_and_choices_are_imported_without_pydantic(module: str) -> None:
    """A program that only names a file, a state or a code imports no pydantic, which costs more than the rest of it."""
    look = f"import sys, mosaic_contracts.{module}; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
