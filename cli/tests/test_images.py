"""`images` on a real engine: what is built, what fits the checkout, what does not."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway_double import OF_RUN, RUN, Answers, Mosaic

from mosaic_cli.images.checkout import NO_LOCK, lock_digest
from mosaic_contracts import VERSION

TAG = "mosaic-test/thing"
DOCKERFILE = """\
FROM scratch
COPY services/thing/requirements.lock /
ARG VERSION=0
ARG LOCK_DIGEST=unknown
LABEL org.opencontainers.image.version="${VERSION}" mosaic.lock-digest="${LOCK_DIGEST}"
"""


def _engine_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "compose", "ls"], capture_output=True, check=False)
    return asked.returncode == 0


on_an_engine = pytest.mark.skipif(not _engine_answers(), reason="no container engine answers here")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout with one image that takes a second to build; the image is gone afterwards."""
    tag = f"{TAG}:{abs(hash(tmp_path)):x}"
    build = {
        "context": ".",
        "dockerfile": "services/thing/Dockerfile",
        "args": {"VERSION": "${MOSAIC_VERSION:-0}"},
    }
    services = {"thing": {"image": tag, "build": build, "profiles": ["build"]}}
    (tmp_path / "compose.yaml").write_text(json.dumps({"services": services}))
    room = tmp_path / "services" / "thing"
    room.mkdir(parents=True)
    (room / "Dockerfile").write_text(DOCKERFILE)
    (room / "requirements.lock").write_text("numpy==2.0\n")
    monkeypatch.setenv("MOSAIC_ROOT", str(tmp_path))
    monkeypatch.delenv("MOSAIC_VERSION", raising=False)
    yield tmp_path
    subprocess.run(["docker", "image", "rm", "-f", tag], capture_output=True, check=False)


@on_an_engine
def test_an_image_is_built_and_goes_stale(mosaic: Mosaic, checkout: Path) -> None:
    """Missing, ready with version and lock digest, stale once a lock changed; Compose alone leaves it unlabelled."""

    def state() -> str:
        code, out, err = mosaic("images", "--json")
        (one,) = json.loads(out)
        # What to do is told whenever there is something to do.
        said = mosaic("images")[2]
        assert ("images build thing" in said) is (one["state"] != "ready")
        assert (code, one["name"], err) == (0, "thing", "")
        return str(one["state"])

    assert state() == "missing"
    code, out, _ = mosaic("images", "build", "thing", "--json")
    (built,) = json.loads(out)
    wanted = lock_digest(checkout / "services" / "thing" / "Dockerfile")
    assert (code, built["state"], built["version"]) == (0, "ready", VERSION)
    assert (built["lock_digest"], len(wanted)) == (wanted, 64)
    assert state() == "ready"
    (checkout / "services" / "thing" / "requirements.lock").write_text("numpy==2.1\n")
    assert state() == "stale"
    subprocess.run(
        ["docker", "compose", "--profile", "build", "build", "-q"],
        cwd=checkout,
        check=True,
        capture_output=True,
    )
    assert state() == "unlabelled"


@on_an_engine
def test_what_cannot_be_built_is_told(mosaic: Mosaic, checkout: Path) -> None:
    """An unknown name is met with the nearest one; a build that fails ends with its own exit code."""
    code, _, err = mosaic("images", "build", "thin")
    assert (code, "Did you mean thing" in err) == (2, True)
    (checkout / "services" / "thing" / "requirements.lock").unlink()
    code, _, err = mosaic("images", "build")
    assert (code, "could not be built" in err) == (1, True)


def test_without_an_engine_the_embedded_stack_is_named(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is no Docker the message says so, and what works without."""
    monkeypatch.setenv("MOSAIC_ROOT", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = mosaic("images")
    assert (code, out) == (6, "")
    assert "docs/containers.md" in err
    assert "./mosaic up" in err


def test_the_digest_is_of_what_an_image_installs(tmp_path: Path) -> None:
    """A lock for tests alone makes no image stale; every other lock, and which torch, does."""
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(DOCKERFILE)
    (tmp_path / "requirements.lock").write_text("a")
    digests = [lock_digest(dockerfile)]
    (tmp_path / "requirements.dev.lock").write_text("b")
    digests.append(lock_digest(dockerfile))
    for name in ("torch.txt", "bundle-box2d.lock"):
        (tmp_path / name).write_text("c")
        digests.append(lock_digest(dockerfile))
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


@pytest.mark.parametrize("image", ["services/xmpp", "deploy/proxy"])
def test_an_image_of_debians_packages_is_never_stale_by_a_lock(image: str) -> None:
    """An image that copies no lock has the label that Compose alone gives it: plain `docker compose build` is ready."""
    dockerfile = Path(__file__).parents[2] / image / "Dockerfile"
    assert lock_digest(dockerfile) == NO_LOCK
    assert f"ARG LOCK_DIGEST={NO_LOCK}\n" in dockerfile.read_text()


def test_show_names_the_image(mosaic: Mosaic, answers: Answers) -> None:
    """Of a run in a container `show` has the digest that was pinned."""
    run = RUN | {"image": "sha256:0123abcd"}
    answers["/api/v1/runs"] = {"runs": [run]}
    answers[OF_RUN] = run
    answers[f"{OF_RUN}/artifacts"] = []
    assert "sha256:0123abcd" in mosaic("show", "last")[1]
