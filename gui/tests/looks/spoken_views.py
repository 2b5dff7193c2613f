"""Every view of the window, each shown with data that has all of its texts."""

from collections.abc import Callable
from pathlib import Path

from tests.alert_specimen import alert_report
from tests.checkpoint_specimen import checkpoints
from tests.comparison_specimen import policies, trainings
from tests.looks.spoken_window import (
    FAILED,
    FILES,
    LIVE,
    QUEUED,
    URL,
    Spoken,
    read_history,
    workers,
)
from tests.looks.test_looks import clipped_texts
from tests.media_specimen import NAMES as MEDIA_NAMES
from tests.media_specimen import histograms, images, texts
from tests.net.frames_stub import frame
from tests.play_specimen import CONTROLS as PLAY_CONTROLS
from tests.play_specimen import LAKE, PONG, fill_play, play_worker
from tests.replay_specimen import differing, fill, fill_replay, verified
from tests.specimen import report, run, run_id, summary
from tests.state.test_branches import branch, person
from tests.storage_specimen import plan as prune_plan
from tests.storage_specimen import report as storage_report
from tests.sweep_specimen import page, sweep_run, sweep_spec, trials, view

from mosaic_contracts.comparison_orders import ActorProgress, ComparerLine
from mosaic_contracts.states import RunState
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.branches import BranchFacts
from mosaic_gui.state.checkpoint_list import address_of
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.diagnosis import Trouble, diagnose
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.memory import KnownStack
from mosaic_gui.state.play_memory import AGENT
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
from mosaic_gui.views.text import BUTTON_PADDING


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
