"""`./mosaic lint | imports | types | test`: runs what checks the code. `./mosaic` made the environments.

Without a component `test` runs everything and ends with one line that sums the tests of all components.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import checks
from changed import affected_tests, changed_files
from components import ROOT, CheckedComponent, all_components, named_components
from reports import read_times
from steps import CapturedOutcome, Outcome, Summary, run_commands
from suites import REPORTS, captured_tests, run_tests

HERE = Path(sys.executable).parent  # the tools' own environment holds the linters
SDK = ("base", "contracts", "client", "workerkit", "gymkit")
"""What users import: it runs on Python 3.10 to 3.14."""
OLDEST_PYTHON = "3.10"
CACHE = ROOT / "var" / "cache"
OWN_TYPES = ("worker_cleanrl",)
"""Components with another NumPy and Gymnasium than all others. In one cache mypy would analyse each version again
after the other."""
LANES = max(3, 2 * (os.cpu_count() or 1))
"""Suites run at once: a suite alone waits for a third of its time, tests of containers for nearly all of it.

With one more in any case, the deadlines of tests that kill processes were too short on two cores.
"""
MOST_LANES = LANES + 2
"""The same while processors are idle."""
LONGEST_FIRST = (
    "tests-containers-2",
    "tests-containers",
    "scheduler",
    "tests-e2e",
    "gui",
    "worker_cleanrl",
    "workerkit",
    "tests-kills",
    "gateway",
    "cli",
    "tests-hardship",
    "worker_spade",
    "tests",
    "recorder",
    "tests-remote",
    "tests-install",
    "store",
    "tools",
    "worker_sweep",
    "worker_script",
    "gymkit",
    "xmpp",
    "docs",
    "servicekit",
    "analysis",
    "client",
    "worker_play",
)
"""What begins first, so that no long suite runs alone at the end."""
SLOWEST = 30
CHANGED = "--changed"
NIGHTLY = "--nightly"
"""Option of `test` and of pytest (conftest.py of the checkout): runs also the tests that are left for the night."""
BASE = "origin/main"
CHANGED_BUDGET_S = 150.0
"""Time of the tests that `--changed` runs, two at once, as they took last time."""
UNKNOWN_S = 5.0
"""Assumed for a test file that was never run here."""


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
    sources = [component.folder / "src" for component in all_components()]
    paths = [str(folder) for folder in sources if folder.is_dir()]
    command = [str(HERE / "lint-imports"), "--no-logo", "--cache-dir", str(CACHE / "import-linter")]
    return run_commands([command], ROOT, {**os.environ, "PYTHONPATH": os.pathsep.join(paths)})


def run_checks() -> Outcome:
    """Rules of this repository that no linter knows."""
    findings = checks.find_all(ROOT, tracked_files())
    for finding in findings:
        print(finding)
    return Outcome(ok=not findings)


def types(component: CheckedComponent) -> CapturedOutcome:
    """Run mypy --strict as the component's own interpreter sees the world; what users import as Python 3.10 too."""
    if not component.sources:
        return Outcome(ok=True, note="no Python"), ""
    outcome, text = _types_on(component, [], component.sources)
    if component.name in SDK and outcome.ok:
        outcome, more = _types_on(component, ["--python-version", OLDEST_PYTHON], ["src"])
        text += more
    return outcome, text


def _types_on(
    component: CheckedComponent, options: list[str], sources: list[str]
) -> CapturedOutcome:
    command = [str(HERE / "mypy"), "--config-file", str(ROOT / "pyproject.toml")]
    command += ["--python-executable", str(component.python)]
    command += ["--cache-dir", str(CACHE / "mypy" / types_row(component)), *options, *sources]
    base = "src" if (component.folder / "src").is_dir() else "."
    env = {**os.environ, "MYPYPATH": base}
    ended = subprocess.run(command, cwd=component.folder, env=env, text=True, capture_output=True)
    said = " ".join([f"{component.name}:", *options, (ended.stdout + ended.stderr).strip()])
    return Outcome(ok=ended.returncode == 0), f"{said}\n"


def types_row(component: CheckedComponent) -> str:
    """Name of the components that share a cache of mypy with this one, and are checked one after the other.

    What they have in common is analysed once: mypy compares files by their content, so that the same package in another
    environment is found in the cache.
    """
    return component.name if component.name in OWN_TYPES else "shared"


def types_rank(component: CheckedComponent) -> tuple[bool, int]:
    """Place of a component in its row, so that mypy analyses few modules again for the next one.

    A package of ours comes before what imports it: mypy analyses a module again whose errors it did not keep, because
    it was only imported. Components without NumPy come first: pytest and our client import it where it is installed.
    """
    return component.has_numpy, len(component.packages)


def types_steps(
    components: list[CheckedComponent],
) -> list[tuple[str, Callable[[], CapturedOutcome]]]:
    """One step for each row of components whose types are checked one after the other."""
    rows: dict[str, list[CheckedComponent]] = {}
    for component in sorted(components, key=types_rank):
        rows.setdefault(types_row(component), []).append(component)
    return [(f"types {name}", partial(types_of, row)) for name, row in rows.items()]


def types_of(components: list[CheckedComponent]) -> CapturedOutcome:
    """Run mypy over several components, one after the other."""
    checked = [(component.name, *types(component)) for component in components]
    wrong = [name for name, outcome, _ in checked if not outcome.ok]
    note = f"wrong: {', '.join(wrong)}" if wrong else ""
    return Outcome(ok=not wrong, note=note), "".join(text for _, _, text in checked)


def test_components(components: list[CheckedComponent], arguments: list[str]) -> Summary:
    """Check some components: the inner loop."""
    summary = Summary()
    folders = [str(component.folder.relative_to(ROOT)) for component in components]
    summary.step("lint", partial(lint, folders))
    summary.steps_at_once(types_steps(components), LANES)
    for component in components:
        if component.sources:
            summary.step(f"tests {component.name}", partial(run_tests, component, arguments))
    return summary


def test_everything(arguments: list[str]) -> Summary:
    """Check the whole checkout: types together with the tests, the quick rest at the end, so that no core is idle."""
    summary = Summary()
    components = [component for component in all_components() if component.sources]
    steps = [*types_steps(components), *suites_of(components, arguments)]
    for verb in ("lint", "imports"):
        steps.append((verb, partial(captured_verb, verb)))
    summary.steps_at_once(steps, LANES, MOST_LANES)
    return summary


def captured_verb(verb: str) -> CapturedOutcome:
    """Run a verb of this program and return what it prints: tests run at the same time."""
    command = [sys.executable, str(Path(__file__).resolve()), verb]
    ended = subprocess.run(
        command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return Outcome(ok=ended.returncode == 0), ended.stdout


def suites_of(
    components: list[CheckedComponent], arguments: list[str]
) -> list[tuple[str, Callable[[], CapturedOutcome]]]:
    """One step for each part of the components' tests, the longest first."""
    steps = []
    for component in components:
        for part, files in component.parts.items():
            # a component with one part needs no names: pytest finds its files
            named = [str(path) for path in files] if len(component.parts) > 1 else []
            if files:
                steps.append((part, partial(captured_tests, component, part, [*arguments, *named])))
    rank = {name: place for place, name in enumerate(LONGEST_FIRST)}
    return sorted(steps, key=lambda step: rank.get(step[0], len(rank)))


def test_changed(arguments: list[str]) -> Summary:
    """Check what the changes since BASE can break, in about two minutes.

    Runs the test files that import a changed module, nearest first, for as long as the time of their last run allows;
    says how many were left out.
    """
    summary = Summary()
    summary.step("lint", partial(lint, ["."]))
    summary.step("imports", imports)
    summary.step("checks", run_checks)
    components = [component for component in all_components() if component.sources]
    changed = changed_files(BASE)
    touched = [c for c in components if any(c.folder in path.parents for path in changed)]
    if touched:
        summary.steps_at_once(types_steps(touched), LANES)
    affected = affected_tests(components, changed)
    chosen = within_budget(components, affected)
    steps = [
        (
            f"tests {component.name}",
            partial(captured_tests, component, component.name, [*arguments, *map(str, files)]),
        )
        for component in components
        if (files := [path for path in component.tests if path in chosen])
    ]
    summary.steps_at_once(steps, LANES)
    if left_out := len(affected) - len(chosen):
        print(
            f"\n{left_out} of {len(affected)} test files that the change can break were LEFT OUT; "
            "./mosaic test runs all"
        )
    return summary


def within_budget(components: list[CheckedComponent], affected: dict[Path, int]) -> set[Path]:
    """The nearest of the affected test files whose last times stay within the budget."""
    last = dict.fromkeys(affected, UNKNOWN_S)
    for component in components:
        for part, files in component.parts.items():
            times = read_times(REPORTS / f"{part}.xml")
            for path in affected.keys() & set(files):
                spent = [time.seconds for time in times if time.module.endswith(f".{path.stem}")]
                last[path] = sum(spent) if spent else UNKNOWN_S
    chosen, left_s = set[Path](), CHANGED_BUDGET_S
    for path in sorted(affected, key=lambda path: (affected[path], last[path])):
        if last[path] <= left_s:
            chosen.add(path)
            left_s -= last[path]
    return chosen


def main(verb: str, *words: str) -> int:
    """Run a verb; 0 when everything is as it should be."""
    names, arguments = list(words), []
    if "--" in names:
        cut = names.index("--")
        names, arguments = names[:cut], names[cut + 1 :]
    if verb == "test":
        if NIGHTLY in names:
            names.remove(NIGHTLY)
            arguments = [NIGHTLY, *arguments]
        if CHANGED in names:
            summary = test_changed(arguments)
        elif names:
            summary = test_components(named_components(names), arguments)
        else:
            summary = test_everything(arguments)
        summary.print_slowest(SLOWEST)
        summary.print_table()
        if summary.counts.nightly:
            print(f"\n{summary.counts.nightly} nightly tests were not run; {NIGHTLY} runs them too")
        print(f"\n{summary.counts}", flush=True)
        return 0 if summary.ok else 1
    if verb == "lint":
        outcomes = [lint(["."]), run_checks()]
    elif verb == "imports":
        outcomes = [imports()]
    else:
        summary = Summary()
        summary.steps_at_once(
            types_steps(named_components(names) if names else all_components()), LANES
        )
        return 0 if summary.ok else 1
    return 0 if all(outcome.ok for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
