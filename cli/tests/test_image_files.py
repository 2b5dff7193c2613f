"""`images export`: what is in the archive, on a real engine, and how the SIF is made from it."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.gateway_double import Mosaic

from mosaic_cli.images.sif import PROGRAMS
from mosaic_contracts import VERSION

TAG = "mosaic-test/worker_exported"
DOCKERFILE = f"""\
FROM scratch
COPY a.txt /
COPY b.txt /
LABEL words=two org.opencontainers.image.version="{VERSION}" mosaic.lock-digest=none
"""
RECORDER = """\
#!/bin/sh
printf '%s\\n' "$PWD" "$@" >"$RECORDED"
test -f "${3#docker-archive:}" && echo made >"$2"
exit "${APPTAINER_EXIT:-0}"
"""
"""A stand-in: it records how it was called, and says nothing of what Apptainer would do."""


def _engine_answers() -> bool:
    if shutil.which("docker") is None:
        return False
    asked = subprocess.run(["docker", "compose", "ls"], capture_output=True, check=False)
    return asked.returncode == 0


pytestmark = pytest.mark.skipif(not _engine_answers(), reason="no container engine answers here")


@pytest.fixture
def tag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A worker's image of a checkout, with two layers; the work folder is empty."""
    tag = f"{TAG}:{abs(hash(tmp_path)):x}"
    root = tmp_path / "checkout"
    folder = root / "services" / "worker_thing"
    folder.mkdir(parents=True)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    for name in ("a.txt", "b.txt"):
        (root / name).write_text(f"{name} {tag}\n")
    build = {"context": ".", "dockerfile": "services/worker_thing/Dockerfile"}
    thing = {"image": tag, "build": build, "profiles": ["build"]}
    (root / "compose.yaml").write_text(json.dumps({"services": {"worker_thing": thing}}))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("MOSAIC_ROOT", str(root))
    monkeypatch.chdir(work)
    yield tag
    subprocess.run(["docker", "image", "rm", "-f", tag], capture_output=True, check=False)


@pytest.fixture
def name(mosaic: Mosaic, tag: str) -> str:
    """The worker's name, without the prefix of its image; the image is built."""
    short = tag.rsplit("/", 1)[-1].partition(":")[0].removeprefix("worker_")
    assert mosaic("images", "build")[0] == 0
    return short


def _image_id(tag: str) -> str:
    argv = ["docker", "image", "inspect", tag, "--format", "{{.Id}}"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def _only_docker(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH without Apptainer, to which programs can be added."""
    folder.mkdir()
    docker = shutil.which("docker")
    assert docker is not None
    (folder / "docker").symlink_to(docker)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert not any(shutil.which(program) for program in PROGRAMS)
    return folder


def test_the_archive_has_every_layer_and_can_be_loaded(
    mosaic: Mosaic, name: str, tag: str, tmp_path: Path
) -> None:
    """Its layers have the digests that the image's configuration names; the engine loads it as the same image."""
    code, out, err = mosaic("images", "export", name, "--json")
    assert (code, err) == (0, "")
    made = json.loads(out)
    image_id = _image_id(tag)
    assert (made["image"], made["id"], made["format"]) == (tag, image_id, "docker-archive")
    path = Path(made["path"])
    assert path.stat().st_size == made["bytes"]
    with tarfile.open(path) as archive:

        def read(name: str) -> bytes:
            file = archive.extractfile(name)
            assert file is not None
            return file.read()

        (entry,) = json.loads(read("manifest.json"))
        config = read(entry["Config"])
        layers = [f"sha256:{hashlib.sha256(read(each)).hexdigest()}" for each in entry["Layers"]]
    assert f"sha256:{hashlib.sha256(config).hexdigest()}" == image_id
    assert layers == json.loads(config)["rootfs"]["diff_ids"]
    assert len(layers) == 2
    assert entry["RepoTags"] == [tag]
    subprocess.run(["docker", "image", "rm", "-f", tag], capture_output=True, check=True)
    subprocess.run(["docker", "load", "-i", str(path)], capture_output=True, check=True)
    assert _image_id(tag) == image_id
    assert [each.name for each in Path().iterdir()] == [path.name], "no draft is left"


def test_without_apptainer_the_archive_is_written_with_the_next_command(
    mosaic: Mosaic, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--sif` ends with exit code 6, for there is no SIF; the plain export says the same command and succeeds."""
    _only_docker(tmp_path / "bin", monkeypatch)
    code, _, err = mosaic("images", "export", name, "-o", "w.sif")
    assert code == 6
    assert "apptainer build w.sif docker-archive:w.tar" in err
    assert tarfile.is_tarfile("w.tar")
    assert not Path("w.sif").exists()
    code, _, err = mosaic("images", "export", name, "-o", "w.tar")
    assert (code, "apptainer build w.sif docker-archive:w.tar" in err) == (0, True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_apptainer_is_called_with_the_archive(
    mosaic: Mosaic, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """By a stand-in: one `build` in the folder of the file, whose path may have a colon; a failure leaves nothing."""
    stand_in = _only_docker(tmp_path / "bin", monkeypatch) / program
    stand_in.write_text(RECORDER)
    stand_in.chmod(0o755)
    recorded = tmp_path / "recorded"
    monkeypatch.setenv("RECORDED", str(recorded))
    folder = tmp_path / "a:b"
    left = folder / ".w.sif.0badc0de.mosaic-draft"
    left.mkdir(parents=True)
    (left / "image.tar").touch()  # of an export that was killed
    code, out, err = mosaic(
        "images", "export", name, "--sif", "-o", str(folder / "w.sif"), "--json"
    )
    assert code == 0, err
    assert json.loads(out)["format"] == "sif"
    cwd, verb, sif, archive = recorded.read_text().splitlines()
    assert (Path(cwd).parent, verb) == (folder, "build")
    assert (sif, archive) == ("image.sif", "docker-archive:image.tar")
    assert [each.name for each in folder.iterdir()] == ["w.sif"]
    monkeypatch.setenv("APPTAINER_EXIT", "3")
    code, _, err = mosaic("images", "export", name, "-o", str(folder / "v.sif"))
    assert (code, "exit code 3" in err, "APPTAINER_TMPDIR" in err) == (1, True, True)
    assert [each.name for each in folder.iterdir()] == ["w.sif"]


@pytest.mark.skipif(shutil.which("apptainer") is None, reason="no apptainer here")
def test_the_sif_has_the_files_of_the_image(mosaic: Mosaic, name: str, tag: str) -> None:
    """By a real Apptainer: files and labels of the image are in the SIF."""
    code, _, err = mosaic("images", "export", name, "-o", "w.sif")
    assert code == 0, err
    labels = subprocess.run(
        ["apptainer", "inspect", "--labels", "w.sif"], capture_output=True, text=True, check=True
    )
    assert "words: two" in labels.stdout
    subprocess.run(
        ["apptainer", "build", "--sandbox", "unpacked", "w.sif"], capture_output=True, check=True
    )
    assert Path("unpacked/b.txt").read_text() == f"b.txt {tag}\n"


def test_what_cannot_be_exported_says_what_to_do(mosaic: Mosaic, tag: str, tmp_path: Path) -> None:
    """An image that is not built, a name that nothing has, and a folder that is not there."""
    short = tag.rsplit("/", 1)[-1].partition(":")[0]
    code, _, err = mosaic("images", "export", short)
    assert (code, f"./mosaic images build {short}" in err) == (6, True)
    code, _, err = mosaic("images", "export", short[:-1])
    assert (code, f"Did you mean {short}" in err) == (2, True)
    code, _, err = mosaic("images", "export", "mosaic-test/none:1")
    assert (code, "images add" in err) == (6, True)
    assert mosaic("images", "build")[0] == 0
    code, _, err = mosaic("images", "export", short, "-o", "missing/w.tar")
    assert (code, "missing/w.tar cannot be written" in err) == (2, True)
    assert list(Path().iterdir()) == []
