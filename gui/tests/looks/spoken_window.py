"""The window in a language that nobody speaks, with data of every kind."""

from pathlib import Path
from typing import Any

from PyQt6.QtWidgets import QWidget
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, event
from tests.looks.test_looks import runs_in_every_state
from tests.pseudo import strings_in, texts_of, untranslated
from tests.specimen import episodes, machine_sample, metrics, report, run, run_id, summary
from tests.state.test_external_links import tracking
from tests.state.test_limits import gpu

from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import ArtifactRow, EpisodeRow, RunView
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RestartPolicy
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.beliefs import EpisodeKey

URL = "http://127.0.0.1:1"
STATES = list(RunState)
LIVE, FAILED = STATES.index(RunState.RUNNING), STATES.index(RunState.FAILED)
QUEUED = STATES.index(RunState.QUEUED)
NAMES = ("exp name", "learning rate", "gamma", "anneal lr", "target kl", "track", "where", "loss")
PLAY_NAMES = (
    "timing",
    "rate",
    "wait for key",
    "idle",
    "map name",
    "is slippery",
    "size",
    "Time",
    "Keys",
)
"""Fields and groups as the worker's schema names them."""
METRICS = ("losses/a", "episode/return", "episode/length", "discrete", "Optimizer", "Outputs")


class Spoken:
    """The client in a language that nobody speaks, and all data that it was given."""

    def __init__(self, client: DesktopClient) -> None:
        self.client = client
        self.reported: list[object] = [
            URL,
            str(client.home),
            NAMES,
            PLAY_NAMES,
            METRICS,
            CONFIG,
            EMITTED,
            STEPS,
        ]
        self.given(client.languages, "OMP_NUM_THREADS=1", '"total_steps": 500', list(RestartPolicy))

    def given(self, *data: Any) -> Any:
        """Data that may be shown as it is; the first of it."""
        self.reported += data
        return data[0]

    def tick(self, changes: Changes) -> None:
        """The store has changed."""
        self.client._on_tick(changes)

    def english(self, root: QWidget | None = None) -> dict[str, str]:
        """Texts that are not translated, by where they are."""
        watch = self.client.watch
        names = [watch.label(run_id) for run_id in watch.ordered_ids]  # as on the command line
        names += [self.client.table.title(one) for one in self.client.store.runs.values()]
        data = strings_in(*self.reported, names)
        shown = texts_of(root or self.client.window)
        return {f"{at}: {text}": rest for at, text in shown if (rest := untranslated(text, data))}


REPORT: PreflightReport = report("warning").model_copy(update={"needs": ["reaches the web"]})


def machine() -> MachineHistory:
    """Two GPUs, on one of which the running run is."""
    gpus = [gpu(8), gpu(16).model_copy(update={"utilization_percent": 5.0, "power_w": 60.0})]
    held = [{"uuid": "GPU-8"}, {"uuid": "GPU-16", "memory_bytes": 5}, {"uuid": "GPU-0"}]
    use = {"run_id": run_id(LIVE), "cpu_percent": 3.0, "rss_bytes": 9, "processes": 2, "gpus": held}
    return MachineHistory(interval_s=2, samples=[machine_sample(gpus=gpus, runs=[use])])


def workers() -> list[WorkerEntry]:
    """One that does everything, and one with the analytics profile that is not ready."""
    entry = tracking()[0].model_dump(mode="json")
    for algorithm in entry["description"]["algorithms"]:
        algorithm |= {"play": True, "warm_start": True}
        for part in algorithm["parameters"]["properties"].values():
            if part.get("x-group") == "algorithm":
                part["x-group"] = "optimizer"
    other = {
        "manifest": {"id": "other", "title": "Llama", "command": ["p"], "lane": "analytics"},
        "ready": False,
        "findings": [{"level": "blocking", "where": "image", "message": "Its image is away."}],
    }
    return [WorkerEntry.model_validate(one) for one in (entry, other)]


def runs() -> list[RunView]:
    """One in every state and more of what a run can be."""
    found = runs_in_every_state()
    found[QUEUED] = found[QUEUED].model_copy(
        update={"position": 2, "waiting_reason": "GPUs are out"}
    )
    more = {
        "held": True,
        "tags": ["blue"],
        "note": "two\nlines",
        "notes": ["it says so"],
    }
    held = run(20, RunState.QUEUED, **more)
    silent = run(21, unresponsive=True, eta_s=90.0, sps=120.0, progress={"step": 5, "total": 50})
    child = run(22, spec={"parent": run_id(LIVE), "kind": "play", "environment": "CartPole-v1"})
    checkpoint = summary(23, checkpoints=2, best_return=3.0)
    trained = run(23, RunState.SUCCEEDED, summary=checkpoint, spec={"gpus": 2, "internet": True})
    return [*found, held, silent, child, trained]


def read_history(spoken: Spoken) -> None:
    """Records of the running run: curves, its world, its agent's mind, episodes, files."""
    client, run_of = spoken.client, run_id(LIVE)
    client.store.follow(run_of)
    client.watch.watch(run_of, [run_id(FAILED)])
    config = CONFIG | {"packages": {"torch": "2.1"}, "arguments": {"gamma": 0.9}}
    batches = (
        EventBatch(run_of, [event(1, "config", data=config)], {}, "1.worker.1"),
        episodes(2, [1.0, 2.0], LIVE),
        metrics(9, "losses/a", [1.0, 2.0], LIVE),
    )
    for batch in batches:
        spoken.tick(client.store.apply(batch))
    rows = [
        EpisodeRow(attempt=n, env=n, episode=3, length=2, episode_return=1.0, recorded_steps=2)
        for n in (0, 1)
    ]
    ends = [EpisodeRow(attempt=1, env=0, episode=4), rows[0].model_copy(update={"truncated": True})]
    client.watch.take_episodes([*rows, *ends])
    client.watch.take_files(spoken.given(FILES, *(Path(file.path).name for file in FILES)))
    client.beliefs.take_events(run_of, EMITTED, "1.worker.13")
    client.beliefs.take_episodes(run_of, [rows[1].model_copy(update={"env": 0}), rows[0]])
    client.beliefs.choose_episode(EpisodeKey(1, 0, 3))
    client.beliefs.take_steps(run_of, EpisodeKey(1, 0, 3), STEPS)


FILES = [
    ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=2048, step=100),
    ArtifactRow(path="videos/a.mp4", kind="video", bytes=5),
]
