"""Strict on what a person sends, lenient on what a peer or the disk sends."""

import json
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from mosaic_contracts.changes import QueuePatch, RunPatch
from mosaic_contracts.events import ExtraEvent, StepEvent, event_adapter
from mosaic_contracts.fault import fault_text
from mosaic_contracts.launch import ExitReport, RunnerInfo
from mosaic_contracts.live import ClientFrame, Subscribe
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.services import Heartbeat
from mosaic_contracts.spec import RecordLevel, RunSpec
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.worker import WorkerManifest

RUN = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
SPEC: dict[str, Any] = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"sed": 1},
        {"seed": -1},
        {"seed": 2**32},
        {"steps": 0},
        {"outbox_bytes": 1024},
        {"grace_s": -1},
        {"wall_time_s": float("inf")},
        {"worker": "Clean RL"},
        {"record": "everything"},
        {"when_outbox_full": "drop"},
        {"parent": "../x"},
        {"cpus": 0},
    ],
)
def test_spec_refuses(wrong: dict[str, Any]) -> None:
    """An unknown field or a value out of range is an error that names the field."""
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(SPEC | wrong)
    assert refused.value.errors()[0]["loc"][0] == next(iter(wrong))


@pytest.mark.parametrize("model", [RunSpec, QueuePatch])
def test_a_truth_value_is_no_number(model: type[UserModel]) -> None:
    """Every field of a number refuses true and false, which Python takes as 1 and 0."""
    fields = model.model_json_schema()["properties"]
    kinds = {
        name: {part.get("type") for part in (schema, *schema.get("anyOf", ()))}
        for name, schema in fields.items()
    }
    numbers = [name for name, found in kinds.items() if found & {"integer", "number"}]
    assert numbers
    for name in numbers:
        for value in (True, False):
            with pytest.raises(ValidationError) as refused:
                model.model_validate(({} if model is QueuePatch else SPEC) | {name: value})
            (fault,) = refused.value.errors()
            assert (fault["loc"], fault_text(fault)) == ((name,), "must be a number")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_parameter_that_is_no_finite_number_is_refused(value: float) -> None:
    """JSON would carry NaN as the text "NaN", and a parameter that takes texts would take it."""
    with pytest.raises(ValidationError) as refused:
        RunSpec.model_validate(SPEC | {"parameters": {"script": value}})
    (fault,) = refused.value.errors()
    assert fault["loc"] == ("parameters", "script")
    assert "finite number" in fault_text(fault)


NUL: list[tuple[str, Any]] = [
    ("parameters", {"mode": "a\0b"}),
    ("environment", "CartPole-v1\0"),
    *((field, "a\0b") for field in ("algorithm", "name", "note", "consent")),
    ("tags", ["a\0b"]),
    ("secrets", ["A\0B"]),
]


@pytest.mark.parametrize(("field", "value"), NUL)
def test_a_nul_character_is_refused(field: str, value: Any) -> None:
    """No command line can hold one: it is refused before the run starts, in a patch too, and named with its field."""
    for model, rest in ((RunSpec, SPEC), (RunPatch, {})):
        if field not in model.model_fields:
            continue
        with pytest.raises(ValidationError) as refused:
            model.model_validate(rest | {field: value})
        (fault,) = refused.value.errors()
        assert fault["loc"][0] == field
        assert "NUL" in fault_text(fault) or "pattern" in fault_text(fault)


def test_a_spec_of_an_older_version_may_have_nul_characters() -> None:
    """A run that failed for one is still shown."""
    kept = {"parameters": {"mode": "a\0b"}, "environment": "a\0b", "note": "a\0b", "name": "\0"}
    stored = StoredSpec.model_validate(SPEC | kept)
    assert {field: getattr(stored, field) for field in kept} == kept


def test_spec_read_back() -> None:
    """A stored spec with a field of a newer version is read, and the field is kept."""
    stored = StoredSpec.model_validate(SPEC | {"from_the_future": 1})
    assert json.loads(stored.model_dump_json())["from_the_future"] == 1
    with pytest.raises(ValidationError):
        RunSpec.model_validate(SPEC | {"from_the_future": 1})


def test_parameters_keep_their_type() -> None:
    """Booleans, whole numbers, fractions and texts of parameters stay what they were."""
    given = {"a": True, "b": 1, "c": 1.0, "d": "1", "e": None}
    spec = RunSpec.model_validate(SPEC | {"parameters": given})
    back = RunSpec.model_validate_json(spec.model_dump_json()).parameters
    assert [(type(v), v) for v in back.values()] == [(type(v), v) for v in given.values()]


PEERS: list[tuple[type[PeerModel], dict[str, Any]]] = [
    (Heartbeat, {"run_id": RUN, "attempt": 1, "progress": {}}),
    (RunnerInfo, {"runner_pid": 1, "started_at": 0.0}),
    (
        ExitReport,
        {"run_id": RUN, "attempt": 1, "phase": "drained", "started_at": 0.0, "ended_at": 1.0},
    ),
]


@pytest.mark.parametrize(("model", "given"), PEERS, ids=lambda part: getattr(part, "__name__", ""))
def test_peers_may_be_newer(model: type[PeerModel], given: dict[str, Any]) -> None:
    """An unknown field of a peer is kept."""
    back = model.model_validate_json(json.dumps(given | {"from_the_future": 1}))
    assert back.model_extra == {"from_the_future": 1}


def test_frames_of_a_client() -> None:
    """A client's frame is read by its op; an unknown op or field is refused."""
    adapter: TypeAdapter[Any] = TypeAdapter(ClientFrame)
    assert isinstance(adapter.validate_python({"op": "subscribe", "run_id": RUN}), Subscribe)
    for wrong in ({"op": "dance"}, {"op": "ping", "x": 1}, {"op": "subscribe", "run_id": "*"}):
        with pytest.raises(ValidationError):
            adapter.validate_python(wrong)


def test_manifest_refuses_unknown_keys() -> None:
    """A typing error in a worker.toml is reported."""
    with pytest.raises(ValidationError):
        WorkerManifest.model_validate({"id": "x", "title": "X", "command": ["x"], "devise": "none"})


def test_unknown_events_are_kept() -> None:
    """A namespaced event passes as an extra; a plain unknown type does not."""
    envelope = {"run_id": RUN, "attempt": 1, "source": "worker", "seq": 1, "t": 0.0}
    event = event_adapter.validate_python({**envelope, "type": "bdi.intention", "data": {"g": 1}})
    assert isinstance(event, ExtraEvent)
    with pytest.raises(ValidationError):
        event_adapter.validate_python({**envelope, "type": "mystery", "data": {}})
    step = {"env": 0, "episode": 0, "step": 1, "action": 1, "reward": 1, "flags": 0, "hash": "ab"}
    event = event_adapter.validate_python({**envelope, "type": "step", **step, "new": 5})
    assert isinstance(event, StepEvent)
    assert event.model_extra == {"new": 5}


@pytest.mark.parametrize(
    ("level", "claims"),
    [
        ("metrics", (False, False, False)),
        ("episodes", (True, False, False)),
        ("replay", (True, True, False)),
        ("full", (True, True, True)),
    ],
)
def test_record_levels(level: str, claims: tuple[bool, bool, bool]) -> None:
    """Each level records what the one below does, and more."""
    kept = RecordLevel(level)
    assert (kept.has_episodes, kept.has_steps, kept.has_observations) == claims
