"""Runs that are tracked by W&B, against a local stand-in of its server; the real service is not reached."""

import os
import signal
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.real_run import FinishedTraining, finish_child, run, start_child, wait_for_event

from mosaic_base.procfs import command, environment, pids
from mosaic_contracts.tracking import WANDB_SERVER, tracked_id
from mosaic_worker_cleanrl.plan import check_run
from mosaic_workerkit.testing.recorded import RUN_ID, of_type
from mosaic_workerkit.testing.wandb_server import WandbServer

pytestmark = pytest.mark.timeout(240)
KEY = "c4nary" + "0" * 40
ONLINE = {"secrets": ["WANDB_API_KEY"], "internet": True}
RETURNS = "charts/episodic_return"


@pytest.fixture
def server() -> Iterator[WandbServer]:
    """A server that takes one key."""
    with WandbServer(key=KEY) as standing_in:
        yield standing_in


def _spec(make_spec: Any, server: str | None, **parameters: Any) -> Any:
    """A short tracked PPO; with a server online, else offline."""
    where = {"wandb_mode": "offline"} if server is None else {"wandb_base_url": server}
    given = {"track": True, "num_steps": 64, **where, **parameters}
    return make_spec(
        steps=512, record="episodes", parameters=given, **(ONLINE if server is not None else {})
    )


def _prepare(folder: Path, key: str, finish_s: float = 20.0, period_s: float = 0.5) -> None:
    """In the run's process: its secret and home as a stack gives them, a shorter end, and more questions."""
    home, secret = folder / "home", folder / "control/WANDB_API_KEY"
    home.mkdir()
    secret.write_text(key)
    os.environ |= {
        "HOME": str(home),
        "MOSAIC_SECRET_WANDB_API_KEY_FILE": str(secret),
        "WANDB_API_KEY": "of the user's own environment, which no run asked for",
        "WANDB_MODE": "online",
    }
    from mosaic_worker_cleanrl.launch import tracking_hook, upload_watch

    tracking_hook.FINISH_S = tracking_hook.STOP_FINISH_S = finish_s
    upload_watch.PERIOD_S = period_s


def _upload_states(finished: FinishedTraining) -> list[str]:
    return [event["data"]["state"] for event in of_type(finished.events, "tracking.upload")]


def _tracked(finished: FinishedTraining) -> dict[str, Any]:
    (event,) = of_type(finished.events, "tracking.run")
    data: dict[str, Any] = event["data"]
    return data


def _mentions(folder: Path, key: str) -> set[str]:
    """Files of a run in which the key stands."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(p.relative_to(folder)) for p in files if key.encode() in p.read_bytes()}


def _processes_with(key: str) -> list[int]:
    """Processes whose environment or command line has the key."""
    found = []
    for pid in pids():
        try:
            words = [*environment(pid), *command(pid)]
        except OSError:
            continue
        if any(key.encode() in word for word in words):
            found.append(pid)
    return found


def test_an_online_run_is_at_the_server_as_the_script_sent_it(
    tmp_path: Path, make_spec: Any, server: WandbServer
) -> None:
    """Curves, arguments and the user's words arrive; the run records its page and that all was sent; no key leaks."""
    words = {"wandb_group": "g", "wandb_tags": "a, b,", "wandb_name": "n", "wandb_notes": "why"}
    folder = tmp_path / "run"
    spec = _spec(make_spec, server.url, wandb_project_name="p", **words)
    # asked without a pause, so that wandb's service process also ends during a question
    child = start_child(folder, spec, partial(_prepare, folder, KEY, finish_s=60.0, period_s=0.002))
    assert server.wait_for(lambda: bool(server.runs))
    leaks = _processes_with(KEY)
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    assert leaks == []
    assert server.keys == {KEY, ""}  # "": of storage, whose addresses are signed
    wandb_id = tracked_id(RUN_ID, 1)
    assert _tracked(finished) == {
        "tracker": "wandb",
        "mode": "online",
        "url": f"{server.url}/someone/p/runs/{wandb_id}",
        "folder": _tracked(finished)["folder"],
        "id": wandb_id,
        "name": "n",
        "project": "p",
        "entity": "someone",
    }
    assert list(folder.glob(f"{_tracked(finished)['folder']}/*.wandb"))
    assert _upload_states(finished)[0] == "uploading"
    assert _upload_states(finished)[-1] == "uploaded"
    received = server.run
    assert (received.fields["groupName"], received.fields["notes"]) == ("g", "why")
    assert sorted(received.fields["tags"]) == ["a", "b"]
    assert (received.config["gamma"], received.exit_code) == (0.99, 0)
    metrics = [e["value"] for e in of_type(finished.events, "metric") if e["name"] == RETURNS]
    # W&B keeps one value of a step, the last: two episodes may end in one
    assert metrics[-1] == received.curve(RETURNS)[-1]
    assert set(received.curve(RETURNS)) <= set(metrics)
    assert len(received.curve("charts/learning_rate")) == 2
    assert _mentions(folder, KEY) == {"control/WANDB_API_KEY"}
    assert list((folder / "home").iterdir()) == []


@pytest.mark.nightly
def test_a_wrong_key_keeps_the_run_offline_unless_w_and_b_is_required(
    tmp_path: Path, make_spec: Any, server: WandbServer
) -> None:
    """The training goes on with offline files and the error is recorded; where W&B is required, the run fails.

    The second run reaches the server by its own proxy only.
    """
    wrong = "wr0ng" + "1" * 40
    finished = run(
        tmp_path / "run",
        _spec(make_spec, server.url),
        partial(_prepare, tmp_path / "run", wrong),
    )
    assert finished.code == 0, finished.stderr
    assert _tracked(finished)["mode"] == "offline"
    (upload,) = of_type(finished.events, "tracking.upload")
    assert upload["data"]["state"] == "offline"
    assert "not logged in" in upload["data"]["error"]
    assert [p.parent.name for p in finished.folder.glob("wandb/*/*.wandb")] == [
        Path(_tracked(finished)["folder"]).name
    ]
    required = run(
        tmp_path / "required",
        _spec(
            make_spec, "http://wandb.invalid:80", wandb_required=True, wandb_http_proxy=server.url
        ),
        partial(_prepare, tmp_path / "required", wrong),
    )
    assert required.code != 0
    assert "not logged in" in required.stderr
    assert _mentions(finished.folder, wrong) == {"control/WANDB_API_KEY"}


@pytest.mark.nightly
def test_a_stop_while_the_server_is_gone_ends_in_time_and_keeps_the_files(
    tmp_path: Path, make_spec: Any, server: WandbServer
) -> None:
    """The server dies while the run trains, then the run is stopped: it saves, ends, and says what W&B lacks."""
    folder = tmp_path / "run"
    spec = _spec(make_spec, server.url).model_copy(update={"steps": 10_000_000})
    child = start_child(folder, spec, partial(_prepare, folder, KEY, 1.0))
    assert server.wait_for(lambda: any(name.endswith("/file_stream") for name in server.operations))
    server.close()
    wait_for_event(
        folder, "tracking.upload", child.is_alive, lambda e: e["data"]["state"] == "retrying"
    )
    assert child.pid is not None
    os.kill(child.pid, signal.SIGTERM)
    finished = finish_child(child, folder)
    assert finished.code == 0, finished.stderr
    assert finished.events[-1]["phase"] == "stopped"
    assert of_type(finished.events, "checkpoint")[-1]["reason"] == "stop"
    last = of_type(finished.events, "tracking.upload")[-1]["data"]
    assert last["state"] == "incomplete"
    assert last["error"]
    assert list(folder.glob(f"{_tracked(finished)['folder']}/*.wandb"))


def test_an_offline_run_sends_nothing(tmp_path: Path, make_spec: Any) -> None:
    """Offline needs no consent and no key: its files are in the run's folder, and the home folder is as it was."""
    spec = _spec(make_spec, None, capture_video=True)
    finished = run(tmp_path / "run", spec, partial(_prepare, tmp_path / "run", KEY))
    assert finished.code == 0, finished.stderr
    tracked = _tracked(finished)
    assert (tracked["mode"], tracked.get("url")) == ("offline", None)
    assert _upload_states(finished) == ["offline"]
    assert list(finished.folder.glob(f"{tracked['folder']}/files/media/videos/*.mp4"))
    assert list((finished.folder / "home").iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "parameters", "where", "says"),
    [
        ({"internet": True}, {}, "parameters.track", "./mosaic secret set WANDB_API_KEY"),
        ({"secrets": ["WANDB_API_KEY"]}, {}, "parameters.track", "`internet`"),
        (ONLINE, {"tensorboard": False}, "parameters.tensorboard", "curves"),
        (ONLINE, {"wandb_base_url": "me:pw@host"}, "parameters.wandb_base_url", "must match"),
        (ONLINE, {"wandb_mode": "shared"}, "parameters.wandb_mode", "online, offline"),
    ],
)
def test_tracking_that_was_not_agreed_to_is_refused(
    make_spec: Any, fields: dict[str, Any], parameters: dict[str, Any], where: str, says: str
) -> None:
    """Online tracking needs the key's name and the internet, and what it reads; each refusal says what to do."""
    report = check_run(make_spec(**fields, parameters={"track": True, **parameters}))
    (found,) = [f for f in report.findings if f.level == "blocking"]
    assert found.where == where
    assert says in found.message


def test_the_plan_says_where_a_tracked_run_is_sent(make_spec: Any) -> None:
    """An online run names server and project before it starts; an offline one is sent nowhere."""
    online = check_run(make_spec(**ONLINE, parameters={"track": True}))
    assert online.ok
    assert online.plan["tracking"] == {
        "tracker": "wandb",
        "mode": "online",
        "server": WANDB_SERVER,
    }
    (warning,) = [f for f in online.findings if f.where == "parameters.track"]
    assert f"{WANDB_SERVER}, project cleanRL" in warning.message
    offline = check_run(make_spec(parameters={"track": True, "wandb_mode": "offline"}))
    assert [f for f in offline.findings if f.where == "parameters.track"] == []
    assert offline.plan["tracking"]["server"] is None


def test_the_server_of_a_run_that_names_none_is_wandbs_own() -> None:
    """What the plan shows is where wandb sends to by itself."""
    from wandb.sdk.lib.urls import DEFAULT_BASE_URL

    assert DEFAULT_BASE_URL == WANDB_SERVER
