from typing import Any

from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, UploadState
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.external_links import tensorboard, tracker
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Store

GATEWAY = "http://127.0.0.1:8420"


def tracking(**fields: Any) -> tuple[WorkerEntry, Algorithm]:
    """A worker that can be tracked, and its first algorithm."""
    entry = worker().model_dump(mode="json")
    entry["description"] |= {"tracking": ["wandb"]} | fields
    properties = entry["description"]["algorithms"][0]["parameters"]["properties"]
    properties["track"] = {"type": "boolean", "default": False, "x-tracking": "track"}
    properties["where"] = {"type": "string", "default": "p", "x-tracking": "project"}
    made = WorkerEntry.model_validate(entry)
    assert made.description is not None
    return made, made.description.algorithms[0]


def test_when_tensorboard_cannot_be_opened() -> None:
    """Without runs, with too many, and while one starts; otherwise nothing speaks against it."""
    assert tensorboard([]).obstacle == "Choose runs."
    assert "at most 100 runs" in tensorboard([str(n) for n in range(101)]).obstacle
    assert "is starting" in tensorboard(["a"], is_starting=True).obstacle
    assert tensorboard(["a", "b"]).obstacle == ""


def test_a_run_that_is_not_tracked_says_so() -> None:
    """As does one whose worker cannot be tracked at all, in other words."""
    assert tracker(run(0), *tracking(), None).obstacle.startswith(
        "This run is not tracked with W&B."
    )
    assert "does not offer W&B yet" in tracker(run(0), *tracking(tracking=[]), None).obstacle


def test_a_tracked_run_has_a_page_once_it_reported_one() -> None:
    """Before that it is waited for, or was in vain."""
    spec = {"parameters": {"track": True}}
    assert "not known yet" in tracker(run(0, spec=spec), *tracking(), None).obstacle
    ended = run(0, RunState.FAILED, spec=spec)
    without = tracker(ended, *tracking(), None)
    assert "ended before" in without.note
    assert (without.obstacle, without.can_send) == ("", True)
    reported = TrackedRun(tracker="wandb", mode="online", url="https://wandb.ai/a/b/runs/c")
    assert tracker(ended, *tracking(), reported).url == "https://wandb.ai/a/b/runs/c"


def test_what_is_tracked_offline_is_summed_up() -> None:
    """Where it belongs, how it went, where it is kept and how it is sent."""
    spec = {"parameters": {"track": True, "where": "cart"}}
    shown = run(0, RunState.SUCCEEDED, spec=spec, summary=summary(0, best_return=9.5))
    reported = TrackedRun(tracker="wandb", mode="offline", folder="wandb/offline-run-1")
    found = tracker(shown, *tracking(), reported)
    assert (found.url, found.obstacle, found.can_send) == ("", "", True)
    rows = dict(found.summary)
    assert (rows["Project"], rows["Best"]) == ("cart", "9.5")
    assert rows["To send it"] == f"./mosaic wandb sync {run_id(0)}"


def test_the_run_reports_its_page() -> None:
    """From its event; one that names no page of the web is left out."""
    store = Store()
    store.follow(run_id(0))
    url = "https://wandb.ai/a/b/runs/c"
    for seq, address in enumerate((url, "javascript:alert(1)"), start=1):
        data = {"tracker": "wandb", "mode": "online", "url": address}
        reported = {"type": TRACKING_RUN, "attempt": 1, "source": "worker", "seq": seq, "t": 1.0}
        store.apply(EventBatch(run_id(0), [{**reported, "data": data}], {}, f"1.worker.{seq}"))
    tracked = store.followed[run_id(0)].tracked
    assert tracked is not None
    assert tracked.url == url


def test_an_upload_that_did_not_report_its_end_is_incomplete() -> None:
    """A killed run reports nothing more: what was on its way when it ended may be missing."""
    reported = TrackedRun(tracker="wandb", mode="online", url="https://wandb.ai/a/b/runs/c")
    upload = TrackedUpload(tracker="wandb", state=UploadState.UPLOADING)
    assert tracker(run(0), *tracking(), reported, upload).badge == ("Uploading", "accent")
    killed = tracker(run(0, RunState.CRASHED), *tracking(), reported, upload)
    assert killed.badge == ("Incomplete", "bad")
    assert "Kept in" in dict(killed.summary)


def test_the_run_reports_its_upload() -> None:
    """From its events, the last of which holds."""
    store = Store()
    store.follow(run_id(0))
    for seq, state in enumerate(("uploading", "retrying", "made up"), start=1):
        data = {"tracker": "wandb", "state": state, "error": "503"}
        reported = {"type": TRACKING_UPLOAD, "attempt": 1, "source": "worker", "seq": seq, "t": 1.0}
        store.apply(EventBatch(run_id(0), [{**reported, "data": data}], {}, f"1.worker.{seq}"))
    upload = store.followed[run_id(0)].upload
    assert upload is not None
    assert (upload.state, upload.error) == (UploadState.RETRYING, "503")
