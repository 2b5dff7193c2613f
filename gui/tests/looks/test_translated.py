"""Nothing that the window says goes past translation, and a longer language fits into it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from PyQt6.QtCore import QPoint, QPointF
from PyQt6.QtGui import QPainter
from PyQt6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot
from tests.alert_specimen import alert_report
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, event
from tests.checkpoint_specimen import checkpoints
from tests.comparison_specimen import policies, trainings
from tests.controllers.test_run_actions import FakeSession
from tests.looks.test_looks import clipped_texts, runs_in_every_state
from tests.media_specimen import NAMES as MEDIA_NAMES
from tests.media_specimen import histograms, images, texts
from tests.net.frames_stub import frame
from tests.play_specimen import CONTROLS as PLAY_CONTROLS
from tests.play_specimen import LAKE, PONG, fill_play, play_worker
from tests.pseudo import CODE, strings_in, texts_of, untranslated, write_pseudo
from tests.replay_specimen import differing, fill, fill_replay, verified
from tests.specimen import episodes, machine_sample, metrics, report, run, run_id, summary
from tests.state.test_branches import branch, person
from tests.state.test_external_links import tracking
from tests.state.test_limits import gpu
from tests.storage_specimen import plan as prune_plan
from tests.storage_specimen import report as storage_report
from tests.sweep_specimen import page, sweep_run, sweep_spec, trials, view

from mosaic_contracts.comparison_orders import ActorProgress, ComparerLine
from mosaic_contracts.live import Missed
from mosaic_contracts.machine import MachineHistory
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import ArtifactRow, EpisodeRow, RunEnd, RunView
from mosaic_contracts.services import WorkerEntries, WorkerEntry
from mosaic_contracts.spec import RecordLevel, RestartPolicy
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_contracts.tracking import TrackedRun
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.app.parts import KEPT_IN
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.download import unwritable
from mosaic_gui.program import languages
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.branches import BranchFacts
from mosaic_gui.state.checkpoint_list import address_of
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.diagnosis import Trouble, diagnose, version_words
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.failure_summary import failure_summary
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.state.play_memory import AGENT
from mosaic_gui.state.run_details import details
from mosaic_gui.state.settings import Settings
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.beliefs import EpisodeKey
from mosaic_gui.viewmodels.checkpoints import ImportQuestion
from mosaic_gui.viewmodels.run_table import Column, tool_tip
from mosaic_gui.views.layout_menu import LayoutMenu
from mosaic_gui.views.main_window import (
    ALERTS,
    CHECKPOINTS,
    COMPARE,
    PLAY,
    REPLAY,
    RUNS,
    SETTINGS,
    STORAGE,
    SWEEPS,
    TRAIN,
    TRAINED,
    WATCH,
)
from mosaic_gui.views.play_side import PlaySide
from mosaic_gui.views.settings_page import SettingsPage
from mosaic_gui.views.text import BUTTON_PADDING
from mosaic_gui.views.tracker_popup import TrackerPopup

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


@pytest.fixture(scope="module")
def spoken(qapp: QApplication, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spoken]:
    """The client at the smallest size that is promised, with a run in every state and two workers."""
    home = tmp_path_factory.mktemp("home")
    write_pseudo(home / KEPT_IN / languages.FOLDER)
    found = languages.find_languages(home / KEPT_IN)
    assert languages.speak(qapp, CODE, found) == ""
    client = DesktopClient(home, PreferenceStore(None), languages.names(found))
    client.window.resize(1280, 800)
    client.window.show()
    made = Spoken(client)
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    client.hardware.take(made.given(machine()))
    client.launch.preflight_wanted.connect(lambda spec: client.launch.take_report(spec, REPORT))
    made.given(REPORT)
    made.given(
        [policy.value for policy in RestartPolicy]
    )  # words of a spec, the same on the command line
    client.launch.take_catalogue(WorkerEntries(workers=made.given(workers())))
    client.agents.set_mode(Mode.AGENT)
    client.table.consume(client.store.replace_runs(made.given(runs())))
    yield made
    client.launch._settle.stop()
    client.window.close()
    client.window.deleteLater()
    languages.speak(qapp, languages.ENGLISH, {})


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


def show_runs(spoken: Spoken) -> None:
    """The list with runs that are chosen."""
    spoken.client.window.show_page(RUNS)
    spoken.client.window.runs.select_run(run_id(LIVE))


def show_trash(spoken: Spoken) -> None:
    """Deleted runs."""
    window = spoken.client.window
    window.show_page(RUNS)
    deleted = [run(n, RunState.FAILED, deleted_at=run(0).created_at) for n in range(3)]
    window.runs.show_trash(True)
    spoken.client.trash_runs.take(spoken.given(deleted))


def show_empty_trash(spoken: Spoken) -> None:
    """No deleted runs."""
    spoken.client.window.show_page(RUNS)
    spoken.client.window.runs.show_trash(True)
    spoken.client.trash_runs.take([])


def show_groups(spoken: Spoken) -> None:
    """The list by environment and algorithm."""
    show_runs(spoken)
    spoken.client.window.runs.grouping.setChecked(True)


def show_watched(spoken: Spoken) -> None:
    """Curves, details, episodes and files of a run."""
    read_history(spoken)
    spoken.client.window.show_page(WATCH)
    spoken.client.window.watch.open_side("side.details")


def show_stage(spoken: Spoken) -> None:
    """A frame of an environment that draws no picture, and its values."""
    show_watched(spoken)
    stage = spoken.client.stage
    words = spoken.given("It has no render mode rgb_array.")
    stage.grid = None
    stage.take_frame(frame(run_id(LIVE), problem=words, values=[0.5, 1.0]), None)


def show_unwatched(spoken: Spoken) -> None:
    """The user does not want to watch the environment."""
    show_watched(spoken)
    spoken.client.stage.set_on(False)


def show_compare(spoken: Spoken) -> None:
    """Actors of each kind, a result, and what limits it."""
    client = spoken.client
    client.window.show_page(COMPARE)
    found = spoken.given(policies())
    played = run(40, RunState.SUCCEEDED, summary=summary(40), spec={"kind": "play"})
    spoken.tick(client.store.take_runs([spoken.given(played)]))
    client.comparison.begin([run_id(23), run_id(40)])
    client.comparison.add_random()
    client.comparison.set_seeds(5, 1)
    client.comparison.take_line(ComparerLine(policies=found), Path("nowhere"))


def show_compared_trainings(spoken: Spoken) -> None:
    """Groups of trainings, and a comparison that is made."""
    client = spoken.client
    client.window.show_page(COMPARE)
    client.comparison.set_training(True)
    client.comparison.take_line(ComparerLine(training=spoken.given(trainings())), Path("nowhere"))
    client.comparison.is_running = True
    rows = [ActorProgress(name="ppo", episodes=2), ActorProgress(name="dqn", is_reused=True)]
    client.comparison.take_line(ComparerLine(progress=rows), Path("nowhere"))
    client.comparison.take_line(ComparerLine(analysing=True), Path("nowhere"))
    client.comparison.changed.emit()


def show_sweeps(spoken: Spoken) -> None:
    """A sweep with trials in every state."""
    client = spoken.client
    spoken.tick(client.store.take_runs(spoken.given([sweep_run(50), sweep_run(51)])))
    client.window.show_page(SWEEPS)
    client.sweeps.choose(run_id(50))
    client.sweeps.take_view(spoken.given(view(50)))
    client.sweeps.take_trials(run_id(50), page(spoken.given(trials(30, 2))))
    spoken.given(list(sweep_spec().parameters))
    client.sweeps.select(4)
    for key in ("importance", "slice", "contour", "parallel"):
        client.window.sweeps.plots.show_plot(key)
        client.window.sweeps.plots.redraw()


def show_storage(spoken: Spoken) -> None:
    """A picture of what fills the disks, with a chosen run, a removal that goes on, and each list."""
    client = spoken.client
    client.window.show_page(STORAGE)
    client.storage.take_report(spoken.given(storage_report(30, rows=20, notes=["Look at it."])))
    client.storage.take_plan(spoken.given(prune_plan(unlisted=3)))
    client.storage.take_progress("", 3, 7)
    page = client.window.storage
    for key in ("kind", "run", "origin"):
        page.groupings.choose(key)
        spoken.client.storage.choose(client.storage.tiles.tiles[0])
    for key in ("trash", "stack", "next"):
        page.lists.show_list(key)


def show_alerts(spoken: Spoken) -> None:
    """Rules, alerts of a run and of the stack, a wrong rule, and an empty page."""
    client = spoken.client
    client.window.show_page(ALERTS)
    client.alerts.take(spoken.given(alert_report(0, rules=[], targets=[])))
    client.alerts.take(spoken.given(alert_report(4)))
    client.window.alerts.rule.setText("nan")
    client.alerts.take_problem(spoken.given("The scheduler is away."))


def show_no_storage(spoken: Spoken) -> None:
    """Nothing is stored, or nobody says what is."""
    client = spoken.client
    client.window.show_page(STORAGE)
    client.storage.forget()
    client.storage.take_problem(spoken.given("The scheduler is away."))
    client.storage.take_report(spoken.given(storage_report(0)))


def show_sweep_form(spoken: Spoken) -> None:
    """Parameters that vary, and what is wrong with them."""
    client = spoken.client
    client.window.show_page(SWEEPS)
    client.sweep_form.open()
    draft = client.sweep_form.draft
    assert draft is not None
    for group in draft.settings.groups:
        spoken.given([list(one.choices) for one in group.fields], "1-3", "charts/episodic_return")
    for name in ("learning_rate", "gamma", "loss"):
        client.sweep_form.vary(name, True)
    client.sweep_form.set_part("gamma", "when", "loss")
    client.sweep_form.set_setting("seeds", "1-x")
    spoken.given("True", "anneal_lr", "exp_name", "target_kl")
    client.sweep_form._settle.stop()


def show_replay(spoken: Spoken) -> None:
    """Two episodes, one of which differs."""
    client = spoken.client
    client.window.show_page(REPLAY)
    fill_replay(client, LIVE)
    spoken.given(verified(), differing(), "CartPole-v1", "gymnasium")
    client.player.is_waiting = True
    client.player.moved.emit()
    branches = spoken.given([branch(30, LIVE, 12, episode=9), person(31, 30, 20)])
    spoken.tick(client.store.take_runs(branches))
    client.branches.take_facts(run_id(30), BranchFacts(0, steps=30, episode_return=30.0))


def show_replay_progress(spoken: Spoken) -> None:
    """An episode that is being rebuilt."""
    show_replay(spoken)
    model = spoken.client.player.open(EpisodeAddress(run_id(LIVE), 2, 0, 9), "CartPole-v1")
    fill(model, None)
    progress = {"step": 3, "total": 9}
    model.take_run(run(LIVE, spec={"kind": "replay"}, progress=progress))


def show_replay_failed(spoken: Spoken) -> None:
    """An episode that cannot be rebuilt."""
    show_replay_progress(spoken)
    model = spoken.client.player.main
    assert model is not None
    model.fail(spoken.given("The worker cannot replay."))


def show_no_replay(spoken: Spoken) -> None:
    """No episode was chosen, and their list is being read."""
    spoken.client.window.show_page(REPLAY)
    spoken.client.player.close_all()
    spoken.client.episodes.show_run(run_id(LIVE), spoken.client.store.runs[run_id(LIVE)])


def show_mind(spoken: Spoken) -> None:
    """What the agent had in mind."""
    show_watched(spoken)
    watch = spoken.client.window.watch
    watch.views.setCurrentWidget(watch.beliefs)
    watch.beliefs.facts.refresh()


def show_media(spoken: Spoken) -> None:
    """Histograms of a run by step."""
    show_watched(spoken)
    client = spoken.client
    client.media.take_names(run_id(LIVE), spoken.given(MEDIA_NAMES))
    client.media.choose(("histogram", "weights/fc1"))
    client.media.take_values(run_id(LIVE), spoken.given(histograms()))
    client.window.watch.views.setCurrentWidget(client.window.watch.media)


def show_cut_text(spoken: Spoken) -> None:
    """A text that was cut."""
    show_media(spoken)
    spoken.client.media.choose(("text", "samples/plan"))
    spoken.client.media.take_values(run_id(LIVE), spoken.given(texts()))


def show_gone_image(spoken: Spoken) -> None:
    """An image whose file is no longer there."""
    show_media(spoken)
    media = spoken.client.media
    media.choose(("image", "frames"))
    media.take_values(run_id(LIVE), spoken.given(images()))
    media.take_image(run_id(LIVE), "media/frames/2.png", None, spoken.given("gone"))


def show_transfer(spoken: Spoken) -> None:
    """Files on their way."""
    show_watched(spoken)
    spoken.client.window.watch.open_side("side.files")
    for name in ("a.pt", "b.pt"):
        spoken.client.watch.files.take_progress(name, 10, 20)


def show_form(spoken: Spoken) -> None:
    """The form with values that are wrong, and a copy's differences."""
    client = spoken.client
    client.launch.copy_run(run_id(FAILED))
    client.launch.set_text("run", "seed", "-1")
    client.launch.set_text("parameters", "gamma", "2")
    client.launch.set_text("run", "steps", "x")
    client.window.show_page(TRAIN)


def show_preflight(spoken: Spoken) -> None:
    """The form as it should be, with consent to give, its plan next to it."""
    client = spoken.client
    client.launch.reset()
    client.launch._settle.stop()
    client.launch._ask()
    client.window.show_page(TRAIN)
    client.window.train.preflight.show_view("plan")


def show_trained(spoken: Spoken) -> None:
    """A run that left checkpoints, and how it is to act."""
    client = spoken.client
    client.window.show_page(TRAINED)
    client.trained.take_checkpoints(client.trained.run_id, FILES)
    spoken.given([Path(one.path).name for one in FILES])  # names of files, without their folder


def show_checkpoints(spoken: Spoken) -> None:
    """Cards in every state, a comparison of hashes, and lists that cannot be read or have no match."""
    client = spoken.client
    client.window.show_page(CHECKPOINTS)
    model, page = client.all_checkpoints, client.window.checkpoints
    assert spoken.english(page) == {}
    model.take_page([], is_last=True)
    assert spoken.english(page) == {}
    assert clipped_texts(page, BUTTON_PADDING) == []
    rows = spoken.given(checkpoints(), "final.pt", "best.pt")
    model.take_problem(spoken.given("gone"))
    assert spoken.english(page) == {}
    model.take_page(rows, is_last=True)
    for row in rows:
        model.choose(address_of(row))
        assert spoken.english(page) == {}
    for sent in (1, 9):
        model.take_upload(spoken.given("best.zip"), sent, 9)
        assert spoken.english(page) == {}
    model.end_upload()
    model.search("none of them")
    assert spoken.english(page) == {}
    model.search("")
    model.take_check_progress(1, 3)


def show_settings(spoken: Spoken) -> None:
    """The settings."""
    spoken.client.window.show_page(SETTINGS)


def show_human(spoken: Spoken) -> None:
    """Nobody here lets a person play."""
    spoken.client.agents.set_mode(Mode.HUMAN)


def show_play(spoken: Spoken) -> None:
    """The start of a play, of an environment that is not installed; a form; and an agent."""
    client = spoken.client
    client.play_start.take_workers([*workers(), spoken.given(play_worker())])
    client.window.show_page(PLAY)
    for name in (PONG, LAKE):
        client.play_start.choose_environment(name)
        assert spoken.english(client.window.play) == {}
    client.play_start.choose_environment("CartPole-v1")
    client.play_start.set_actor(AGENT)
    client.play_start.take_refusal(spoken.given("m"), [])


def show_played(spoken: Spoken) -> None:
    """A person plays: every control is there, and keys are being changed."""
    client = spoken.client
    spoken.given(PLAY_CONTROLS, "There is no policy in this run: the person alone acts.")
    fill_play(client)
    spoken.given(client.watch.run)
    side = client.window.watch.findChild(PlaySide)
    assert side is not None
    client.play.controls = client.play.controls.model_copy(update={"has_policy": False})  # type: ignore[union-attr]
    client.play.changed.emit()
    side.edit.setChecked(True)
    assert spoken.english() == {}
    client.play.map.put("j", 1, "d")  # type: ignore[union-attr]
    client.play.edit_map()
    assert spoken.english() == {}
    assert clipped_texts(client.window, BUTTON_PADDING) == []
    client.watch.watch(run_id(LIVE))  # a play that is left gives a notice


def show_hybrid(spoken: Spoken) -> None:
    """Nor a person and an agent."""
    spoken.client.agents.set_mode(Mode.HYBRID)


def show_modes(spoken: Spoken) -> None:
    """The question who acts."""
    spoken.client.agents.mode = None
    spoken.client.agents.changed.emit()


def show_ends(spoken: Spoken) -> None:
    """The card of a failure."""
    spoken.client.watch.watch(run_id(FAILED))
    spoken.client.window.show_page(WATCH)


def show_waiting(spoken: Spoken) -> None:
    """A run that waits for its turn."""
    spoken.client.watch.watch(run_id(QUEUED))
    spoken.client.window.show_page(WATCH)


def show_starting(spoken: Spoken) -> None:
    """The stack of this machine comes up."""
    spoken.client.connection.take(ConnectionStatus())
    spoken.client.connection.take_start(True)


def show_lost(spoken: Spoken) -> None:
    """The connection is gone, and the page for another one is open."""
    spoken.client.window.start.elsewhere.show_stacks([KnownStack(url=URL, token_file="/a/token")])
    spoken.given("/a/token", "gone")
    spoken.client.connection.take(ConnectionStatus(LinkState.STALE, URL, "gone", retry_in_s=5.0))
    spoken.client.window.show_connection()


def show_nothing(spoken: Spoken) -> None:
    """No run is watched."""
    spoken.client.watch.watch("")
    spoken.client.window.show_page(WATCH)


def show_obstacle(spoken: Spoken) -> None:
    """A preflight that is in the way, after a consent."""
    client = spoken.client
    client.launch.reset()
    client.launch._settle.stop()
    client.launch._ask()
    client.launch.agree()
    client.launch.report = spoken.given(report("blocking", needs=["reaches the web"]))
    client.launch.checked.emit()
    client.window.show_page(TRAIN)
    client.window.train.preflight.show_view("lines")


def show_untrained(spoken: Spoken) -> None:
    """An agent without a run to use."""
    spoken.client.agents.choose(("cleanrl", "dqn"))
    spoken.client.window.show_page(TRAINED)


def show_trouble(spoken: Spoken) -> None:
    """An address at which something is wrong."""
    client = spoken.client
    client.connection.take(
        ConnectionStatus(LinkState.CONNECTING, URL, spoken.given("gone"), retry_in_s=9.0)
    )
    client.connection.take_diagnosis(diagnose(Trouble.NOBODY, URL, is_local=False))


VIEWS: tuple[Callable[[Spoken], None], ...] = (
    show_trash,
    show_empty_trash,
    show_runs,
    show_groups,
    show_watched,
    show_stage,
    show_unwatched,
    show_replay,
    show_replay_progress,
    show_replay_failed,
    show_no_replay,
    show_mind,
    show_media,
    show_cut_text,
    show_gone_image,
    show_transfer,
    show_form,
    show_preflight,
    show_trained,
    show_checkpoints,
    show_compare,
    show_compared_trainings,
    show_sweeps,
    show_sweep_form,
    show_no_storage,
    show_alerts,
    show_storage,
    show_settings,
    show_human,
    show_play,
    show_played,
    show_hybrid,
    show_modes,
    show_ends,
    show_waiting,
    show_starting,
    show_lost,
    show_nothing,
    show_obstacle,
    show_untrained,
    show_trouble,
)


def open_palette(spoken: Spoken) -> None:
    """Every command of the list."""
    show_runs(spoken)
    spoken.client.window.open_palette()


def open_palette_of_form(spoken: Spoken) -> None:
    """Every command of the form."""
    show_form(spoken)
    spoken.client.window.open_palette()


def open_palette_of_watch(spoken: Spoken) -> None:
    """Every command of a watched run."""
    show_watched(spoken)
    spoken.client.window.open_palette()


def open_palette_of_replay(spoken: Spoken) -> None:
    """Every key of the player."""
    show_replay(spoken)
    spoken.client.window.open_palette()


def open_columns(spoken: Spoken) -> None:
    """Which columns the list has."""
    spoken.client.window.runs.view_menu.choose_columns()


def open_run_menu(spoken: Spoken) -> None:
    """What can be done with a run."""
    spoken.client.window.runs._show_menu(QPoint())


def open_tags(spoken: Spoken) -> None:
    """Words to find runs by."""
    show_runs(spoken)
    spoken.client.window.runs._tag()


def open_note(spoken: Spoken) -> None:
    """The user's own words."""
    show_runs(spoken)
    spoken.client.window.runs._note()


def open_layouts(spoken: Spoken) -> None:
    """Layouts, and the name of a new one."""
    spoken.client.layouts._open_menu(QPoint())
    menu = spoken.client.window.findChild(LayoutMenu)
    assert menu is not None
    menu._ask_name()


def open_curves(spoken: Spoken) -> None:
    """Which curves are shown."""
    show_watched(spoken)
    spoken.given("episode/*", "losses/*")
    spoken.client.window.watch.bar._open_picker()


def open_copies(spoken: Spoken) -> None:
    """Runs to copy from."""
    spoken.client.window.train.form.bar._pick()


def open_checkpoints(spoken: Spoken) -> None:
    """Runs to go on from, and their checkpoints."""
    form = spoken.client.window.train.form
    form._pick_run(next(iter(form.rows.values())))
    form._on_picked(next(iter(form.rows.values())), run_id(23))
    spoken.client.launch.take_checkpoints(run_id(23), spoken.given(FILES))


def open_summary(spoken: Spoken) -> None:
    """A run that is tracked offline."""
    show_watched(spoken)
    reported = TrackedRun(tracker="wandb", mode="offline", folder="wandb/offline-1")
    spoken.given(reported, f"./mosaic wandb sync {run_id(LIVE)}", run_id(LIVE), "runs/")
    spoken.client.store.followed[run_id(LIVE)].tracked = reported
    spoken.tick(Changes(events=frozenset({run_id(LIVE)})))
    spoken.client.window.watch.links.tracker.click()
    assert spoken.client.window.findChild(TrackerPopup) is not None


def open_takeover(spoken: Spoken) -> None:
    """The successors at a step, and why none of them can go on."""
    show_replay(spoken)
    client = spoken.client
    client.takeover.take_workers([])
    popup = client.window.replay.open_takeover()
    for who in ("policy", "checkpoint", "person"):
        popup.who.choose(who)
    client.player.go_last()
    client.takeover.changed.emit()


def open_readout(spoken: Spoken) -> None:
    """What all curves have where the pointer is."""
    show_watched(spoken)
    charts = spoken.client.window.watch.charts
    charts.redraw()
    chart = charts.charts[0]
    found = spoken.client.watch.nearest(chart.name, 30.0) * 20
    chart.readout.show_readings("20", found, QPoint())


def open_import(spoken: Spoken) -> None:
    """What a file does not say."""
    spoken.client.window.show_page(CHECKPOINTS)
    assert spoken.client.window.checkpoints
    words, name = spoken.given("Name its algorithm."), spoken.given("dqn.zip")
    spoken.given("dqn", "CartPole-v1", "cleanrl")
    spoken.client.all_checkpoints.ask(ImportQuestion(f"/a/{name}", words, {}))


def open_targets(spoken: Spoken) -> None:
    """Targets of alerts, one that failed, and both kinds of new ones: faults, consents and results."""
    client = spoken.client
    client.window.show_page(ALERTS)
    client.window.alerts.rule.clear()
    report = alert_report(1)
    target = report.targets[0]
    failed = target.model_copy(update={"name": "desk", "last_problem": "HTTP 500"})
    client.alerts.take(spoken.given(report.model_copy(update={"targets": [target, failed]})))
    client.alerts.takes_commands = True
    popup = client.window.alerts.open_targets()
    spoken.given("chat2", "https://example.org/x", "desk2", "example.org", "tee")
    for kind, name, value in (
        ("webhook", "chat2", "https://example.org/x"),
        ("command", "desk2", "tee x"),
    ):
        popup.kinds.choose(kind)
        popup.name.setText(name)
        popup.value.setText(value)
    client.alerts.target_said.emit(spoken.given("It took the test."), True)


def open_checkpoint_menu(spoken: Spoken) -> None:
    """Everything that can be done with a checkpoint."""
    spoken.client.window.show_page(CHECKPOINTS)
    spoken.client.all_checkpoints.take_page(spoken.given(checkpoints()), is_last=True)
    spoken.client.window.checkpoints.side.show_menu(QPoint(10, 10))


POPUPS: tuple[Callable[[Spoken], None], ...] = (
    open_palette,
    open_palette_of_form,
    open_palette_of_watch,
    open_palette_of_replay,
    open_columns,
    open_run_menu,
    open_tags,
    open_note,
    open_layouts,
    open_curves,
    open_copies,
    open_checkpoints,
    open_summary,
    open_takeover,
    open_readout,
    open_import,
    open_checkpoint_menu,
    open_targets,
)


@pytest.fixture(autouse=True)
def _as_before(spoken: Spoken) -> Iterator[None]:
    """Each view begins from a live connection with figures of this moment, and leaves nothing behind."""
    client = spoken.client
    client.hardware.take(machine())
    yield
    client.connection.take_start(False)
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    client.window.runs.grouping.setChecked(False)
    client.agents.set_mode(Mode.AGENT)
    client.watch.files.take_end("a.pt")
    client.watch.files.take_end("b.pt")
    client.comparison.is_training = client.comparison.is_running = False
    client.launch._settle.stop()
    client.sweep_form.close()
    client.window.notices.clear()
    client.window.show_page(RUNS)


@pytest.mark.parametrize("show", VIEWS, ids=lambda show: show.__name__.removeprefix("show_"))
def test_every_view_speaks_the_language(spoken: Spoken, show: Callable[[Spoken], None]) -> None:
    """All that can be read, pointed at or heard in it is translated or is data from elsewhere; nothing is cut."""
    show(spoken)
    spoken.client.window.watch.charts.redraw()
    QApplication.processEvents()
    assert spoken.english() == {}
    assert clipped_texts(spoken.client.window, BUTTON_PADDING) == []


@pytest.mark.parametrize("show", POPUPS, ids=lambda show: show.__name__.removeprefix("open_"))
def test_every_popup_speaks_the_language(spoken: Spoken, show: Callable[[Spoken], None]) -> None:
    """The same of what opens for a moment."""
    show(spoken)
    found = spoken.english()
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    assert found == {}


def test_notices_speak_the_language(spoken: Spoken, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happened, and what was refused, in the bar below."""
    client, reported = spoken.client, list[str]()
    monkeypatch.setattr(
        client.window.notices, "say", lambda text, *more: reported.extend((text, more[0]))
    )
    session = FakeSession(client.store)
    client.run_actions.session = cast(StreamSession, session)
    client.run_actions.stop([run_id(LIVE)])
    client.run_actions.delete([run_id(FAILED), run_id(23)])
    client.run_actions.session = None
    client.layouts.save("Train")
    client.layouts.save("mine")
    client.layouts.remove("mine")
    client.layouts._set_movable(True)
    client.layouts._set_movable(False)
    missed = Missed(run_id=run_id(LIVE), count=7, from_cursor="", to_cursor="1.worker.7")
    spoken.tick(client.store.apply(missed))
    client.navigator.edit_copy(run_id(LIVE))
    for path in ("a", "b"):
        failed = unwritable(Path(path), OSError(28, "full"))
        client.downloads._on_failed(Path(path), lambda: None, failed)
    data = strings_in(*spoken.reported, "full", "mine")
    assert len(reported) > 12
    assert {text: rest for text in reported if (rest := untranslated(text, data))} == {}


def test_what_is_painted_speaks_the_language(
    spoken: Spoken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lanes of a mind, cells of a world, rows of the list: what no widget has as its text."""
    painted: list[str] = []
    draw = QPainter.drawText

    def heard(painter: QPainter, *args: Any) -> Any:
        painted.extend(argument for argument in args if isinstance(argument, str))
        return draw(painter, *args)

    monkeypatch.setattr(QPainter, "drawText", heard)
    show_mind(spoken)
    panel = spoken.client.window.watch.beliefs
    panel.timeline.grab()
    panel.policy.grab()
    centre = QPointF(panel.timeline.rect().center())
    painted += [panel.timeline.words_at(centre), panel.policy.words_at(QPointF(20, 20))]
    data = strings_in(*spoken.reported)
    assert len(painted) > 8
    assert {text: rest for text in painted if (rest := untranslated(text, data))} == {}


def ends() -> Iterator[RunEnd]:
    """Everything that a run can end of, with words of each kind of fault."""
    faults = (
        "Torch not compiled with CUDA enabled",
        "CUDA out of memory",
        "No module named 'box2d'",
        "can't open file 'a.py'",
        "expected loss, found nan",
        "No space left on device",
        "ValueError: gamma must be below 1",
        "",
    )
    for cause in EndCause:
        for step in (None, *StopStep):
            for fault in faults:
                yield RunEnd(
                    cause=cause,
                    message="m",
                    exit_code=1,
                    signal=9,
                    stop_step=step,
                    last_lines=[fault],
                )


def words_of_state(spoken: Spoken) -> Iterator[str]:
    """What is said of ends, addresses and versions."""
    arguments = {
        "cuda": True,
        "gamma": 1.0,
        "learning_rate": 0.1,
        "buffer_size": 64,
        "script": "a.py",
    }
    limits = {"wall_time_s": 5, "memory_mb": 64, "gpus": 1}
    for end in ends():
        ended = run(0, RunState.FAILED, end=end, spec=limits)
        card = failure_summary(ended, arguments)
        assert card is not None
        yield from (card.title, *card.advice, *(fix.label for fix in card.fixes))
        yield from (text for fact in card.facts for text in fact)
    for trouble in Trouble:
        for is_local in (True, False):
            found = diagnose(trouble, URL, is_local=is_local)
            yield from (found.headline, found.todo)
    yield version_words("2.0", "1.0")
    yield version_words("1.0", "2.0")
    for run_of in spoken.client.store.runs.values():
        yield from (tool_tip(run_of, column) or "" for column in Column)
        yield from (text for row in details(run_of, {}) for text in row)


def test_every_cause_and_every_trouble_has_words(spoken: Spoken) -> None:
    """Advice, fixes and headlines are translated, whichever of them comes."""
    names = ("gamma", "learning_rate", "buffer_size", "a.py", "SIGKILL", "127.0.0.1:1", "cleanrl")
    data = strings_in(*spoken.reported, names, [one.value for one in RecordLevel])
    found = {text: rest for text in words_of_state(spoken) if (rest := untranslated(text, data))}
    assert found == {}


def test_what_is_not_translated_is_found(spoken: Spoken, qapp: QApplication, qtbot: QtBot) -> None:
    """The test of these tests: in English nearly everything would be reported."""
    languages.speak(qapp, languages.ENGLISH, {})
    made = SettingsPage(Settings(), "file")
    qtbot.addWidget(made)
    reported = spoken.english(made)
    folder = spoken.client.home / KEPT_IN
    languages.speak(qapp, CODE, languages.find_languages(folder))
    assert len(reported) > 12
    assert any("Smoothing" in where for where in reported)
