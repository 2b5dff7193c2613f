"""`images` on a real engine: what is built, what fits the checkout, what does not."""

import json
import shutil
import socket
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway_double import OF_RUN, RUN, Answers, Mosaic

from mosaic_cli.errors import ValueRefused
from mosaic_cli.images.checkout import NO_LOCK, lock_digest
from mosaic_cli.images.own import manifest_in_image, read_manifest
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
    thing = {"image": tag, "build": build, "profiles": ["build"], "networks": ["inside"]}
    project = {"services": {"thing": thing}, "networks": {"inside": {}}}
    (tmp_path / "compose.yaml").write_text(json.dumps(project))
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
        # The next step is shown whenever there is something to do.
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


@pytest.mark.nightly
@on_an_engine
def test_changed_sources_are_told(mosaic: Mosaic, checkout: Path) -> None:
    """After a pull of other sources an image is stale and says so; what the build does not copy changes nothing."""
    dockerfile = checkout / "services" / "thing" / "Dockerfile"
    dockerfile.write_text(
        DOCKERFILE.replace("FROM scratch\n", "FROM scratch\nCOPY packages/a/src/ /\n")
    )
    source = checkout / "packages" / "a" / "src"
    (source / "__pycache__").mkdir(parents=True)
    (source / "a.py").write_text("one = 1\n")

    def standing() -> dict[str, Any]:
        (one,) = json.loads(mosaic("images", "--json")[1])
        return dict(one)

    mosaic("images", "build")
    assert standing()["state"] == "ready"
    (source / "__pycache__" / "a.pyc").write_text("")
    (checkout / "packages" / "a" / "README.md").write_text("words")
    assert standing()["state"] == "ready"
    for change in (
        lambda: (source / "a.py").write_text("one = 2\n"),
        lambda: (source / "b.py").write_text(""),
        lambda: (source / "a.py").chmod(0o755),
    ):
        change()
        assert (standing()["state"], standing()["stale"]) == ("stale", ["sources"])
        assert "stale: sources" in mosaic("images")[1]
        mosaic("images", "build")
        assert standing()["state"] == "ready"


@on_an_engine
def test_another_base_is_told(mosaic: Mosaic, checkout: Path) -> None:
    """When the base's tag means another image on this engine, what was built upon the old one is stale."""
    base = f"{TAG}-base:{abs(hash(checkout)):x}"
    dockerfile = checkout / "services" / "thing" / "Dockerfile"
    dockerfile.write_text(DOCKERFILE.replace("FROM scratch", "FROM ${PYTHON_IMAGE}"))
    compose = json.loads((checkout / "compose.yaml").read_text())
    compose["services"]["thing"]["build"]["args"]["PYTHON_IMAGE"] = base
    dockerfile.write_text("ARG PYTHON_IMAGE\n" + dockerfile.read_text())
    (checkout / "compose.yaml").write_text(json.dumps(compose))

    def make_base(text: str) -> None:
        given = f"FROM scratch\nLABEL words={text}\n".encode()
        argv = ["docker", "build", "-q", "-t", base, "-"]
        subprocess.run(argv, input=given, check=True, capture_output=True)

    try:
        make_base("one")
        (built,) = json.loads(mosaic("images", "build", "--json")[1])
        assert (built["state"], built["base"]) == ("ready", base)
        make_base("two")
        (one,) = json.loads(mosaic("images", "--json")[1])
        assert (one["state"], one["stale"]) == ("stale", ["base"])
    finally:
        subprocess.run(["docker", "image", "rm", "-f", base], capture_output=True, check=False)


@on_an_engine
def test_what_an_image_contains_is_told(mosaic: Mosaic, checkout: Path) -> None:
    """Which torch and which bundles: by the labels that the image has, in the list and as JSON."""
    dockerfile = checkout / "services" / "thing" / "Dockerfile"
    dockerfile.write_text(DOCKERFILE + 'LABEL mosaic.torch=cpu mosaic.bundles="box2d mujoco"\n')
    mosaic("images", "build")
    (one,) = json.loads(mosaic("images", "--json")[1])
    assert one["contents"] == {"torch": "cpu", "bundles": "box2d mujoco"}
    assert "torch cpu; box2d mujoco" in mosaic("images")[1]


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[str]:
    """Address of a real registry on this machine, with nothing in it."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("no docker-registry here (Debian's package of that name)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    store = json.dumps({"rootdirectory": str(tmp_path / "registry")})
    (tmp_path / "registry.yml").write_text(
        f"version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {store}}}\nhttp: {{addr: '{address}'}}\n"
    )
    argv = [program, "serve", str(tmp_path / "registry.yml")]
    with subprocess.Popen(argv, stderr=subprocess.DEVNULL) as running:
        yield address
        running.terminate()


@on_an_engine
def test_images_that_are_not_built_are_pinned(
    mosaic: Mosaic, checkout: Path, registry: str
) -> None:
    """A pin names what a tag means in its registry now; other lines of .env stay; a missing digest is reported."""
    name, local = f"{registry}/broker:1", f"{TAG}-local:{abs(hash(checkout)):x}"
    compose = json.loads((checkout / "compose.yaml").read_text())
    compose["services"]["nats"] = {"image": "${MOSAIC_NATS_IMAGE:-" + name + "}"}
    compose["services"]["thing"]["build"]["args"]["PYTHON_IMAGE"] = local
    (checkout / "compose.yaml").write_text(json.dumps(compose))
    (checkout / ".env").write_text("MOSAIC_PORT=8081\nMOSAIC_NATS_IMAGE=" + name)
    digests = []
    try:
        for text in ("one", "two"):
            for tag in (name, local):
                given = f"FROM scratch\nLABEL words={text}\n".encode()
                argv = ["docker", "build", "-q", "-t", tag, "-"]
                subprocess.run(argv, input=given, check=True, capture_output=True)
            pushed = subprocess.run(["docker", "push", name], capture_output=True, text=True)
            assert pushed.returncode == 0, pushed.stderr
            code, out, err = mosaic("images", "pin", "--json")
            assert (code, f"No registry gave a digest for {local}" in err) == (6, True)
            pin = json.loads(out)["MOSAIC_NATS_IMAGE"]
            digests.append(pin.removeprefix(f"{name}@sha256:"))
            written = (checkout / ".env").read_text().splitlines()
            assert written == ["MOSAIC_PORT=8081", f"MOSAIC_NATS_IMAGE={pin}"]
        assert [len(digest) for digest in digests] == [64, 64]
        assert digests[0] != digests[1]
    finally:
        remove = ["docker", "image", "rm", "-f", name, local]
        subprocess.run(remove, capture_output=True, check=False)


def test_a_manifest_is_fitted_to_its_image(tmp_path: Path) -> None:
    """Its folder is the image's, its image is named, and what belongs to a machine is left out."""
    (tmp_path / "worker.toml").write_text(
        'id = "mine"\ntitle = "M \\"q\\""\nroom = "workerkit"\ncommand = ["{python}", "{here}/worker.py"]\n'
    )
    text = manifest_in_image(read_manifest(tmp_path), "localhost/mosaic-own/mine:latest")
    assert tomllib.loads(text) == {
        "id": "mine",
        "title": 'M "q"',
        "command": ["{python}", "/opt/worker/worker.py"],
        "image": "localhost/mosaic-own/mine:latest",
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "id: "),
        ("id = [", "cannot be read"),
        ('id = "m"\ntitle = "M"\ncommand = ["{here}/.venv/bin/python", "w.py"]\n', "{python}"),
    ],
)
def test_a_manifest_that_no_image_can_have_is_refused(tmp_path: Path, text: str, says: str) -> None:
    """It is named, with what to write instead."""
    (tmp_path / "worker.toml").write_text(text)
    with pytest.raises(ValueRefused, match=r"worker\.toml") as caught:
        read_manifest(tmp_path)
    assert says in str(caught.value)


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
    """`show` has the pinned digest of a run in a container."""
    run = RUN | {"image": "sha256:0123abcd"}
    answers["/api/v1/runs"] = {"runs": [run]}
    answers[OF_RUN] = run
    answers[f"{OF_RUN}/artifacts"] = []
    assert "sha256:0123abcd" in mosaic("show", "last")[1]
