"""Runs that rebuild a recorded episode: who may, what they are given, when they start and when they go."""

import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from tests.records import make_record
from tests.script_worker import SPEC, script_worker
from tests.stack import Stack, until

from mosaic_contracts.preflight import PreflightLine, PreflightReport
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.replays import (
    REPLAY_FILE,
    REPLAY_WALL_TIME_S,
    EpisodeEvents,
    ReplayRequest,
    ReplaySource,
)
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    ForkOrder,
    ListRequest,
    ReplayOrder,
    RunIds,
    RunRecords,
    RunRequest,
    SubmitRequest,
)
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.states import RunState
from mosaic_scheduler.admission.recorded import find_episode
from mosaic_scheduler.errors import RecordUnusable
from mosaic_scheduler.queue.outside import (
    MAX_PLAYS,
    MAX_REPLAYS,
    is_outside_queue,
    places_outside_queue,
)
from mosaic_scheduler.queue.plan import HELD, QueueEntry
from mosaic_scheduler.reconcile import episode_record
from mosaic_scheduler.reconcile.episode_record import EpisodeFilter

SOURCE = ReplaySource(run_id="01JGXSBMTTED00000000000000", attempt=1, env=0, episode=2)
WAITS = """\
pathlib.Path("verb").write_text(sys.argv[1])
if sys.argv[1] == "replay":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    while True:
        time.sleep(0.02)
"""
"""A worker that ends its trainings at once and its replays when it is asked to."""
ENDS = 'pathlib.Path("verb").write_text(sys.argv[1])\n'


def start(episode: int, env: int = 0, way: str = "generator") -> dict[str, Any]:
    """A reset."""
    return {
        "type": "episode_start",
        "env": env,
        "episode": episode,
        "reset": {"way": way},
        "hash": "00",
    }


def step(episode: int, number: int, env: int = 0) -> dict[str, Any]:
    """A step."""
    return {
        "type": "step",
        "env": env,
        "episode": episode,
        "step": number,
        "action": [math.inf],
        "reward": math.nan if number == 1 else 0.1,
        "flags": 0,
        "hash": "ff" * 8,
        "observation": None,
    }


def episodes(count: int, steps: int = 3, way: str = "generator") -> list[dict[str, Any]]:
    """Complete episodes of two sub-environments."""
    return [
        event
        for episode in range(count)
        for env in (1, 0)
        for event in (start(episode, env, way), *(step(episode, n + 1, env) for n in range(steps)))
    ]


def store(stack: Stack, run_id: str, events: Sequence[dict[str, Any]], attempt: int = 1) -> None:
    """As if the run's worker had recorded them."""
    known = stack.recorder.events.setdefault(run_id, [])
    config = {"type": "config", "data": {"environment": "E-v0"}}
    for seq, event in enumerate([config, *events], start=1000 * attempt):
        known.append(
            {"source": "worker", "attempt": attempt, "seq": seq, "run_id": run_id, **event}
        )


async def recorded(
    stack: Stack,
    events: Sequence[dict[str, Any]],
    does: str = WAITS,
    modes: Sequence[str] = ("train", "replay"),
    **fields: Any,
) -> RunRecord:
    """A run of a worker that replays, with these events in the store."""
    answer = {"ok": True, "findings": []}
    schema = {"properties": {"label": {"type": "string"}}}
    script_worker(stack, "replays", answer, does, {"parameters": schema}, modes=modes)
    run = await stack.submit(**{**SPEC, "worker": "replays", **fields})
    ended = await stack.wait_end(run.run_id)
    store(stack, run.run_id, events)
    return ended


async def replay(stack: Stack, run_id: str, **asked: Any) -> RunRecord:
    """Ask for a replay."""
    return await stack.ask("replay", ReplayOrder(run_id=run_id, replay=asked))


async def refused(stack: Stack, run_id: str, **asked: Any) -> ProblemError:
    """Why a replay is not possible."""
    with pytest.raises(ProblemError) as caught:
        await replay(stack, run_id, **asked)
    return caught.value


def lines(stack: Stack, run_id: str) -> list[dict[str, Any]]:
    """What the run's worker was given, parsed strictly."""
    text = stack.worker_file(run_id, REPLAY_FILE).read_text()

    def refuse(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_replay_is_given_the_record_of_its_episode(stack: Stack) -> None:
    """The run's worker gets the verb `replay`, the spec of the run, and the events of the one episode."""
    stack.recorder.episode_limit = 2  # several pages
    run = await recorded(stack, episodes(3), seed=7, parameters={"label": "mine"})
    made = await replay(stack, run.run_id, episode=1, env=1)
    await stack.wait_state(made.run_id, RunState.STARTING)
    await until(lambda: _is_there(stack, made.run_id))
    source = ReplaySource(run_id=run.run_id, attempt=1, env=1, episode=1)
    spec = made.spec
    assert (spec.kind, spec.parent, spec.replay) == (RunKind.REPLAY, run.run_id, source)
    assert (spec.worker, spec.algorithm, spec.environment) == ("replays", "a", "E-v0")
    assert (spec.seed, spec.parameters) == (7, {"label": "mine"})
    assert (spec.record, spec.wall_time_s) == (RecordLevel.METRICS, REPLAY_WALL_TIME_S)
    assert spec.memory_mb is not None
    assert (spec.cpus, spec.gpus) == (1, 0)
    assert stack.worker_file(made.run_id, "verb").read_text() == "replay"
    given = json.loads(stack.worker_file(made.run_id, "spec.json").read_text())["spec"]
    assert given["replay"] == source.model_dump()
    config, reset, *steps = lines(stack, made.run_id)
    assert (config["type"], config["data"]) == ("config", {"environment": "E-v0"})
    assert (reset["type"], reset["episode"], reset["env"]) == ("episode_start", 1, 1)
    assert [(one["step"], one["episode"], one["env"]) for one in steps] == [
        (n, 1, 1) for n in (1, 2, 3)
    ]
    assert (steps[0]["reward"], steps[0]["action"]) == ("NaN", ["Infinity"])
    assert stack.worker_file(made.run_id, REPLAY_FILE).stat().st_mode & 0o777 == 0o444
    await stack.stop(made.run_id)
    assert (await stack.wait_end(made.run_id)).state is RunState.CANCELLED


async def _is_there(stack: Stack, run_id: str) -> bool:
    return stack.worker_file(run_id, "verb").exists()


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_several_episodes_are_rebuilt_by_one_replay(stack: Stack) -> None:
    """It records observations, and is given all of them; requests that contradict themselves are refused."""
    stack.recorder.episode_limit = 3
    run = await recorded(stack, episodes(5), does=ENDS)
    asked = {"episode": 3, "from_episode": 1, "draws": False, "observations": True}
    made = await replay(stack, run.run_id, **asked)
    assert made.spec.record is RecordLevel.FULL
    assert made.name.startswith("Episodes 1 to 3 of ")
    await stack.wait_end(made.run_id)
    events = lines(stack, made.run_id)[1:]
    assert [(event["episode"], event.get("step", 0)) for event in events] == [
        (episode, number) for episode in (1, 2, 3) for number in range(4)
    ]
    for wrong in ({**asked, "draws": True}, {**asked, "from_episode": 4}):
        problem = (await refused(stack, run.run_id, **wrong)).problem
        assert problem.code is ProblemCode.REQUEST_INVALID


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_chain_is_given_with_all_episodes_before_it(stack: Stack) -> None:
    """A reset that needs them: all of its sub-environment, in order, and none of another one."""
    stack.recorder.episode_limit = 5
    run = await recorded(stack, episodes(4, way="chain"), does=ENDS)
    made = await replay(stack, run.run_id, episode=2)
    await stack.wait_end(made.run_id)
    events = lines(stack, made.run_id)[1:]
    assert {event["env"] for event in events} == {0}
    assert [(event["episode"], event.get("step", 0)) for event in events] == [
        (episode, number) for episode in range(3) for number in range(4)
    ]


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_chain_with_a_missing_episode_is_refused_in_words(stack: Stack) -> None:
    """What cannot be rebuilt does not start, and its end says what is missing and why that is needed."""
    events = [event for event in episodes(4, way="chain") if event["episode"] != 1]
    run = await recorded(stack, events)
    made = await replay(stack, run.run_id, episode=2)
    ended = await stack.wait_end(made.run_id)
    assert ended.state is RunState.FAILED
    assert ended.attempt == 1
    assert ended.end is not None
    assert "Episode 1 of environment 0 is not in the store." in ended.end.message
    assert "rebuilt after all episodes before it" in ended.end.message
    assert not stack.worker_file(made.run_id, REPLAY_FILE).exists()


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_one_replay_serves_all_who_ask_for_its_episode(stack: Stack) -> None:
    """One that draws answers both kinds of request; one that does not is of no use to whom wants frames."""
    run = await recorded(stack, episodes(2))
    order = ReplayOrder(run_id=run.run_id, replay={"episode": 0}, idempotency_key="first")
    first = await stack.ask("replay", order)
    for asked in ({}, {"draws": False}, {"attempt": 1}):
        assert (await replay(stack, run.run_id, episode=0, **asked)).run_id == first.run_id
    assert (await stack.ask("replay", order)).run_id == first.run_id
    quiet = await replay(stack, run.run_id, episode=1, draws=False)
    assert quiet.run_id != first.run_id
    drawn = await replay(stack, run.run_id, episode=1)
    assert drawn.run_id != quiet.run_id
    for each in (first, quiet, drawn):
        await stack.stop(each.run_id)
        await stack.wait_end(each.run_id)
    assert (await replay(stack, run.run_id, episode=0)).run_id != first.run_id
    assert (await stack.ask("replay", order)).run_id == first.run_id


class _Stored:
    """Episodes of two attempts: the first has three of them, the second one."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def first_page(self, source: ReplaySource) -> EpisodeEvents:
        """As `RecordedEpisodes`."""
        self.asked.append(source.attempt)
        if source.episode >= {1: 3, 2: 1}.get(source.attempt, 0):
            raise ProblemError(Problem(code=ProblemCode.EPISODE_UNKNOWN, title="no such episode"))
        return EpisodeEvents(events=[start(source.episode)])


@pytest.mark.parametrize(
    ("asked", "attempts"),
    [
        ({"episode": 0}, [3, 2]),
        ({"episode": 2}, [3, 2, 1]),
        ({"episode": 0, "attempt": 1}, [1]),
    ],
)
async def test_the_newest_attempt_that_has_the_episode_is_taken(
    asked: dict[str, int], attempts: list[int]
) -> None:
    """Without a word on the attempt; a named one is that one, and nothing else."""
    stored: Any = _Stored()
    record = make_record(attempt=3)
    found = await find_episode(stored, record, ReplayRequest.model_validate(asked))
    assert (found.source.attempt, stored.asked) == (attempts[-1], attempts)
    with pytest.raises(ProblemError) as caught:
        await find_episode(stored, record, ReplayRequest(episode=1, attempt=2))
    assert "episode 1 of environment 0 in attempt 2" in caught.value.problem.detail


class _Thinned:
    """An episode whose steps, or those of episodes before it, were removed."""

    def __init__(self, **extent: Any) -> None:
        self._extent = extent

    async def first_page(self, source: ReplaySource) -> EpisodeEvents:
        """As `RecordedEpisodes`."""
        first = start(source.episode) | {"reset": self._extent.pop("reset")}
        return EpisodeEvents(events=[first], thinned_by="storage profile small", **self._extent)


@pytest.mark.parametrize(
    ("extent", "words"),
    [
        ({"reset": {"way": "seed"}, "thinned_steps": 9}, "steps of episode 2 were thinned by"),
        ({"reset": {"way": "chain"}, "is_earlier_thinned": True}, "after all episodes before it"),
    ],
)
async def test_a_thinned_episode_is_refused_with_the_rule(
    extent: dict[str, Any], words: str
) -> None:
    """The detail names what removed the steps, and where the user sees which episodes have theirs."""
    stored: Any = _Thinned(**extent)
    with pytest.raises(ProblemError) as caught:
        await find_episode(stored, make_record(), ReplayRequest(episode=2))
    assert caught.value.problem.code is ProblemCode.REPLAY_IMPOSSIBLE
    for expected in (
        words,
        "thinned by storage profile small",
        "./mosaic episodes",
        "./mosaic pin",
    ):
        assert expected in caught.value.problem.detail


async def test_episodes_before_it_do_not_matter_to_a_reset_of_its_own() -> None:
    """Only a reset by chain needs them."""
    stored: Any = _Thinned(reset={"way": "seed"}, is_earlier_thinned=True)
    assert (await find_episode(stored, make_record(), ReplayRequest(episode=2))).source.episode == 2


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_what_cannot_be_replayed_is_said_in_words(stack: Stack) -> None:
    """Unknown run and episode, no recorded steps, no reset, a worker that cannot or is gone."""
    run = await recorded(stack, [*episodes(1), step(4, 7)], replay_every=3)
    few = await recorded(stack, [], parameters={"label": "few"})
    stack.recorder.events[run.run_id].append(
        {"source": "worker", "attempt": 1, "seq": 5000, "type": "episode", "env": 0, "episode": 2}
    )
    for run_id, asked, code, words in (
        ("7ZZZZZZZZZZZZZZZZZZZZZZZZZ", {"episode": 0}, ProblemCode.RUN_UNKNOWN, ""),
        (run.run_id, {"episode": 99}, ProblemCode.EPISODE_UNKNOWN, "no stored episode 99"),
        (run.run_id, {"episode": 2}, ProblemCode.REPLAY_IMPOSSIBLE, "is episode 0"),
        (run.run_id, {"episode": 4}, ProblemCode.REPLAY_IMPOSSIBLE, "one of 3 episodes"),
        (run.run_id, {"episode": True}, ProblemCode.REQUEST_INVALID, "episode"),
        (few.run_id, {"episode": 0}, ProblemCode.EPISODE_UNKNOWN, "./mosaic episodes"),
    ):
        problem = (await refused(stack, run_id, **asked)).problem
        assert problem.code is code
        assert words in problem.detail
    metrics = await stack.submit(record="metrics", parameters={"events": 5})
    problem = (await refused(stack, metrics.run_id, episode=0)).problem
    assert problem.code is ProblemCode.REPLAY_IMPOSSIBLE
    assert "--record replay" in problem.detail
    (stack.home / "workers.d" / "replays.toml").unlink()
    problem = (await refused(stack, run.run_id, episode=0)).problem
    assert problem.code is ProblemCode.WORKER_UNKNOWN


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_worker_without_the_verb_cannot_replay(stack: Stack) -> None:
    """It is asked before anything starts."""
    run = await recorded(stack, episodes(1), modes=["train"])
    problem = (await refused(stack, run.run_id, episode=0)).problem
    assert problem.code is ProblemCode.REPLAY_IMPOSSIBLE
    assert problem.title == "The worker replays cannot replay"


@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_replay_is_not_submitted_as_a_spec(stack: Stack) -> None:
    """Neither by hand nor as a copy of another replay: a spec alone has no record."""
    source = {"run_id": SOURCE.run_id, "attempt": 1, "env": 0, "episode": 0}
    for fields, where in (({"kind": "replay"}, "kind"), ({"replay": source}, "replay")):
        with pytest.raises(ProblemError) as caught:
            await stack.submit(**fields)
        assert caught.value.problem.fields[0]["where"] == where
        assert "./mosaic replay RUN --episode N" in caught.value.problem.detail
    run = await recorded(stack, episodes(1), does=ENDS)
    made = await replay(stack, run.run_id, episode=0)
    await stack.wait_end(made.run_id)
    with pytest.raises(ProblemError) as caught:
        await stack.ask("retry", RunRequest(run_id=made.run_id))
    assert caught.value.problem.fields[0]["where"] == "kind"


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_replays_wait_for_one_another_and_not_for_trainings(stack: Stack) -> None:
    """All cores are taken: some replays start, the next waits with its reason, and none is in the queue."""
    run = await recorded(stack, episodes(MAX_REPLAYS + 1))
    training = await stack.submit(cpus=2, parameters={"rate": 200.0, "events": 1_000_000})
    await stack.wait_state(training.run_id, RunState.RUNNING)
    behind = await stack.submit(parameters={"events": 5})
    made = [await replay(stack, run.run_id, episode=n) for n in range(MAX_REPLAYS + 1)]
    for each in made[:-1]:
        await stack.wait(each.run_id, lambda r: r.state.has_process)
    waiting = await stack.wait(
        made[-1].run_id, lambda r: "other replays" in (r.waiting_reason or "")
    )
    assert (waiting.state, waiting.position) == (RunState.QUEUED, None)
    queue = await stack.bus.request("scheduler", "queue", None, RunRecords)
    assert [(one.run_id, one.position) for one in queue.runs] == [(behind.run_id, 1)]
    status = await stack.status()
    assert (status.cpu_in_use, status.queued) == (2, 1)
    await stack.stop(made[0].run_id)
    await stack.wait(made[-1].run_id, lambda r: r.state.has_process)
    await stack.stop(training.run_id)


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.own_stack
async def test_a_replay_waits_for_the_recorder(stack: Stack) -> None:
    """While it is away the run waits and says so; other runs start meanwhile, and it starts when it is back."""
    run = await recorded(stack, episodes(2), does=ENDS)
    asked = ReplayOrder(run_id=run.run_id, replay={"episode": 1})
    stack.recorder.fails = True
    with pytest.raises(ProblemError) as caught:
        await stack.ask("replay", asked)
    assert caught.value.problem.code is ProblemCode.STORE_UNAVAILABLE
    stack.recorder.fails = False
    stack.recorder.fails_config = True
    made = await stack.ask("replay", asked)
    waiting = await stack.wait(made.run_id, lambda r: "not now" in (r.waiting_reason or ""))
    assert waiting.state is RunState.QUEUED
    other = await stack.submit(parameters={"events": 5})
    await stack.wait_end(other.run_id)
    stack.recorder.fails_config = False
    await stack.wait_end(made.run_id)
    assert stack.worker_file(made.run_id, "verb").read_text() == "replay"


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.pace({"reconcile.purge.DERIVED_KEPT_S": 0, "reconcile.purge.IDLE_S": 0.2})
async def test_an_ended_replay_goes_by_itself(stack: Stack) -> None:
    """It is derived from another run, which stays."""
    run = await recorded(stack, episodes(1), does=ENDS)
    made = await replay(stack, run.run_id, episode=0)
    request = ListRequest(brief=True)

    async def is_gone() -> bool:
        found = await stack.bus.request("scheduler", "list", request, RunIds)
        return made.run_id not in found.run_ids

    await until(is_gone)
    assert not stack.worker_file(made.run_id, "").exists()
    assert (await stack.get(run.run_id)).deleted_at is None


def usable(
    first: int, events: Sequence[dict[str, Any]], *, is_chain: bool = True
) -> list[tuple[int, int]]:
    """Episode and step of what a replay of SOURCE takes."""
    checked = EpisodeFilter(SOURCE, first, is_chain=is_chain)
    found = [(event["episode"], event.get("step", 0)) for event in checked.usable(events)]
    checked.finish()
    return found


def test_an_episode_is_rebuilt_up_to_its_first_gap() -> None:
    """Steps that a full outbox left out cannot be made up: what comes behind them is not taken."""
    events = [start(2), step(2, 1), step(2, 2), step(2, 4), step(2, 5)]
    assert usable(2, events) == [(2, 0), (2, 1), (2, 2)]


def test_several_episodes_are_each_rebuilt_as_far_as_they_are_stored() -> None:
    """Where no reset needs an earlier one: a gap ends its own episode, and a missing episode is left out."""
    events = [start(0), step(0, 1), step(0, 3), step(0, 4), start(2), step(2, 1)]
    assert usable(0, events, is_chain=False) == [(0, 0), (0, 1), (2, 0), (2, 1)]


def test_thinned_episodes_among_several_are_left_out() -> None:
    """A reset without a step would be an episode that is equal in nothing."""
    events = [start(0), step(0, 1), start(1), start(2), step(2, 1)]
    assert usable(0, events, is_chain=False) == [(0, 0), (0, 1), (2, 0), (2, 1)]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([], "Episode 2 of environment 0 is not in the store."),
        ([start(0), start(2)], "Episode 1 of environment 0 is not"),
        ([start(0), start(1)], "Episode 2 of environment 0 is not"),
        ([start(0), step(0, 1), step(0, 3), start(1), start(2)], "Step 2 of episode 0"),
        ([start(1), start(2)], "Episode 0 of environment 0 is not"),
    ],
)
def test_what_a_chain_lacks_is_named(events: list[dict[str, Any]], words: str) -> None:
    """An episode, or a step of one."""
    with pytest.raises(RecordUnusable, match=words):
        usable(0 if events else 2, events)


def test_a_chain_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps than anybody would wait for are refused, with what to do."""
    monkeypatch.setattr(episode_record, "MAX_CHAIN_STEPS", 5)
    events = [event for event in episodes(3) if event["env"] == 0]
    with pytest.raises(RecordUnusable, match=r"more than 5 recorded steps.* earlier episode"):
        usable(0, events)


def test_replays_start_in_their_order() -> None:
    """As many as there is room for; one whose record is not there yet keeps its turn, one that is held has none."""
    waiting = [QueueEntry("held", 1, held=True), *(QueueEntry(name, 1) for name in "abc")]
    unready = {"a": "reads", "c": "reads"}
    places = places_outside_queue(RunKind.REPLAY, waiting, MAX_REPLAYS - 2, unready)
    assert [(place.run_id, place.starts, place.reason) for place in places] == [
        ("held", False, HELD),
        ("a", False, "reads"),
        ("b", True, None),
        ("c", False, f"behind other replays, of which {MAX_REPLAYS} run at once"),
    ]
    full = places_outside_queue(RunKind.REPLAY, waiting, MAX_REPLAYS, {})
    assert not any(place.starts for place in full)


@pytest.mark.parametrize(
    ("fields", "outside"),
    [
        ({"kind": "play"}, True),
        ({"kind": "play", "cpus": 2}, True),
        ({"kind": "play", "gpus": 1}, False),
        ({"kind": "evaluate"}, False),
        ({"kind": "train"}, False),
    ],
)
def test_who_waits_for_no_core(fields: dict[str, Any], outside: bool) -> None:
    """A play without GPUs; an evaluation computes, and takes its turn."""
    spec = RunSpec.model_validate({**SPEC, "worker": "replays", **fields})
    assert is_outside_queue(spec) is outside


PLAYS = {"play": True, "human": True, "branches": True}
"""A worker whose plays by a person begin at recorded steps."""


def playing_worker(stack: Stack, does: str) -> dict[str, Any]:
    """Such a worker; fields of its plays."""
    schema = {"properties": {"label": {"type": "string"}}}
    answer = {"ok": True, "findings": []}
    algorithm = {"parameters": schema, **PLAYS}
    script_worker(stack, "replays", answer, does, algorithm, modes=("train", "play", "replay"))
    return {**SPEC, "worker": "replays", "kind": "play"}


async def cores_line(stack: Stack, spec: dict[str, Any]) -> PreflightLine:
    """What a preflight says of cores."""
    request = SubmitRequest(spec=spec)
    report = await stack.bus.request("scheduler", "preflight", request, PreflightReport, 20)
    (found,) = [each for each in report.lines if each.id == "cpus"]
    return found


async def plays(stack: Stack, events: Sequence[dict[str, Any]], **fields: Any) -> RunRecord:
    """A run of such a worker, with these events in the store."""
    run = await stack.submit(**{**playing_worker(stack, ENDS), **fields})
    ended = await stack.wait_end(run.run_id)
    store(stack, run.run_id, events)
    return ended


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_plays_wait_for_one_another_and_not_for_trainings(stack: Stack) -> None:
    """All cores are taken: plays start at once, up to their number, the next one says why it waits and what to do,
    also before it is asked for; one that is held does not start. The queue goes on as without them."""
    fields = playing_worker(stack, WAITS.replace("replay", "play"))
    training = await stack.submit(cpus=2, parameters={"rate": 200.0, "events": 1_000_000})
    await stack.wait_state(training.run_id, RunState.RUNNING)
    behind = await stack.submit(parameters={"events": 5})
    held = await stack.submit(**fields, hold=True)
    assert (await cores_line(stack, fields)).level == "ok"
    made = [await stack.submit(**fields) for _ in range(MAX_PLAYS + 1)]
    for each in made[:-1]:
        await stack.wait(each.run_id, lambda r: r.state.has_process)
    waiting = await stack.wait(made[-1].run_id, lambda r: "other plays" in (r.waiting_reason or ""))
    assert "`./mosaic ps --kind play`" in str(waiting.waiting_reason)
    found = await cores_line(stack, fields)
    assert (found.level, found.todo) == (
        "warning",
        "Wait, or stop one of them (`./mosaic ps --kind play`).",
    )
    assert (await stack.get(held.run_id)).state is RunState.QUEUED
    assert (await stack.get(behind.run_id)).position == 1
    status = await stack.status()
    assert (status.cpu_in_use, status.queued) == (2, 1)
    await stack.stop(made[0].run_id)
    await stack.wait(made[-1].run_id, lambda r: r.state.has_process)
    await stack.stop(training.run_id)


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_branch_is_given_the_record_of_its_episode(stack: Stack) -> None:
    """It is queued like a run of any kind, gets the verb `play`, and its stored spec names attempt and parent."""
    run = await plays(stack, episodes(3))
    start_from = {"run_id": run.run_id, "episode": 1, "step": 2}
    made = await stack.submit(**SPEC, worker="replays", kind="play", start_from=start_from)
    assert made.spec.start_from is not None
    assert (made.spec.start_from.attempt, made.spec.parent) == (1, run.run_id)
    await stack.wait_end(made.run_id)
    assert stack.worker_file(made.run_id, "verb").read_text() == "play"
    config, reset, *steps = lines(stack, made.run_id)
    assert (config["type"], reset["episode"], len(steps)) == ("config", 1, 3)


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_branch_that_cannot_begin_is_refused_in_words(stack: Stack) -> None:
    """Another kind or environment, an unknown run or episode, a step after the end or beyond the record."""
    run = await plays(stack, episodes(2))
    point = {"run_id": run.run_id, "episode": 1, "step": 2}
    unknown = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"
    stack.recorder.extent = (3, 3)
    for fields, start_from, words in (
        ({"kind": "train"}, {}, "start_from: is for runs of kind play"),
        ({"environment": "F-v0"}, {}, "recorded in E-v0"),
        ({}, {"actor": "policy"}, "has no policy"),
        ({}, {"run_id": unknown}, unknown),
        ({}, {"episode": 9}, "no stored episode 9"),
        ({}, {"step": 3}, "has ended at step 3: nothing goes on after it"),
        ({}, {"step": -1}, "start_from.step"),
    ):  # fmt: skip
        spec = {**SPEC, "worker": "replays", "kind": "play", **fields}
        with pytest.raises(ProblemError) as caught:
            await stack.submit(**spec, start_from={**point, **start_from})
        assert words in caught.value.problem.detail, (fields, start_from)
    stack.recorder.extent = (1, None)
    with pytest.raises(ProblemError, match="has 1 recorded steps"):
        await stack.submit(**SPEC, worker="replays", kind="play", start_from=point)


@pytest.mark.nightly
@pytest.mark.broker
@pytest.mark.shared_stack
async def test_a_fork_asks_the_worker_that_takes_inputs(stack: Stack) -> None:
    """A person goes on in the run's own world; a policy needs a checkpoint, which such a run does not have."""
    run = await plays(stack, episodes(2), seed=7, parameters={"label": "mine"})
    order = ForkOrder(run_id=run.run_id, fork={"episode": 1, "step": 2, "actor": "human"})
    made = await stack.ask("fork", order)
    assert (made.spec.worker, made.spec.kind, made.spec.parent) == ("replays", "play", run.run_id)
    assert (made.spec.seed, made.spec.parameters) == (7, {"label": "mine"})
    assert made.spec.start_from is not None
    assert (made.spec.start_from.step, made.spec.start_from.actor) == (2, "human")
    asked = {"episode": 1, "step": 2, "actor": "policy"}
    with pytest.raises(ProblemError, match="Name a checkpoint"):
        await stack.ask("fork", ForkOrder(run_id=run.run_id, fork=asked))
