"""What a person types for parameters, durations and runs."""

import httpx
import pytest
from tests.gateway_double import RUN

from mosaic_cli.errors import RunNotFound, ValueRefused
from mosaic_cli.reference import (
    did_you_mean,
    find_run,
    parse_duration,
    parse_parameter,
    parse_parameters,
)
from mosaic_client import Location
from mosaic_client.stack_connection import StackConnection

IDS = [
    "01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "01ARZ3NDEKTSV4RRFFQ69G5FAT",
    "01ARA3NDEKTSV4RRFFQ69G5FAV",
]


PUT_AWAY = "01AQZ3NDEKTSV4RRFFQ69G5FAV"
TRIAL = "01BRZ3NDEKTSV4RRFFQ69G5FAV"
NAMES = ["CartPole", "run-one", "run-two"]


def find(text: str, ids: list[str] = IDS, names: list[str] = NAMES) -> str:
    """The id of what is found among three runs, newest first, and a still newer one of a sweep's trial."""
    runs = [
        RUN | {"run_id": run_id, "name": name} for run_id, name in zip(ids, names, strict=False)
    ]
    gone = RUN | {"run_id": PUT_AWAY, "name": "gone"}

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/v1/runs":
            asked = request.url.params
            trials = [RUN | {"run_id": TRIAL, "name": "trial"}] if runs else []
            listed = runs if asked.get("trials") == "false" else [*trials, *runs]
            return httpx.Response(200, json={"runs": [gone] if asked.get("deleted") else listed})
        return httpx.Response(200, json=RUN | {"run_id": request.url.path.rpartition("/")[2]})

    transport = httpx.MockTransport(answer)
    with StackConnection(Location("http://127.0.0.1:9", "x"), transport=transport) as stack:
        return find_run(stack, text).run_id


@pytest.mark.parametrize(
    ("text", "run_id"),
    [
        ("last", IDS[0]),
        ("LAST", IDS[0]),
        ("01brz", TRIAL),
        (IDS[1].lower(), IDS[1]),
        ("01ara", IDS[2]),
        (IDS[0][:-1] + "V", IDS[0]),
        ("01aqz", PUT_AWAY),
    ],
)
def test_a_run_is_found(text: str, run_id: str) -> None:
    """By id in either case, by an unambiguous beginning, and as `last`, which is no trial of a sweep."""
    assert find(text) == run_id


def test_an_ambiguous_beginning_names_the_candidates() -> None:
    """The person sees which runs they may have meant, and nothing is chosen for them."""
    with pytest.raises(ValueRefused, match=rf"2 runs .*{IDS[0]}, {IDS[1]}"):
        find("01ARZ")


@pytest.mark.parametrize("text", ["01C", "7"])
def test_an_unknown_beginning_is_unknown(text: str) -> None:
    """A beginning that no run has is said to be that, with where to look."""
    with pytest.raises(RunNotFound, match="mosaic ps"):
        find(text)


def test_the_last_of_no_runs_says_how_to_begin() -> None:
    """An empty stack is no error of the person's, so the message helps."""
    with pytest.raises(RunNotFound, match=r"\./mosaic demo"):
        find("last", [])


def test_a_text_that_is_no_id_is_refused() -> None:
    """What is neither an id nor a name is unknown, as an id that no run has, and the nearest names are listed."""
    with pytest.raises(RunNotFound, match=rf"no run 'run-ten'(.|\n)*  {IDS[1]}  run-one"):
        find("run-ten")


def test_a_run_is_found_by_its_whole_name() -> None:
    """A display name is as good as an id where one run has it; where several have it, their ids are listed."""
    assert find("run-two") == IDS[2]
    with pytest.raises(ValueRefused, match=rf"2 runs have this name: {IDS[0]}, {IDS[2]}"):
        find("run-two", [IDS[0], IDS[1], IDS[2]], ["run-two", "run-one", "run-two"])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=0.5", 0.5),
        ("a=1e-3", 0.001),
        ("a=true", True),
        ("a=null", None),
        ('a="1"', "1"),
        ("a=relu", "relu"),
        ("a=", ""),
        ("a=b=c", "b=c"),
        ("a=NaN", "NaN"),
        ("a=True", "True"),
        ('a={"b": 1}', '{"b": 1}'),
    ],
)
def test_a_value_is_a_json_scalar_or_text(text: str, value: object) -> None:
    """Numbers and the JSON words have their type; everything else is the text as typed."""
    assert parse_parameter(text) == ("a", value)
    assert type(parse_parameter(text)[1]) is type(value)


@pytest.mark.parametrize("text", ["gamma", "=1", "a=[1]"])
def test_what_is_no_parameter_is_refused(text: str) -> None:
    """No key, no value, or more than one value."""
    with pytest.raises(ValueRefused):
        parse_parameter(text)


def test_a_key_may_stand_once() -> None:
    """Twice the same key is an oversight, and the later one does not silently win."""
    with pytest.raises(ValueRefused, match="gamma is given twice"):
        parse_parameters(["gamma=1", "gamma=2"])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45", 45),
        ("45s", 45),
        ("30m", 1800),
        ("1h30m", 5400),
        ("2d", 172800),
        ("1.5s", 1.5),
        ("5 min", 300),
    ],
)
def test_a_duration_is_read(text: str, seconds: float) -> None:
    """Units may be combined, largest first; a bare number is seconds."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "0", "m", "-5", "30m1h"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ValueRefused):
        parse_duration(text)


def test_the_nearest_name_is_named() -> None:
    """A slip of the fingers is answered with what was probably meant, and nothing with nothing."""
    assert (
        did_you_mean("charts/sps", ["losses/entropy", "charts/SPS"]) == "Did you mean charts/SPS?"
    )
    assert did_you_mean("xyz", ["ppo"]) == ""
