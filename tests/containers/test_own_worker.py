"""A worker of a user's own in containers: one command builds its image and registers it, another takes it out."""

import os
import subprocess
from pathlib import Path

import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers
from stack_under_test import ROOT, VENVS

from mosaic_client import MosaicProblem
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.states import RunState

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]


def images(compose: ComposeStack, *words: str) -> subprocess.CompletedProcess[str]:
    """`./mosaic images ...` on the stack of this project."""
    return subprocess.run(
        [VENVS / "cli" / "bin" / "python", "-m", "mosaic_cli", "images", *words],
        env={
            **os.environ,
            "MOSAIC_ROOT": str(ROOT),
            "COMPOSE_PROJECT_NAME": compose.project,
            "MOSAIC_PORT": str(compose.port),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_folder_becomes_a_worker(compose: ComposeStack) -> None:
    """The sample worker, as it is in the checkout, trains in a container of its own, and can be taken out again."""
    compose.build_worker("workerkit")
    added = images(compose, "add", str(ROOT / "examples" / "worker_minimal"))
    try:
        assert added.returncode == 0, added.stderr
        names = {
            "worker": "minimal",
            "algorithm": "epsilon_greedy",
            "environment": "Bandit-v0",
            "parameters": {},
        }
        run = compose.wait_final(compose.submit(steps=500, **names).run_id)
        assert run.state is RunState.SUCCEEDED, run.end
        assert run.summary is not None
        assert run.summary.episodes > 0
        image = docker(
            "image", "inspect", "-f", "{{.Id}}", "localhost/mosaic-own/minimal:latest"
        ).strip()
        assert run.image == image
        removed = images(compose, "remove", "minimal")
        assert removed.returncode == 0, removed.stderr
        with pytest.raises(MosaicProblem) as caught:
            compose.submit(**names)
        assert caught.value.problem.code == ProblemCode.WORKER_UNKNOWN
    finally:
        docker("image", "rm", "-f", "localhost/mosaic-own/minimal:latest")


def test_an_image_without_the_kit_is_refused(compose: ComposeStack, tmp_path: Path) -> None:
    """A Dockerfile of the user's own that leaves out what starts runs: nothing is registered, and the fix is named."""
    (tmp_path / "worker.toml").write_text(
        'id = "bare"\ntitle = "B"\ncommand = ["{python}", "w.py"]\n'
    )
    (tmp_path / "Dockerfile").write_text("FROM python:3.11-slim-bookworm\n")
    try:
        added = images(compose, "add", str(tmp_path))
        assert added.returncode == 1
        assert "FROM localhost/mosaic/workerkit:" in added.stderr
        listed = compose.compose("exec", "-T", "scheduler", "ls", "workers.d").split()
        assert "bare.toml" not in listed
    finally:
        docker("image", "rm", "-f", "localhost/mosaic-own/bare:latest")
