"""A stack in containers is copied as docs/backup.md says, while a run goes on, and put on an empty volume."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers.compose_stack import ComposeStack, engine_answers, project_name
from stack_under_test import ROOT

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
TAR_CHANGED = 1
"""Exit code of tar where a file changed while it was read."""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[ComposeStack]:
    """A stack that is not up yet."""
    stack = ComposeStack(project_name(tmp_path))
    try:
        yield stack
    finally:
        stack.destroy()


def documented_commands() -> list[str]:
    """The commands of the page, in their order."""
    text = (ROOT / "docs" / "backup.md").read_text("utf-8")
    section = text.partition("## A stack in containers")[2].partition("\n## ")[0]
    blocks = re.findall(r"```\n(.+?)```", section, re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def call(stack: ComposeStack, command: str, folder: Path) -> None:
    """Run a line of the page for this project, with its file in `folder`."""
    done = subprocess.run(
        ["/bin/sh", "-c", command.replace("mosaic.tar", str(folder / "mosaic.tar"))],
        cwd=ROOT,
        env=stack.environ,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    is_expected = done.returncode == 0 or (" -c . " in command and done.returncode == TAR_CHANGED)
    assert is_expected, f"{command}: {done.stdout}\n{done.stderr}"


def test_a_copied_volume_is_the_stack(
    compose: ComposeStack, other: ComposeStack, tmp_path: Path
) -> None:
    """The run that went on is not lost here; there it has ended and says so. The ended one is what it was."""
    stop, copy, start, restore, up = documented_commands()
    parameters = {"rate": 0, "save_every": 100}
    ended = compose.wait_final(compose.submit(steps=500, parameters=parameters).run_id)
    live = compose.submit(steps=10**8, parameters={"rate": 1_000}).run_id
    compose.wait_events(live, 2_000)
    call(compose, stop, tmp_path)
    assert len(compose.run_containers()) == 1
    call(compose, copy, tmp_path)
    call(compose, start, tmp_path)
    copied = compose.run(live)
    compose.wait_events(live, (copied.summary.events if copied and copied.summary else 0) + 1_000)

    call(other, restore, tmp_path)
    call(other, up, tmp_path)
    other.read_token()
    there = other.wait_final(ended.run_id)
    assert (there.state, there.summary) == (ended.state, ended.summary)
    with compose.client() as here, other.client() as elsewhere:
        files = [
            {
                (entry.path, entry.sha256, entry.state)
                for entry in each.manifest(ended.run_id).entries
            }
            for each in (here, elsewhere)
        ]
        verified = elsewhere.verify_checkpoints(ended.run_id)
    assert files[0] == files[1]
    assert verified
    assert {row.state for row in verified} == {"present"}
    lost = other.wait_final(live)
    assert lost.end is not None
    assert lost.state in ("crashed", "interrupted")
    assert lost.end.message
    assert lost.summary is not None
    assert (lost.summary.gaps, lost.summary.events >= 2_000) == (0, True)
    assert other.run_containers() == []
    new = other.wait_final(other.submit(steps=500, parameters=parameters).run_id)
    assert new.state == "succeeded"
    with compose.client() as client:
        client.stop(live)
    assert compose.wait_final(live).state == "cancelled"
