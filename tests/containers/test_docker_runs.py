"""What the stack in containers promises of its runs: bounds, secrets, internet, and words when something is missing."""

import json
import subprocess
from collections.abc import Iterator

import pytest
from containers.compose_stack import WORKER_IMAGE, ComposeStack, docker, engine_answers
from stack_under_test import ROOT, until

from mosaic_client import MosaicProblem
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.spec import RunSpec

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
FOREVER = {"steps": 10**8, "parameters": {"rate": 1_000}}
READ_SECRET = """
import os, pathlib, stat
for folder in pathlib.Path("/proc").iterdir():
    if not folder.name.isdigit() or b"testing.synthetic" not in (folder / "cmdline").read_bytes():
        continue
    entries = (folder / "environ").read_bytes().decode().split(chr(0))
    named = dict(entry.split("=", 1) for entry in entries if "=" in entry)
    if "MOSAIC_SECRET_HUB_FILE" in named:
        file = pathlib.Path(named["MOSAIC_SECRET_HUB_FILE"])
        print(file.read_text(), oct(stat.S_IMODE(file.stat().st_mode)), file.stat().st_uid)
        break
"""
"""Run in a run's container: what its worker finds where its environment names the secret."""
ROUTES = """
print(sum(line.split()[1] == "00000000" for line in open("/proc/net/route").readlines()[1:]))
"""
"""Run in a run's container: how many ways out there are."""
BEGINS = """
import json, os, pathlib, sys
if sys.argv[1] == "describe":
    schema = {"properties": {"start": {"type": "string", "x-checkpoint": True}}}
    algorithm = {"id": "a", "title": "A", "parameters": schema, "play": True}
    print(json.dumps({"worker": "begins", "version": "1", "title": "Begins", "record_levels": ["replay"],
                      "modes": ["train", "play"], "algorithms": [algorithm], "environments": []}))
    sys.exit()
run = json.loads(pathlib.Path("spec.json").read_text())
start = run["spec"]["parameters"].get("start")
if start:
    print(sys.argv[1], start, pathlib.Path(start).read_text(), oct(os.stat(start).st_mode), len(os.listdir("..")))
pathlib.Path("model.bin").write_text("model of " + run["run_id"])
entry = {"path": "model.bin", "kind": "checkpoint", "step": 1}
pathlib.Path("manifest.json").write_text(json.dumps({"v": 1, "artifacts": [entry]}))
"""
"""A worker of a few lines that saves a checkpoint and says what it began with. It records nothing, so its runs fail."""


def end_of(run: RunView) -> RunEnd:
    """How a run ended."""
    assert run.end is not None
    return run.end


def inside(compose: ComposeStack, code: str) -> str:
    """What a Python program prints in the container of the one run that lives."""
    (container,) = compose.run_containers()
    return docker("exec", container, "python", "-c", code).strip()


def stopped(compose: ComposeStack, run_id: str) -> RunView:
    """The run, stopped and ended."""
    with compose.client() as client:
        client.stop(run_id)
    return compose.wait_final(run_id)


def test_a_run_beyond_its_memory(compose: ComposeStack) -> None:
    """It ends as out of memory with the limit named; all that it wrote is stored, and its image is on record."""
    submitted = compose.submit(steps=1_000, memory_mb=256, parameters={"memory_mb": 2_000})
    run = compose.wait_final(submitted.run_id)
    assert (run.state, end_of(run).cause, end_of(run).oom) == ("crashed", "out_of_memory", True)
    assert "256 MiB" in end_of(run).message
    assert run.image == docker("image", "inspect", "-f", "{{.Id}}", WORKER_IMAGE).strip()
    assert run.summary is not None
    assert (run.summary.gaps, run.summary.steps > 0) == (0, True)


def test_a_secret_reaches_the_worker_and_nothing_else(compose: ComposeStack) -> None:
    """As a file of its own user only; its value is in no specification of the container, and gone at the end."""
    with compose.client() as client:
        client.set_secret("hub", "s3cr3t-value")
    run_id = compose.submit(secrets=["hub"], **FOREVER).run_id
    compose.wait_events(run_id, 100)
    assert inside(compose, READ_SECRET) == "s3cr3t-value 0o600 10001"
    (container,) = compose.run_containers()
    assert "s3cr3t-value" not in docker("inspect", container)
    assert stopped(compose, run_id).state == "cancelled"
    look = f"ls runs/{run_id}/control; grep -rl s3cr3t-value runs || true"
    found = compose.compose("exec", "-T", "scheduler", "sh", "-c", look).split()
    assert "secrets" not in found
    assert not [name for name in found if name.startswith("runs/")]


def test_internet_takes_a_word_and_a_consent(compose: ComposeStack) -> None:
    """Without both there is no way out of a run's container; with the digest of its preflight there is one."""
    run_id = compose.submit(**FOREVER).run_id
    compose.wait_events(run_id, 100)
    assert inside(compose, ROUTES) == "0"
    stopped(compose, run_id)
    names = {"worker": "synthetic", "algorithm": "synthetic", "environment": "Synthetic-v0"}
    spec = RunSpec.model_validate({**names, **FOREVER, "internet": True})
    with compose.client() as client:
        with pytest.raises(MosaicProblem) as caught:
            client.submit(spec)
        assert caught.value.problem.code == ProblemCode.CONSENT_REQUIRED
        report = client.preflight(spec)
        assert report.needs[0].startswith("internet access")
        run_id = client.submit(spec.model_copy(update={"consent": report.digest})).run_id
    compose.wait_events(run_id, 100)
    assert inside(compose, ROUTES) == "1"
    stopped(compose, run_id)


def test_an_image_that_went_away(compose: ComposeStack) -> None:
    """A run that waited ends as failed with what to do, and is not tried for ever; another one is refused likewise."""
    docker("tag", WORKER_IMAGE, "mosaic-test/passing:1")
    compose.add_worker("passing", "mosaic-test/passing:1")
    held = compose.submit(worker="passing", hold=True)
    docker("image", "rm", "mosaic-test/passing:1")
    with compose.client() as client:
        client.move(held.run_id, hold=False)
    run = compose.wait_final(held.run_id)
    said = "mosaic-test/passing:1 is not on this engine"
    assert (run.state, end_of(run).cause) == ("failed", "worker_not_ready")
    assert said in end_of(run).message
    assert "docker build -t mosaic-test/passing:1" in end_of(run).message
    with pytest.raises(MosaicProblem) as caught:
        compose.submit(worker="passing")
    assert caught.value.problem.code == ProblemCode.WORKER_NOT_READY
    assert said in caught.value.problem.detail


@pytest.fixture
def engine_gone(compose: ComposeStack) -> Iterator[None]:
    """The way to the engine is open again afterwards, whatever a test did to it."""
    yield
    compose.compose("up", "-d", "--wait", "engine")


@pytest.mark.usefixtures("engine_gone")
def test_an_engine_that_went_away(compose: ComposeStack) -> None:
    """A run that lives goes on, and a stop waits; the queue waits and says why. The scheduler may start meanwhile."""
    living = compose.submit(**FOREVER).run_id
    compose.wait_events(living, 100)
    held = compose.submit(hold=True, steps=100).run_id
    compose.compose("stop", "engine")
    with pytest.raises(MosaicProblem) as caught:
        compose.submit()
    assert "engine cannot be reached" in caught.value.problem.detail
    compose.compose("restart", "scheduler")

    def released() -> RunView | None:
        return compose.ask(lambda client: client.move(held, hold=False))

    until(released, "the scheduler is back without its engine", 60)
    assert compose.ask(lambda client: client.stop(living)) is not None

    def said() -> bool:
        waiting, stopping = compose.run(held), compose.run(living)
        if waiting is None or stopping is None:
            return False
        assert (waiting.state, stopping.state) == ("queued", "stopping")
        away = "engine cannot be reached"
        return away in (waiting.waiting_reason or "") and away in " ".join(stopping.notes)

    until(said, "both runs say that the engine is away", 60)
    compose.compose("up", "-d", "--wait", "engine")
    stopped_run = compose.wait_final(living)
    assert (stopped_run.state, end_of(stopped_run).exit_code) == ("cancelled", 0)
    assert compose.wait_final(held).state == "succeeded"


def test_a_deleted_run_leaves_no_file(compose: ComposeStack) -> None:
    """`rm --now` of a run: the scheduler may delete what the run's own processes wrote, and does."""
    run_id = compose.wait_final(compose.submit(steps=100).run_id).run_id
    folders = ("exec", "-T", "scheduler", "ls", "runs")
    assert run_id in compose.compose(*folders).split()
    with compose.client() as client:
        client.delete(run_id, now=True)

    def gone() -> bool:
        return run_id not in compose.compose(*folders).split()

    until(gone, f"the folder of {run_id} is deleted", 60)


def test_the_gpu_overlay_is_valid() -> None:
    """Compose understands it, and only the scheduler is given a device; a machine without GPU never reads it."""
    files = ("-f", "compose.yaml", "-f", "compose.gpu.yaml")
    asked = subprocess.run(
        ["docker", "compose", *files, "config", "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    services = json.loads(asked.stdout)["services"]
    assert [name for name, entry in services.items() if "deploy" in entry] == ["scheduler"]


def test_every_image_says_what_it_is(compose: ComposeStack) -> None:
    """Version and lock digest are labels of each image; Compose alone knows no digest, and says so."""
    for service in ("recorder", "scheduler", "gateway", "engine", "xmpp"):
        image = docker("inspect", "-f", "{{.Image}}", compose.container(service)).strip()
        template = (
            '{{index .Config.Labels "org.opencontainers.image.version"}}'
            ' {{index .Config.Labels "mosaic.lock-digest"}}'
        )
        version, lock = docker("image", "inspect", "-f", template, image).split()
        assert (version, lock in ("unknown", "none")) == ("0.1.0", True)


def test_a_run_begins_with_a_checkpoint_of_another(compose: ComposeStack) -> None:
    """In its container a run sees its own folder only, and in that a read-only copy of the other run's checkpoint."""
    command = json.dumps(["{python}", "-c", BEGINS])
    manifest = f'id = "begins"\ntitle = "Begins"\nimage = "{WORKER_IMAGE}"\ncommand = {command}\n'
    write = "cat > workers.d/begins.toml"
    compose.compose("exec", "-T", "scheduler", "sh", "-c", write, given=manifest)
    first = compose.submit(worker="begins", algorithm="a", environment="E-v0").run_id
    compose.wait_final(first)
    with compose.client() as client:
        played = client.play(first).run_id
    run = compose.wait_final(played)
    told = f"play inputs/start/model.bin model of {first} 0o100444 1"
    assert told in end_of(run).last_lines
