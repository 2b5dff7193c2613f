"""What becomes of a run when the engine stops its container: it may save, it is interrupted, and it goes on."""

import subprocess
import time

import pytest
from containers.compose_stack import ComposeStack, docker, engine_answers
from stack_under_test import until

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import EndCause, RunState

pytestmark = [
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not engine_answers(), reason="no container engine answers here"),
]
SAVES = {"rate": 500, "save_every": 200}
SAVES_FOR_S = 13
SLOW = f"""
import json, os, pathlib, signal, sys, time
if sys.argv[1] == "describe":
    algorithm = {{"id": "a", "title": "A", "parameters": {{}}}}
    print(json.dumps({{"worker": "slow", "version": "1", "title": "Slow", "record_levels": ["replay"],
                      "algorithms": [algorithm], "environments": []}}))
    sys.exit()
def save(*_):
    time.sleep({SAVES_FOR_S})
    pathlib.Path("model.bin").write_text("saved")
    print("saved", flush=True)
    sys.exit()
signal.signal(signal.SIGTERM, save)
pathlib.Path("listens").touch()
while True:
    signal.pause()
"""
"""A worker that needs longer to save than an engine waits by default."""


def container_of(compose: ComposeStack, run_id: str) -> str:
    """The container of a run that lives."""
    labels = (f"mosaic.stack={compose.project}_home", f"mosaic.run={run_id}")
    (found,) = docker("ps", "-q", *(w for n in labels for w in ("--filter", f"label={n}"))).split()
    return found


def saved(compose: ComposeStack, **fields: object) -> str:
    """The id of a run that has saved a checkpoint and goes on."""
    run_id = compose.submit(steps=100_000, parameters=SAVES, **fields).run_id

    def has_checkpoint() -> bool:
        view = compose.run(run_id)
        return view is not None and view.summary is not None and view.summary.checkpoints > 0

    until(has_checkpoint, f"{run_id} has saved", 60)
    return run_id


def test_a_slow_save_is_waited_for(compose: ComposeStack) -> None:
    """`docker stop` of a run gives it its `grace_s`, not the engine's ten seconds, and it is interrupted."""
    compose.add_worker("slow", command=("{python}", "-c", SLOW))
    names = {"worker": "slow", "algorithm": "a", "environment": "E-v0"}
    run_id = compose.submit(**names, grace_s=40).run_id

    def listens() -> bool:
        look = f"ls runs/{run_id}"
        return "listens" in compose.compose("exec", "-T", "scheduler", "sh", "-c", look)

    until(listens, "the worker listens for a stop", 60)
    began = time.monotonic()
    docker("stop", container_of(compose, run_id))
    assert time.monotonic() - began > SAVES_FOR_S
    run = compose.wait_final(run_id)
    assert run.end is not None
    assert (run.state, run.end.cause) == (RunState.INTERRUPTED, EndCause.INTERRUPTED)
    assert (run.end.exit_code, "saved" in run.end.last_lines) == (0, True)
    assert "engine stopped its container" in run.end.message


def shut_down(compose: ComposeStack, run_id: str) -> None:
    """What the engine does at its own shutdown: SIGTERM to all containers at once, each with its own patience."""
    services = [
        compose.container(name) for name in ("scheduler", "nats", "recorder", "doors", "gateway")
    ]
    stops = [
        subprocess.Popen(["docker", "stop", container], stdout=subprocess.DEVNULL)
        for container in (container_of(compose, run_id), *services)
    ]
    assert [stop.wait(timeout=90) for stop in stops] == [0] * len(stops)


def test_a_run_goes_on_after_a_shutdown(compose: ComposeStack) -> None:
    """All containers are stopped and started again: the run saved, and goes on from there as another attempt."""
    run_id = saved(compose, restart="on_interrupt")
    shut_down(compose, run_id)
    compose.compose("up", "-d", "--wait")

    def goes_on() -> RunView | None:
        view = compose.run(run_id)
        return view if view and view.attempt == 2 and view.state is RunState.RUNNING else None

    view = until(goes_on, "the second attempt runs", 120)
    (resumption,) = view.resumptions
    assert resumption.step > 0
    assert f"begins from {resumption.checkpoint}" in " ".join(view.notes)
    look = f"cat runs/{run_id}/spec.json"
    told = compose.compose("exec", "-T", "scheduler", "sh", "-c", look)
    assert f'"steps": {100_000 - resumption.step}' in told
    with compose.client() as client:
        client.stop(run_id)
    run = compose.wait_final(run_id)
    assert (run.state, run.attempt) == (RunState.CANCELLED, 2)
    assert run.summary is not None
    assert run.summary.gaps == 0
    marks = {mark.attempt: mark for mark in run.summary.sources if mark.source == "worker"}
    assert set(marks) == {1, 2}
    assert [mark.missing for mark in marks.values()] == [0, 0]


def test_an_interrupted_run_waits_for_its_user(compose: ComposeStack) -> None:
    """Without that policy it has ended; `resume` starts a new run from its checkpoint."""
    run_id = saved(compose)
    shut_down(compose, run_id)
    compose.compose("up", "-d", "--wait")
    run = compose.wait_final(run_id)
    assert run.end is not None
    assert run.state is RunState.INTERRUPTED
    assert "no scheduler ran" in run.end.message
    with compose.client() as client:
        resumed = client.resume(run_id)
        assert resumed.spec.parent == run_id
        compose.wait_events(resumed.run_id, 100)
        client.stop(resumed.run_id)
    compose.wait_final(resumed.run_id)
