"""The start of a play: what is offered, the spec, what is remembered, and what a refusal leaves."""

import json
from typing import Any

import pytest
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.play_specimen import CART, INSTALL, LAKE, PONG, play_worker
from tests.specimen import run, run_id, summary, worker

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.states import RunState
from mosaic_gui.state.play_form import OPTIONS, PARAMETERS, RUN
from mosaic_gui.state.play_memory import AGENT, PERSON, PlayMemory
from mosaic_gui.state.play_pace import watching_pace
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.play_start import PlayStartModel


def agents() -> WorkerEntry:
    """CleanRL, whose checkpoints act, greedy or sampled."""
    data = worker().model_dump(mode="json")
    for algorithm in data["description"]["algorithms"]:
        algorithm["play"] = True
        algorithm["parameters"]["properties"]["sampled"] = {"type": "boolean", "default": False}
    return WorkerEntry.model_validate(data)


def trained(n: int, **fields: Any) -> Any:
    """A finished run that left checkpoints."""
    return run(n, RunState.SUCCEEDED, summary=summary(n, checkpoints=2), **fields)


class Start:
    """The model over a store, and what it wants."""

    def __init__(self) -> None:
        self.store = Store()
        self.model = PlayStartModel(self.store)
        self.specs = QSignalSpy(self.model.start_wanted)
        self.plays = QSignalSpy(self.model.play_wanted)
        self.model.take_workers([agents(), play_worker()])

    def take(self, *runs: Any) -> None:
        """Runs of the stack, whose checkpoints are read where they are asked for."""
        self.model.consume(self.store.replace_runs(runs))
        rows = [ArtifactRow(path="checkpoints/final.pt", kind="checkpoint", bytes=1, step=1)]
        self.model.take_checkpoints(self.model.run_id, rows)

    def spec(self) -> dict[str, Any]:
        """The spec that was sent last."""
        found: dict[str, Any] = self.specs[len(self.specs) - 1][0]
        return found


@pytest.fixture
def start(qtbot: QtBot) -> Start:
    """Nothing was played yet."""
    return Start()


def test_everything_that_a_worker_makes_is_offered(start: Start) -> None:
    """What lacks its bundle comes last, with the command; the worker's default is chosen first."""
    model = start.model
    assert [entry.id for entry in model.entries] == [CART, LAKE, PONG]
    assert (model.environment, model.obstacle) == (CART, "")
    model.choose_environment(PONG)
    assert model.obstacle == "It is not installed."
    assert model.described is not None
    assert model.described.install == INSTALL
    model.choose_environment("mine:Own-v0")
    assert model.obstacle == ""


def test_the_spec_names_what_was_changed(start: Start) -> None:
    """Options are JSON with whole numbers; an empty seed is another one each time; 0 and 2**31 - 1 are seeds."""
    model = start.model
    model.choose_environment(LAKE)
    model.set_text(OPTIONS, "is_slippery", "False")
    model.set_text(OPTIONS, "size", "5")
    model.set_text(PARAMETERS, "timing", "real_time")
    model.start()
    spec = start.spec()
    assert json.loads(spec["parameters"]["options"]) == {"is_slippery": False, "size": 5}
    assert (spec["kind"], spec["parameters"]["timing"]) == ("play", "real_time")
    assert isinstance(json.loads(spec["parameters"]["options"])["size"], int)
    seeds = {spec["seed"]}
    for text in ("", "0", "2147483647"):
        model.take_refusal("Busy.", [])
        model.set_text(RUN, "seed", text)
        model.start()
        seeds.add(start.spec()["seed"])
    assert len(seeds) == 4
    assert {0, 2**31 - 1} < seeds


def test_a_refusal_leaves_the_form_as_it_was(start: Start) -> None:
    """What is wrong is said next to its field, until it is edited."""
    model = start.model
    model.choose_environment(LAKE)
    model.set_text(RUN, "seed", "7")
    model.start()
    assert model.obstacle == "Starting …"
    model.take_refusal("No.", [{"where": "parameters.rate", "message": "too fast"}])
    assert (model.refusal, model.fault(PARAMETERS, "rate")) == ("No.", "too fast")
    assert model.text(RUN, "seed") == "7"
    model.set_text(PARAMETERS, "rate", "5")
    assert (model.refusal, model.fault(PARAMETERS, "rate"), model.obstacle) == ("", "", "")
    model.set_text(RUN, "seed", "-1")
    assert "at least 0" in model.obstacle


def test_the_users_keys_are_sent_unless_they_do_not_fit(start: Start) -> None:
    """A map is remembered for the options that it was made for; one that does not fit is left out, in words."""
    model, said = start.model, QSignalSpy(start.model.said)
    played = run(
        5, spec={"worker": "play", "algorithm": "human", "environment": LAKE, "kind": "play"}
    )
    assert model.keys_of(played) is None
    model.keep_keys(played, '{"j": 0}')
    assert model.keys_of(played) == '{"j": 0}'
    model.choose_environment(LAKE)
    model.set_text(OPTIONS, "map_name", "8x8")
    model.start()
    assert start.spec()["parameters"]["keys"] == '{"j": 0}'
    model.take_refusal("No.", [{"where": "parameters.keys", "message": "must be a list"}])
    assert "keys" not in start.spec()["parameters"]
    assert "must be a list" in said[0][0]
    model.take_started()
    model.keep_keys(played, "")
    model.start()
    assert "keys" not in start.spec()["parameters"]


def test_the_same_play_again_has_its_settings_and_the_edited_keys(start: Start) -> None:
    """Seed and parameters are those of the run; a refusal is a notice, for the form is not shown."""
    model, said = start.model, QSignalSpy(start.model.said)
    spec = {"worker": "play", "algorithm": "human", "environment": LAKE, "kind": "play", "seed": 3}
    played = run(5, spec={**spec, "parameters": {"options": '{"size": 5}', "keys": '{"k": 1}'}})
    model.keep_keys(played, '{"j": 0}')
    assert model.start_again(played)
    sent = start.spec()
    assert (sent["seed"], sent["parameters"]) == (
        3, {"options": '{"size": 5}', "keys": '{"j": 0}'},
    )  # fmt: skip
    model.take_refusal("Busy.", [])
    assert (len(said), said[0]) == (1, ["Busy."])
    assert not model.start_again(run(6))


def test_the_last_actor_of_an_environment_comes_back(start: Start) -> None:
    """A person with what was typed, or an agent with its checkpoint; the newest environment is first in the list."""
    model = start.model
    start.take(trained(0), trained(1, spec={"environment": "Own-v0"}))
    assert "Own-v0" in [entry.id for entry in model.entries]
    model.set_actor(AGENT)
    assert (model.run_id, model.may_sample, model.pace) == (run_id(0), True, 50.0)
    fields = {"episodes": 3, "seed": 1, "pace": 50.0, "parameters": {"sampled": True}}
    model.start("checkpoints/final.pt", fields)
    assert start.plays[0] == [run_id(0), "checkpoints/final.pt", fields]
    model.take_started()
    model.choose_environment(LAKE)
    assert model.actor == PERSON
    model.set_text(OPTIONS, "map_name", "8x8")
    model.start()
    model.take_started()
    assert [entry.id for entry in model.entries[:2]] == [LAKE, CART]
    again = Start()
    again.model.plays = {
        name: PlayMemory.model_validate(known.model_dump()) for name, known in model.plays.items()
    }
    again.take(trained(0))
    again.model.choose_environment(CART)
    again.model.choose_environment(LAKE)
    assert again.model.text(OPTIONS, "map_name") == "8x8"
    again.model.choose_environment(CART)
    assert (again.model.actor, again.model.preset["checkpoint"]) == (AGENT, "checkpoints/final.pt")
    again.model.choose_environment("Own-v0")


def test_agents_without_a_checkpoint_are_no_actors(start: Start) -> None:
    """Only finished runs of algorithms that can act, in the chosen environment."""
    model = start.model
    start.take(run(0, RunState.SUCCEEDED), trained(1, spec={"algorithm": "gone"}))
    model.set_actor(AGENT)
    assert model.obstacle == "No agent has left a checkpoint in this environment yet."


@pytest.mark.parametrize(
    ("environment", "pace"),
    [(CART, 50.0), (LAKE, 4.0), ("PongNoFrameskip-v4", 15.0), ("CartPole-v0", 50.0), ("Other-v1", 30.0)],
)  # fmt: skip
def test_an_agent_is_shown_at_the_rate_of_its_environment(environment: str, pace: float) -> None:
    """By its id, else by another version of it, else at a rate that one can follow."""
    assert watching_pace(environment, [agents(), play_worker()]) == pace


def test_a_checkpoint_is_offered_in_its_own_environment(start: Start) -> None:
    """Also one of a run that still trains; it is chosen as soon as the run's checkpoints are read."""
    training = run(3, summary=summary(3, checkpoints=1), spec={"environment": LAKE})
    start.take(trained(0), training)
    model, wanted = start.model, QSignalSpy(start.model.checkpoints_wanted)
    assert run_id(3) not in [one.run_id for one in model.others]
    model.offer_checkpoint(training, "checkpoints/3.pt")
    assert (model.environment, model.actor, model.run_id) == (LAKE, AGENT, run_id(3))
    assert (wanted[0], model.wanted) == ([run_id(3)], "checkpoints/3.pt")
    assert model.trained_in == ""
    model.choose(run_id(0))
    assert model.wanted == ""


def test_an_agent_of_another_environment_is_tried_and_its_own_one_offered(start: Start) -> None:
    """The refusal names both; `Switch environment` starts the same checkpoint there."""
    model = start.model
    start.take(trained(0), trained(1, spec={"environment": "CartPole-v0"}))
    model.choose_environment(CART)
    model.set_actor(AGENT)
    assert [one.run_id for one in model.others] == [run_id(1)]
    model.choose(run_id(1))
    rows = [ArtifactRow(path="checkpoints/final.pt", kind="checkpoint", bytes=1, step=1)]
    model.take_checkpoints(run_id(1), rows)
    assert model.trained_in == "CartPole-v0"
    model.start("checkpoints/final.pt", {"seed": 7})
    sent = {"seed": 7, "environment": CART}
    assert start.plays[0] == [run_id(1), "checkpoints/final.pt", sent]
    finding = {
        "where": "parameters.checkpoint",
        "message": "m",
        "offers": {"environment": "CartPole-v0"},
    }
    model.take_refusal("It does not fit.", [finding])
    assert model.offered == "CartPole-v0"
    assert "CartPole-v0" in model.refusal
    assert CART in model.refusal
    model.switch_environment()
    assert (model.environment, model.actor, model.offered) == ("CartPole-v0", AGENT, "")
    assert start.plays[1] == [run_id(1), "checkpoints/final.pt", {"seed": 7}]
    truncated = {"where": "parameters.checkpoint", "message": "It is truncated.", "offers": {}}
    model.take_refusal("It cannot start. parameters.checkpoint: It is truncated.", [truncated])
    assert (model.refusal, model.offered) == ("It is truncated.", "")


def test_a_file_of_another_environment_than_its_run_is_played_where_it_belongs(
    start: Start,
) -> None:
    """The run's record says one environment, and its file another one."""
    model = start.model
    start.take(trained(0))
    model.set_actor(AGENT)
    model.start("checkpoints/final.pt", {})
    model.take_refusal(
        "No.", [{"where": "parameters.checkpoint", "message": "m", "offers": {"environment": LAKE}}]
    )
    model.switch_environment()
    assert model.environment == LAKE
    assert start.plays[1] == [run_id(0), "checkpoints/final.pt", {"environment": LAKE}]
