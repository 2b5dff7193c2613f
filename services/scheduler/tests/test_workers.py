"""Workers: manifests, environments that are missing, answers that are remembered."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from mosaic_contracts.interpreter import ISOLATED
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.errors import WorkerUnknown, WorkerUnready
from mosaic_scheduler.workers.probe import WorkerProbe
from mosaic_scheduler.workers.registry import WorkerRegistry

DESCRIPTION = {
    "worker": "own",
    "version": "1",
    "title": "Own",
    "record_levels": [],
    "algorithms": [],
    "environments": [],
}


@pytest.fixture
def registry(home: Path, venvs: Path) -> WorkerRegistry:
    """The synthetic worker, and whatever a test adds."""
    return WorkerRegistry(home, home, venvs)


def _add(home: Path, name: str, body: str) -> Path:
    path = home / "workers.d" / f"{name}.toml"
    path.write_text(f'id = "{name}"\ntitle = "T"\n{body}\n')
    return path


def test_an_alias_is_found_and_a_typo_helped(registry: WorkerRegistry) -> None:
    """The old name leads to the worker; a wrong one to the nearest."""
    assert registry.find("fake_worker").manifest.id == "synthetic"
    with pytest.raises(WorkerUnknown) as unknown:
        registry.find("synthetix")
    assert unknown.value.nearest == ["synthetic"]


def test_a_missing_environment_says_what_to_do(registry: WorkerRegistry, home: Path) -> None:
    """The message says that it is not installed, and the command that makes it."""
    _add(home, "lost", 'room = "nowhere"\ncommand = ["{python}", "-m", "x"]')
    with pytest.raises(WorkerUnready, match=r"^It is not installed .*mosaic sync nowhere"):
        _ = registry.find("lost").command


def test_a_linked_folder_is_a_worker(
    registry: WorkerRegistry, home: Path, venvs: Path, tmp_path: Path
) -> None:
    """A user links a folder, or its worker.toml; `{here}` is that folder, and its own program is started."""
    own = tmp_path / "my worker"
    (own / ".venv/bin").mkdir(parents=True)
    program = own / ".venv/bin/python"
    program.symlink_to(sys.executable)
    (own / "worker.py").write_text("")
    (own / "worker.toml").write_text(
        'id = "mine"\ntitle = "T"\ncommand = ["{here}/.venv/bin/python", "{here}/worker.py"]\n'
    )
    (home / "workers.d/folder").symlink_to(own)
    assert registry.find("mine").command == [str(program), str(own / "worker.py")]
    (home / "workers.d/folder").unlink()
    (home / "workers.d/file.toml").symlink_to(own / "worker.toml")
    worker = registry.find("mine")
    assert worker.command == [str(program), str(own / "worker.py")]
    before = worker.stamp()
    os.utime(own / "worker.py", ns=(1, 1))
    assert worker.stamp() != before


def test_a_changed_environment_of_its_own_changes_the_stamp(
    registry: WorkerRegistry, home: Path
) -> None:
    """`mosaic sync FOLDER`, `pip install` there, and a module next to the program: the worker is asked again."""
    own = home / "workers.d/mine"
    site = own / ".venv/lib/python3.11/site-packages"
    site.mkdir(parents=True)
    (own / ".venv/bin").mkdir()
    (own / ".venv/bin/python").symlink_to(sys.executable)
    (own / ".venv/pyvenv.cfg").touch()
    (own / "worker.toml").write_text(
        'id = "mine"\ntitle = "T"\ncommand = ["{here}/.venv/bin/python", "{here}/worker.py"]\n'
    )
    worker = registry.find("mine")
    stamps = [worker.stamp()]
    for change in (site / "numpy", own / ".venv/mosaic-run.stamp", own / "parameters.py"):
        change.touch()
        stamps.append(worker.stamp())
    assert len(set(stamps)) == 4


def test_a_missing_program_is_named_by_its_path(registry: WorkerRegistry, home: Path) -> None:
    """`{here}` is filled in, in the program's path and in the hint."""
    own = home / "workers.d/my own"
    own.mkdir()
    (own / "worker.toml").write_text(
        'id = "mine"\ntitle = "T"\ncommand = ["{here}/.venv/bin/python"]\nhint = "Make {here}."\n'
    )
    with pytest.raises(WorkerUnready) as refused:
        _ = registry.find("mine").command
    assert str(refused.value) == f"{own}/.venv/bin/python cannot be found. Make '{own}'."


def test_a_worker_without_a_room_runs_beside_our_own_runner(
    registry: WorkerRegistry, home: Path, venvs: Path
) -> None:
    """Its program needs nothing of ours: runner and shipper, and `{python}`, are the workerkit room's."""
    _add(home, "shell", 'command = ["sh", "-c", "true"]')
    _add(home, "piped", 'command = ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/p.toml"]')
    own = venvs / "workerkit/bin/python"
    if not own.exists():
        assert registry.find("shell").python == shutil.which("sh")
        with pytest.raises(WorkerUnready, match="mosaic sync workerkit"):
            _ = registry.find("piped").command
        own.parent.mkdir(parents=True)
        own.symlink_to(sys.executable)
    assert registry.find("shell").python == str(own)
    assert registry.find("shell").command[0] == shutil.which("sh")
    assert registry.find("piped").command == [
        *(str(own), *ISOLATED, "-m", "mosaic_workerkit.pipe", str(home / "workers.d/p.toml")),
    ]


def test_a_broken_manifest_hides_no_other(registry: WorkerRegistry, home: Path) -> None:
    """A file that is no manifest is left out; the others are there."""
    (home / "workers.d" / "broken.toml").write_text("id = [")
    assert [worker.manifest.id for worker in registry.workers()] == ["synthetic"]


async def test_a_description_is_remembered_until_the_environment_changes(
    registry: WorkerRegistry, home: Path
) -> None:
    """Asked twice, also by a new scheduler, the worker starts once; a changed manifest asks it again."""
    counter, script = home / "count", home / "own.sh"
    script.write_text(f"#!/bin/sh\necho x >> {counter}\necho '{json.dumps(DESCRIPTION)}'\n")
    script.chmod(0o755)
    manifest = _add(home, "own", f'command = ["{script}"]')
    for probe in (WorkerProbe(home), WorkerProbe(home)):
        assert (await probe.describe(registry.find("own"))).title == "Own"
        assert (await probe.describe(registry.find("own"))).title == "Own"
    assert counter.read_text() == "x\n"
    os.utime(manifest, ns=(1, 1))
    await WorkerProbe(home).describe(registry.find("own"))
    assert counter.read_text() == "x\nx\n"


async def test_a_worker_that_fails_says_why(registry: WorkerRegistry, home: Path) -> None:
    """Exit code and the end of its stderr are in the message."""
    _add(home, "bad", 'command = ["sh", "-c", "echo no module named torch >&2; exit 4", "sh"]')
    with pytest.raises(WorkerUnready, match=r"exit code 4: no module named torch"):
        await WorkerProbe(home).describe(registry.find("bad"))


async def test_a_traceback_is_shown_by_its_exception(registry: WorkerRegistry, home: Path) -> None:
    """The message has the exception and names the file with the whole text, which goes with the failure."""
    script = home / "own.py"
    script.write_text("def build():\n    import absent_package\n\nbuild()\n")
    _add(home, "bad", f'command = ["{sys.executable}", "{script}"]')
    with pytest.raises(WorkerUnready) as refused:
        await WorkerProbe(home).describe(registry.find("bad"))
    first, second = str(refused.value).splitlines()
    assert first.endswith("exit code 1: ModuleNotFoundError: No module named 'absent_package'")
    log = home / "cache/workers/bad.log"
    assert second == f"All that it printed: {log}"
    assert "in build" in log.read_text()
    script.write_text(f"print({json.dumps(json.dumps(DESCRIPTION))})")
    await WorkerProbe(home).describe(registry.find("bad"))
    assert not log.exists()


async def test_a_default_out_of_its_bounds_is_refused(registry: WorkerRegistry, home: Path) -> None:
    """The message names algorithm and parameter, and the check that finds all of them."""
    gamma = {"type": "number", "default": 5, "minimum": 0, "maximum": 1}
    algorithm = {"id": "ppo", "title": "P", "parameters": {"properties": {"gamma": gamma}}}
    answer = json.dumps({**DESCRIPTION, "algorithms": [algorithm]})
    (home / "answer.json").write_text(answer)
    _add(home, "bad", f"command = ['sh', '-c', 'cat {home}/answer.json', '#']")
    with pytest.raises(
        WorkerUnready, match=r"ppo: gamma: its default must be at most 1, not 5.*worker-check"
    ):
        await WorkerProbe(home).describe(registry.find("bad"))


async def test_a_worker_that_chats_is_not_understood(registry: WorkerRegistry, home: Path) -> None:
    """Anything but JSON on stdout is refused."""
    _add(home, "chatty", 'command = ["echo", "hello"]')
    with pytest.raises(WorkerUnready, match="an unexpected answer"):
        await WorkerProbe(home).describe(registry.find("chatty"))


async def test_a_worker_checks_a_spec(registry: WorkerRegistry, home: Path) -> None:
    """The real synthetic worker answers `check` with its plan."""
    spec = RunSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0")
    report = await WorkerProbe(home).check(registry.find("synthetic"), spec)
    assert report.ok
