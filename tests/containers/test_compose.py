"""The stack in containers, from nothing: green at its start, runs in images, and it outlives what is done to it."""

from pathlib import Path

import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]


def test_a_run_in_its_container(compose: ComposeStack) -> None:
    """A run goes from submit to its end in a container of its own, every event stored, the container gone."""
    run = compose.wait_final(compose.submit(steps=20_000, parameters={"rate": 0}).run_id)
    assert run.state == "succeeded"
    assert run.summary is not None
    assert (run.summary.gaps, run.summary.steps > 0) == (0, True)
    worker = next(mark for mark in run.summary.sources if mark.source == "worker")
    assert (worker.last_seq, worker.missing) == (20_003, 0)
    assert compose.run_containers() == []


@pytest.mark.parametrize("service", ["nats", "recorder", "scheduler", "gateway", "engine", "doors"])
def test_a_killed_service_heals(compose: ComposeStack, service: str) -> None:
    """kill -9 of a service's container while a run writes: it comes back, the run ends truly, nothing is lost."""
    run_id = compose.submit(steps=60_000, parameters={"rate": 10_000}).run_id
    compose.wait_events(run_id, 10_000)
    container = compose.container(service)
    docker("kill", "--signal", "KILL", container)
    docker(
        "start", container
    )  # `docker kill` is a stop by hand, after which the engine does not restart
    run = compose.wait_final(run_id)
    assert run.state == "succeeded"
    assert run.summary is not None
    worker = next(mark for mark in run.summary.sources if mark.source == "worker")
    assert (worker.last_seq, worker.missing, run.summary.gaps) == (60_003, 0, 0)


def test_a_run_container_removed_by_hand(compose: ComposeStack) -> None:
    """`docker rm -f` of a run's container: the run is crashed with that cause, and what it wrote is stored."""
    run_id = compose.submit(steps=10**8, parameters={"rate": 5_000}).run_id
    compose.wait_events(run_id, 5_000)
    (container,) = compose.run_containers()
    docker("rm", "-f", container)
    run = compose.wait_final(run_id)
    assert run.state == "crashed"
    assert run.end is not None
    assert run.end.cause == "runner_lost"
    assert run.summary is not None
    assert run.summary.gaps == 0


def test_stop_is_graceful(compose: ComposeStack) -> None:
    """A stop reaches the worker in its container: it ends by itself, with exit code 0."""
    run_id = compose.submit(steps=10**8, parameters={"rate": 5_000}).run_id
    compose.wait_events(run_id, 5_000)
    with compose.client() as client:
        client.stop(run_id)
    run = compose.wait_final(run_id)
    assert run.state == "cancelled"
    assert run.end is not None
    assert run.end.exit_code == 0


def test_what_a_run_uses_is_told_from_inside(compose: ComposeStack) -> None:
    """CPU and memory of a run in its container are in the machine's samples, though no pid of it is seen from there."""
    run_id = compose.submit(steps=10**8, parameters={"rate": 5_000}).run_id
    compose.wait_events(run_id, 5_000)
    use = compose.wait_use(run_id)
    assert 0 < use.cpu_percent < 1_000
    assert use.rss_bytes > 10 * 2**20
    with compose.client() as client:
        client.stop(run_id)
    compose.wait_final(run_id)


def test_down_and_up_again_loses_nothing(compose: ComposeStack) -> None:
    """After `down` and `up` the runs are there with their events, and new ones can be started."""
    run = compose.wait_final(compose.submit(steps=5_000, parameters={"rate": 0}).run_id)
    compose.compose("down", "--timeout", "20")
    compose.up()
    again = compose.run(run.run_id)
    assert again is not None
    assert again.summary == run.summary
    assert compose.wait_final(compose.submit(steps=100).run_id).state == "succeeded"


def test_the_proxy_refuses_what_is_not_listed(compose: ComposeStack) -> None:
    """From the scheduler's own network the engine gives no exec, build, pull, volume or image removal."""
    code = (
        "import urllib.request, urllib.error\n"
        "def ask(method, path):\n"
        "    request = urllib.request.Request('http://engine:2375' + path, method=method)\n"
        "    try: return urllib.request.urlopen(request, timeout=60).status\n"
        "    except urllib.error.HTTPError as error: return error.code\n"
        "print(*[ask(*p) for p in (('GET', '/v1.45/containers/json'), ('POST', '/v1.45/containers/x/exec'),"
        " ('POST', '/v1.45/build'), ('POST', '/v1.45/images/create?fromImage=x'), ('DELETE', '/v1.45/images/x'),"
        " ('GET', '/v1.45/volumes'), ('POST', '/v1.45/volumes/create'), ('PUT', '/v1.45/containers/x/archive'),"
        " ('GET', '/v1.45/containers/x/../../volumes'), ('GET', '/v1.45/secrets'))])"
    )
    said = compose.compose("exec", "-T", "scheduler", "python", "-c", code).split()
    assert said == ["200", *["403"] * 9]


def test_only_loopback_is_published(compose: ComposeStack) -> None:
    """The gateway's port alone is published, and on 127.0.0.1 only."""
    published = docker("ps", "--filter", f"name={compose.project}-", "--format", "{{.Ports}}")
    ports = [port for line in published.splitlines() for port in line.split(", ") if "->" in port]
    assert ports == [f"127.0.0.1:{compose.port}->8080/tcp"]


def test_agents_over_xmpp_in_their_container(compose: ComposeStack) -> None:
    """A BDI run with two agents logs in at the stack's own XMPP server, talks there, and ends well."""
    compose.build_worker("worker_spade")
    fields = {"worker": "spade", "algorithm": "bdi_q", "environment": "FrozenLake-v1"}
    parameters = {"agents": 2, "scout_steps": 2_000}
    run = compose.wait_final(compose.submit(**fields, steps=5_000, parameters=parameters).run_id)
    assert run.state == "succeeded", run.end
    with compose.client() as client:
        said = list(client.each_event(run.run_id, "", ["bdi.message"]))
    assert {event["data"]["way"] for event in said} == {"sent", "received"}


def test_a_checkpoint_is_exported_and_imported(compose: ComposeStack, tmp_path: Path) -> None:
    """The gateway writes the upload, a container of the worker's image looks into it, and the file is the same."""
    compose.build_worker("worker_spade")
    fields = {"worker": "spade", "algorithm": "q_learning", "environment": "FrozenLake-v1"}
    run = compose.submit(**fields, steps=2000)
    assert compose.wait_final(run.run_id).state == "succeeded"
    target = tmp_path / "export.zip"
    with compose.client() as client:
        client.export_checkpoint(run.run_id, None, target)
        made = client.import_checkpoint(target)
    assert compose.wait_final(made.run_id).spec.kind == "import"
    with compose.client() as client:
        rows = client.checkpoints(algorithm="q_learning").checkpoints
    digests = {row.sha256 for row in rows if row.step == 2000}
    assert (len(digests), {row.kind for row in rows}) == (1, {"train", "import"})
