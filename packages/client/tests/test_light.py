"""The light forms of answers: the same values as the contract's models."""

import math
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest
from pydantic import BaseModel

from mosaic_client import AnswerInvalid, Location, light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts import checkpoints, deletion, groups, manifest, runs, stack
from mosaic_contracts.alerts import RaisedAlert
from mosaic_contracts.branches import BranchPoint
from mosaic_contracts.checkpoint_words import CheckpointMark, CheckpointState
from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.manifest_words import LinkKind
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import EndCause, RunState

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
SPEC = runs.StoredSpec(worker="cleanrl", algorithm="ppo", environment="CartPole-v1")
SHORT = runs.RunView(
    run_id=RUN_ID,
    name="a",
    spec=SPEC,
    state=RunState.QUEUED,
    revision=1,
    created_at=NOW,
    run_dir="r",
)
LONG = SHORT.model_copy(
    update={
        "spec": SPEC.model_copy(
            update={"steps": 9, "parameters": {"a": True, "b": 1, "c": 0.5, "d": "x", "e": None}}
        ),
        "state": RunState.FAILED,
        "started_at": NOW,
        "ended_at": NOW,
        "deleted_at": NOW,
        "end": runs.RunEnd(cause=EndCause.EXIT_CODE, message="m", last_lines=["l"]),
        "progress": runs.Progress(step=5, total=7),
        "summary": runs.RunSummary(run_id=RUN_ID, best_return=math.nan, mean_return=-math.inf),
        "tags": ["t"],
        "held": True,
        "group": runs.GroupPlace(group_id=RUN_ID, name="g", place=3),
        "defaults": {"gamma": 0.9},
        "sps": math.inf,
    }
)
GROUP = groups.GroupView(
    group_id="g",
    kind=GroupKind.GROUP,
    name="n",
    created_at=NOW,
    worker="w",
    algorithm="a",
    environments=["e"],
    total=3,
    counts={RunState.SUCCEEDED: 1, RunState.FAILED: 1, RunState.RUNNING: 1},
    run_ids=["a", "b", "c"],
    best_return=math.inf,
)
ROW = runs.EpisodeRow(
    attempt=1, env=0, episode=3, episode_return=math.inf, length=4, terminated=True
)
BUCKET = runs.CurveBucket(step0=0, step1=1, n=2, min=None, max=1.0, mean=None, last=math.nan, nan=1)
SERVICE = stack.ServiceEntry(name="gateway", state="up", log="logs/gateway.log", pid=7)
CHECKPOINT = checkpoints.CheckpointRow(
    run_id=RUN_ID,
    run_name="a",
    kind="train",
    worker="cleanrl",
    algorithm="ppo",
    environment="CartPole-v1",
    path="p",
    bytes=3,
    mean_return_20=1.5,
    evaluation=checkpoints.CheckpointEvaluation(run_id=RUN_ID, mean=None, episodes=0, t=1.0),
    marks=[CheckpointMark.BEST],
    state=CheckpointState.ALTERED,
)
MANIFEST = manifest.RunManifest(
    run_id=RUN_ID,
    entries=[manifest.ManifestEntry(path="p", kind="video", bytes=3, episode=2)],
    links=[manifest.ManifestLink(kind=LinkKind.STUDY, run_id=RUN_ID, path="study.db")],
    totals=[manifest.KindTotal(kind="video", files=1, bytes=3)],
)
SAMPLES: list[tuple[type[light.Light], BaseModel]] = [
    (light.RunFields, SHORT),
    (light.RunFields, LONG),
    (light.GroupFields, GROUP),
    (light.EpisodeFields, ROW),
    (light.EpisodeFields, runs.EpisodeRow(attempt=1, env=0, episode=3)),
    (light.MetricFields, runs.MetricName(name="n", points=1, last_step=None, last_value=math.nan)),
    (light.CurveFields, runs.Curve(run_id=RUN_ID, name="n", points=2, buckets=[BUCKET])),
    (light.CheckpointFields, CHECKPOINT),
    (light.ManifestFields, MANIFEST),
    (light.ArtifactFields, runs.ArtifactRow(path="p", kind="video", bytes=3)),
    (light.StatusFields, stack.StackStatus(version="1", ready=True, broker=True, scheduler={"live": 1})),
    (
        light.StackFileFields,
        stack.StackFile(
            supervisor_pid=1, gateway_url="g", broker_url="b", started_at=0.5, services=[SERVICE]
        ),
    ),
]  # fmt: skip
PAIRS: list[tuple[type[light.Light], type[BaseModel]]] = [
    *((kind, type(model)) for kind, model in SAMPLES),
    (light.SpecFields, RunSpec),
    (light.StartFields, BranchPoint),
    (light.GroupPlaceFields, runs.GroupPlace),
    (light.DeletionFields, deletion.DeletionReport),
    (light.EndFields, runs.RunEnd),
    (light.RaisedAlertFields, RaisedAlert),
    (light.ProgressFields, runs.Progress),
    (light.SummaryFields, runs.RunSummary),
    (light.BucketFields, runs.CurveBucket),
    (light.EvaluationFields, checkpoints.CheckpointEvaluation),
    (light.ServiceFields, stack.ServiceEntry),
    (light.ManifestEntryFields, manifest.ManifestEntry),
    (light.ManifestLinkFields, manifest.ManifestLink),
    (light.KindTotalFields, manifest.KindTotal),
]


def test_every_light_form_is_compared() -> None:
    """A form that is added has its model here."""
    forms = {
        found
        for found in vars(light).values()
        if isinstance(found, type) and found is not light.Light
    }
    assert {one for one in forms if issubclass(one, light.Light)} == {kind for kind, _ in PAIRS}


@pytest.mark.parametrize(("kind", "model"), PAIRS)
def test_every_field_is_one_of_the_contract(
    kind: type[light.Light], model: type[BaseModel]
) -> None:
    """Fields have the contract's names in Python and in JSON, and are required or have the same default."""
    for field in msgspec.structs.fields(kind):
        same = model.model_fields[field.name]
        assert field.encode_name == (same.alias or field.name)
        if field.required:
            assert same.is_required()
        elif field.default_factory is not msgspec.NODEFAULT:
            assert field.default_factory() == same.get_default(call_default_factory=True)
        else:
            assert field.default == same.get_default()


@pytest.mark.parametrize(("kind", "model"), SAMPLES)
def test_values_are_those_of_the_contract(kind: type[light.Light], model: BaseModel) -> None:
    """What the gateway writes is read with the same values, non-finite numbers, times and states included."""
    raw = model.model_dump_json(by_alias=True).encode()
    found = kind.read(raw)
    assert_equal(found, model)
    assert type(model).model_validate(found.plain()).model_dump_json() == model.model_dump_json()
    if isinstance(model, runs.RunView):
        assert isinstance(found, light.RunFields)
        assert (found.step, found.total_steps) == (model.step, model.total_steps)


def assert_equal(found: Any, model: Any) -> None:
    if isinstance(found, light.Light):
        for field in msgspec.structs.fields(type(found)):
            assert_equal(getattr(found, field.name), getattr(model, field.name))
    elif isinstance(found, list):
        assert len(found) == len(model)
        for one, other in zip(found, model, strict=True):
            assert_equal(one, other)
    elif isinstance(found, float) and math.isnan(found):
        assert math.isnan(model)
    else:
        assert found == model
        assert type(found) is type(model) or model is None


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"runs": 1}', b'{"runs": [{"run_id": 5}]}'])
def test_an_answer_of_something_else_is_named_as_such(body: bytes) -> None:
    """Types are checked where the answer enters, and the error says what to do."""
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    connection = StackConnection(Location("http://127.0.0.1:9", "x"), transport=transport)
    with connection, pytest.raises(AnswerInvalid, match="mosaic doctor"):
        list(reading.each_run(connection))


def test_pages_are_read_to_the_end() -> None:
    """Runs and episodes follow the cursor, and no more is asked for than is wanted."""
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url.query, "ascii"))
        rows = [{"attempt": 1, "env": 0, "episode": n} for n in range(3)]
        return httpx.Response(200, json={"episodes": rows, "next_cursor": "more"})

    transport = httpx.MockTransport(answer)
    with StackConnection(Location("http://127.0.0.1:9", "x"), transport=transport) as connection:
        assert len(list(reading.episodes(connection, RUN_ID, "newest", 5))) == 5
    assert asked == ["limit=5&order=newest", "cursor=more&limit=2&order=newest"]
