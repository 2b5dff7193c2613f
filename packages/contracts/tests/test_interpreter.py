"""How a Python of MOSAIC's own is started, and how a person's is not touched."""

import pytest

from mosaic_contracts.interpreter import ISOLATED, python_module, worker_command


def test_a_module_of_ours_runs_isolated() -> None:
    """The options come before `-m`, so that they are the interpreter's."""
    assert python_module("/p", "mosaic_x", "a b") == ["/p", *ISOLATED, "-m", "mosaic_x", "a b"]
    assert "-I" in ISOLATED


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (["{python}", "-m", "mosaic_x"], ["/p", *ISOLATED, "-m", "mosaic_x"]),
        (
            ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/p.toml", "{python}"],
            ["/p", *ISOLATED, "-m", "mosaic_workerkit.pipe", "/w/p.toml", "/p"],
        ),
        (["{python}", "{here}/worker.py"], ["/p", "/w/worker.py"]),
        (["{python}", "-m", "mine"], ["/p", "-m", "mine"]),
        (["{python}", "-u", "-m", "mosaic_x"], ["/p", "-u", "-m", "mosaic_x"]),
        (["{here}/python", "-m", "mosaic_x"], ["/w/python", "-m", "mosaic_x"]),
        (["{python}"], ["/p"]),
        (["{python}", "-m"], ["/p", "-m"]),
        (["sh", "-c", "echo {here}"], ["sh", "-c", "echo /w"]),
    ],
)
def test_only_a_module_of_ours_gets_options(command: list[str], argv: list[str]) -> None:
    """A program of the worker's author starts exactly as its manifest has it."""
    assert worker_command(command, "/p", "/w") == argv


def test_a_folder_that_is_not_there_stays_a_word() -> None:
    """An image has no folder of the manifest."""
    assert worker_command(["{python}", "{here}/w.py"], "python", None) == ["python", "{here}/w.py"]
