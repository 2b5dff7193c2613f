"""`./mosaic lint | imports | types | test`: runs what judges the code. `./mosaic` made the environments.

Without a room `test` runs everything and closes with one line that sums the tests of all rooms.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import checks
from rooms import ROOT, Room, all_rooms, named_rooms
from steps import Judgement, Outcome, ToldOutcome, judge_pytest, read_counts, run_commands

HERE = Path(sys.executable).parent  # the tools' own environment holds the linters
CACHE = ROOT / "var" / "cache"
REPORTS = ROOT / "var" / "reports"
LANES = 2
"""Rooms that are tested at once: half of a test is waiting, but more than two would starve those with deadlines."""


def lint(where: list[str]) -> Outcome:
    """Ruff's rules and format, spelling, and shell scripts."""
    shell = [
        name
        for name in tracked_files()
        if (name in ("mosaic", ".ci/run") or name.endswith(".sh")) and is_under(name, where)
    ]
    commands = [
        [str(HERE / "ruff"), "check", "--quiet", *where],
        [str(HERE / "ruff"), "format", "--quiet", "--diff", *where],
        [str(HERE / "codespell"), "--toml", "pyproject.toml", *where],
    ]
    if shell:
        commands.append([str(HERE / "shellcheck"), "-x", *shell])
    return run_commands(commands, ROOT, {**os.environ, "RUFF_CACHE_DIR": str(CACHE / "ruff")})


def tracked_files() -> list[str]:
    """Files that git knows or would add, relative to the checkout."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def is_under(name: str, where: list[str]) -> bool:
    return where == ["."] or any(name.startswith(f"{folder}/") for folder in where)


def imports() -> Outcome:
    """The import rules: ours by import-linter, and what it cannot say by the checks."""
    paths = [str(room.folder / "src") for room in all_rooms() if (room.folder / "src").is_dir()]
    command = [str(HERE / "lint-imports"), "--no-logo", "--cache-dir", str(CACHE / "import-linter")]
    return run_commands([command], ROOT, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def run_checks() -> Outcome:
    """Rules of this repository that no linter knows."""
    findings = checks.find_all(ROOT, tracked_files())
    for finding in findings:
        print(finding)
    return Outcome(ok=not findings)


def types(room: Room) -> Outcome:
    """Run mypy --strict as the room's own interpreter sees the world."""
    if not room.sources:
        return Outcome(ok=True, note="no Python")
    command = [str(HERE / "mypy"), "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--python-executable", str(room.python)]
    command += ["--cache-dir", str(CACHE / "mypy" / room.name), *room.sources]
    base = "src" if (room.folder / "src").is_dir() else "."
    env = {**os.environ, "MYPYPATH": base}
    ended = subprocess.run(command, cwd=room.folder, env=env, text=True, capture_output=True)
    # in one piece: another room may be judged at the same time
    print(f"{room.name}: {(ended.stdout + ended.stderr).strip()}", flush=True)
    return Outcome(ok=ended.returncode == 0)


def types_of_all(rooms: list[Room]) -> Outcome:
    """Run mypy over several rooms, as many at once as there are cores, for it is nothing but work."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = dict(zip((room.name for room in rooms), pool.map(types, rooms), strict=True))
    wrong = [name for name, outcome in outcomes.items() if not outcome.ok]
    return Outcome(ok=not wrong, note=f"wrong: {', '.join(wrong)}" if wrong else "")


def tests(room: Room, arguments: list[str]) -> Outcome:
    """Run the room's tests in its own environment, printing as they go."""
    if not room.tests:
        return Outcome(ok=True, note="none yet")
    command, report = pytest_command(room, arguments)
    code = subprocess.run(command, cwd=room.folder, env=test_environment(), check=False).returncode
    return judge_pytest(code, read_counts(report))


def told_tests(room: Room, arguments: list[str]) -> ToldOutcome:
    """Run the room's tests and give what they print: another room's run at the same time."""
    if not room.tests:
        return Outcome(ok=True, note="none yet"), ""
    command, report = pytest_command(room, arguments)
    ended = subprocess.run(
        command,
        cwd=room.folder,
        env=test_environment(),
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return judge_pytest(ended.returncode, read_counts(report)), ended.stdout


def pytest_command(room: Room, arguments: list[str]) -> tuple[list[str], Path]:
    """What runs a room's tests, and the report that it will write; an older one is gone."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    report = REPORTS / f"{room.name}.xml"
    report.unlink(missing_ok=True)
    return [str(room.python), "-m", "pytest", f"--junitxml={report}", *arguments], report


def test_environment() -> dict[str, str]:
    """The environment of tests: they make stacks of their own, a person's is not theirs to touch."""
    return {key: value for key, value in os.environ.items() if key != "MOSAIC_HOME"}


def test_rooms(rooms: list[Room], arguments: list[str]) -> Judgement:
    """Judge some rooms: the inner loop."""
    judgement = Judgement()
    folders = [str(room.folder.relative_to(ROOT)) for room in rooms]
    judgement.step("lint", partial(lint, folders))
    judgement.step("types", partial(types_of_all, rooms))
    for room in rooms:
        if room.sources:
            judgement.step(f"tests {room.name}", partial(tests, room, arguments))
    return judgement


def test_everything(arguments: list[str]) -> Judgement:
    """Judge the whole checkout, what is quick first, so that a wrong type shows within a minute."""
    judgement = Judgement()
    judgement.step("lint", partial(lint, ["."]))
    judgement.step("imports", imports)
    judgement.step("checks", run_checks)
    rooms = [room for room in all_rooms() if room.sources]
    judgement.step("types", partial(types_of_all, rooms))
    # `tests`, which comes last, takes as long as half of the others: it begins first
    steps = [
        (f"tests {room.name}", partial(told_tests, room, arguments))
        for room in rooms[-1:] + rooms[:-1]
    ]
    judgement.steps_at_once(steps, LANES)
    return judgement


def main(verb: str, *words: str) -> int:
    """Run a verb; 0 when everything is as it should be."""
    names, arguments = list(words), []
    if "--" in names:
        cut = names.index("--")
        names, arguments = names[:cut], names[cut + 1 :]
    if verb == "test":
        judgement = (
            test_rooms(named_rooms(names), arguments) if names else test_everything(arguments)
        )
        judgement.print_table()
        print(f"\n{judgement.counts}", flush=True)
        return 0 if judgement.ok else 1
    if verb == "lint":
        outcomes = [lint(["."]), run_checks()]
    elif verb == "imports":
        outcomes = [imports()]
    else:
        rooms = named_rooms(names) if names else all_rooms()
        outcomes = [types_of_all(rooms)]
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
