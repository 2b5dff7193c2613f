"""Which modules a verb may import. What is imported decides how long a person waits for each verb."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable

import pytest
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers

from mosaic_cli.verb_table import ENTRIES

HEAVY = ("pydantic", "httpx", "websockets", "asyncio", "ruamel", "mosaic_client.client")
"""Each costs as much as a short verb does in all."""
OF_TYPER = ("typer", "rich", "inspect", "msgspec")
"""What the Tab key does without, too."""
LOOK = """
import json, sys
from mosaic_cli.main import main
found = []
for words in json.loads(sys.argv[1]):
    sys.argv = ["mosaic", *words]
    try:
        main()
    except SystemExit as end:
        code = end.code or 0
    else:
        code = 0
    found.append([code, [name for name in HEAVY if name in sys.modules]])
print(json.dumps(found), file=sys.stderr)
"""
Loaded = tuple[int, list[str]]
"""Exit code of a command line, and which of the modules are imported at its end."""


def loaded_by_each(
    lines: Iterable[Iterable[str]], among: Iterable[str] = HEAVY, **environ: str
) -> list[Loaded]:
    """Run command lines one after the other in a process. A module that one imports shows in all after it, too."""
    look = f"HEAVY = {tuple(among)!r}{LOOK}"
    done = subprocess.run(
        [sys.executable, "-c", look, json.dumps([list(words) for words in lines])],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environ},
    )
    return [(code, heavy) for code, heavy in json.loads(done.stderr.splitlines()[-1])]


def loaded(*arguments: str, among: Iterable[str] = HEAVY, **environ: str) -> Loaded:
    """Run one command line in a process of its own."""
    return loaded_by_each([arguments], among, **environ)[0]


def test_help_imports_only_what_a_verb_looks_like() -> None:
    """`VERB --help` needs the verb's signature, and nothing of what the verb does."""
    verbs = [entry.verb.name for entry in ENTRIES]
    found = loaded_by_each([verb, "--help"] for verb in verbs)
    assert dict(zip(verbs, found, strict=True)) == dict.fromkeys(verbs, (0, []))


def test_what_names_no_verb_imports_none() -> None:
    """The help of all verbs, and a slip, are answered from the table."""
    lines = [["--help"], ["version"], ["nosuchverb"], []]
    assert [heavy for _, heavy in loaded_by_each(lines)] == [[]] * len(lines)


@pytest.fixture
def stack(answers: Answers) -> Answers:
    """Answers for every verb that looks."""
    answers["/api/v1/runs"] = {"runs": [RUN | {"tags": ["a"], "summary": {"run_id": RUN_ID}}]}
    answers["/api/v1/stack"] = {"version": "1", "ready": True, "broker": True, "scheduler": {}}
    answers["/api/v1/queue"] = {"runs": [RUN | {"state": "queued"}]}
    answers[f"{OF_RUN}/episodes"] = {"episodes": [{"attempt": 1, "env": 0, "episode": 0}]}
    answers[f"{OF_RUN}/metrics"] = [{"name": "a", "points": 1, "last_step": 1, "last_value": 1}]
    answers[f"{OF_RUN}/curve"] = {"run_id": RUN_ID, "name": "a", "points": 0}
    answers[f"{OF_RUN}/events"] = {"events": [], "cursor": "", "has_more": False}
    answers[f"{OF_RUN}/restore"] = RUN
    answers[f"{OF_RUN}/queue"] = RUN
    return answers


@pytest.mark.nightly(by_day=["ps", "show last --json", "stop last"])
@pytest.mark.parametrize(
    "words",
    ["ps", "ps --json", "ps -t a --sort name", "show last", "show last --json", f"show {RUN_ID[:8]}", "status",
     "status --json", "stop last", "episodes last", "metrics last", "metrics last a", "events last", "artifacts last",
     "tag last", "tag last b", "note last x", "rm last", f"restore {RUN_ID}", "queue", f"queue hold {RUN_ID}"],
)  # fmt: skip
def test_a_short_verb_imports_no_models_and_no_event_loop(stack: Answers, words: str) -> None:
    """What a person types all day reads answers by msgspec and plain HTTP; the models are for verbs that submit."""
    assert loaded(*words.split()) == (0, [])


@pytest.mark.parametrize(
    "line", ["mosaic sh", "mosaic run --", "mosaic ps --state ", "mosaic show "]
)
def test_the_tab_key_imports_neither_typer_nor_a_verb(stack: Answers, line: str) -> None:
    """A key press is answered from the table; only runs are asked of the stack."""
    place = str(len(line.split()) - (0 if line.endswith(" ") else 1))
    environ = {"_MOSAIC_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": place}
    assert loaded(among=(*HEAVY, *OF_TYPER), **environ) == (0, [])
