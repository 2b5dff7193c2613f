"""Services under another uid: possible where the images are built for it, and else refused with the true reason."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers, project_name
from stack_under_test import ROOT

from mosaic_contracts.states import RunState

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
UID, VERSION = "4321", "0.0.0-test-uid"


@pytest.fixture
def of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ComposeStack]:
    """A project whose services have another uid, with images of its own; none of both is left."""
    for name, value in (("MOSAIC_UID", UID), ("MOSAIC_GID", UID), ("MOSAIC_VERSION", VERSION)):
        monkeypatch.setenv(name, value)
    stack = ComposeStack(project_name(tmp_path))
    stack.build()
    try:
        yield stack
    finally:
        stack.destroy()
        images = docker(
            "image", "ls", "-q", "--filter", f"reference=localhost/mosaic/*:{VERSION}"
        ).split()
        docker("image", "rm", "-f", *images)


def test_all_services_run_as_another_uid(of_another: ComposeStack) -> None:
    """With MOSAIC_UID in the build and at the start everything belongs to it, and runs do, too."""
    of_another.up()
    of_another.add_worker("synthetic")
    run = of_another.wait_final(of_another.submit(steps=500).run_id)
    assert run.state is RunState.SUCCEEDED
    look = f"find . ! -user {UID} | head; id -u; stat -c %u runs/{run.run_id}/logs/worker.log"
    said = of_another.compose("exec", "-T", "scheduler", "sh", "-c", look).split()
    assert said == [UID, UID]


def test_a_volume_of_another_uid_is_told(compose: ComposeStack) -> None:
    """Whose it is, who asks, and both ways out; with the second the volume can be used."""
    done = subprocess.run(
        ["docker", "compose", "run", "--rm", "--no-deps", "init"],
        cwd=ROOT,
        env={
            **os.environ,
            "COMPOSE_PROJECT_NAME": compose.project,
            "MOSAIC_UID": UID,
            "MOSAIC_GID": UID,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    said = done.stderr + done.stdout
    assert f"belongs to uid 10001, and the services run as uid {UID}" in said
    assert f"MOSAIC_UID={UID}" in said
    assert f"-v {compose.project}_home:/var/lib/mosaic" in said
