"""TensorBoard in containers: in the worker's image, without a network, with the event files of its runs alone."""

import json

import httpx
import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers
from stack_under_test import until

from mosaic_contracts.manifest_words import FileState, FileType

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
METRIC = "charts/episodic_return"


def test_tensorboard_is_served_out_of_its_container(compose: ComposeStack) -> None:
    """The curve is that of the store; the container has no network and no more of the run; a stop removes it."""
    compose.build_worker("worker_cleanrl")
    fields = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}
    run = compose.wait_final(compose.submit(**fields, steps=1_024).run_id)
    assert run.state == "succeeded", run.end
    with compose.client() as client:
        entry = client.tensorboard([run.run_id])
        (container,) = compose.run_containers()
        (found,) = json.loads(docker("inspect", container))
        assert found["HostConfig"]["NetworkMode"] == "none"
        selected = [each for each in found["Mounts"] if "/selected/" in each["Destination"]]
        assert [each["RW"] for each in selected] == [False]
        page = entry.url.partition("?")[0]
        metrics = client.live_events(run.run_id, types=["metric"])
        expected = [event for event in metrics if event["name"] == METRIC]
        with httpx.Client(base_url=page, trust_env=False, timeout=60) as browser:
            assert browser.get(entry.url).status_code == 200

            def curve() -> list[list[float]]:
                query = {"run": run.name, "tag": METRIC}
                answer = browser.get("data/plugin/scalars/scalars", params=query)
                points: list[list[float]] = answer.json() if answer.status_code == 200 else []
                return points if len(points) == len(expected) else []

            points = until(curve, "TensorBoard has all points", 60)
        assert [int(step) for _, step, _ in points] == [event["step"] for event in expected]
        values = [float(event["value"]) for event in expected]
        assert [value for _, _, value in points] == pytest.approx(values)
        client.stop(entry.run.run_id)
        manifest = client.manifest(run.run_id)
    files = [each for each in manifest.entries if each.type is FileType.FILE]
    assert {each.state for each in files} == {FileState.PRESENT}
    assert all(each.sha256 for each in files)
    compose.wait_final(entry.run.run_id)
    assert compose.run_containers() == []
