"""A spec from a file, from the command line, and from both."""

import io
import os
from pathlib import Path

import pytest
from tests.gateway_double import RUN, Answers, Mosaic

SPEC = """
worker: cleanrl
algorithm: ppo
environment: CartPole-v1   # the pole
seed: 3
parameters:
  learning_rate: 1e-3
  anneal_lr: true
  gae_lambda: 0.9
tags: [a, b]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A spec as a person writes one."""
    path = tmp_path / "a spec.yaml"
    path.write_text(SPEC)
    return path


def test_a_file_is_a_spec_and_the_command_line_wins(
    mosaic: Mosaic, answers: Answers, file: Path
) -> None:
    """Fields are replaced, parameters merged name by name, and what nobody gave is not sent."""
    answers["/api/v1/runs"] = RUN
    given = ["--seed", "4", "-p", "gae_lambda=0.5", "-p", "gamma=0.9", "--wall-time", "1m", "-d"]
    assert mosaic("run", "-f", str(file), *given)[0] == 0
    assert answers.last("POST").body == {
        "worker": "cleanrl",
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "seed": 4,
        "parameters": {"learning_rate": 0.001, "anneal_lr": True, "gae_lambda": 0.5, "gamma": 0.9},
        "tags": ["a", "b"],
        "wall_time_s": 60.0,
    }
    mosaic("run", "cleanrl", "dqn", "-f", str(file), "-d")
    assert answers.last("POST").body["algorithm"] == "dqn"


def test_the_spec_of_a_run_is_a_file(
    mosaic: Mosaic, answers: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JSON is YAML, and `-` is stdin: what `show --json` gives starts the same again."""
    answers["/api/v1/runs"] = RUN
    monkeypatch.setattr(
        "sys.stdin", io.StringIO('{"worker": "w", "algorithm": "a", "environment": "e"}')
    )
    assert mosaic("run", "-f", "-", "-d")[0] == 0
    assert answers.last("POST").body == {"worker": "w", "algorithm": "a", "environment": "e"}


CLEANRL = {
    "manifest": {"id": "cleanrl", "title": "CleanRL", "command": ["x"]},
    "ready": True,
    "description": {
        "worker": "cleanrl",
        "version": "1",
        "title": "CleanRL",
        "record_levels": ["metrics"],
        "algorithms": [
            {"id": "ppo", "title": "PPO", "parameters": {}, "default_environment": "CartPole-v1"},
            {"id": "own", "title": "Own", "parameters": {}},
        ],
        "environments": [],
    },
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("worker: cleanrl\n", "names no algorithm"),
        ("worker: cleanrl\nalgoritm: ppo\n", "Did you mean algorithm or"),
        (SPEC + "prioritys: 5\n", "prioritys: there is no such field. Did you mean priority?"),
        (SPEC + "steps: 0\n", "steps: "),
        (SPEC + "seed: 5\n", "line 11"),
        ("a: [1", "line 1"),
        pytest.param("{" * 2000, "nested too deeply", marks=pytest.mark.nightly),
        ("[" * 50_000, "nested too deeply"),
        ("- 1\n", "no fields of a spec"),
        ("", "no fields of a spec"),
        ("a: !!python/object:os.system x\n", "no YAML"),
    ],
)
def test_a_file_that_is_no_spec_says_where(
    mosaic: Mosaic, answers: Answers, file: Path, text: str, words: str
) -> None:
    """A missing, unknown or duplicate key, or text that is not YAML, is reported with its place; nothing is started."""
    file.write_text(text)
    code, out, err = mosaic("run", "-f", str(file), "-d")
    assert (code, out) == (2, "")
    assert words in err
    assert not answers.asked


def test_a_file_that_cannot_be_read_is_named(mosaic: Mosaic, answers: Answers, file: Path) -> None:
    """A slip in the path and bytes that are not text are reported as errors, not raised."""
    assert "cannot be read" in mosaic("run", "-f", str(file) + "x")[2]
    file.write_bytes(b"\xff\xfe\x00")
    code, _, err = mosaic("check", "-f", str(file))
    assert (code, "UTF-8" in err) == (2, True)
    with file.open("wb") as large:
        large.truncate(100 * 2**20)
    code, _, err = mosaic("check", "-f", str(file))
    assert (code, "larger than 1 MiB" in err) == (2, True)


def test_without_an_environment_the_algorithms_own_is_taken(
    mosaic: Mosaic, answers: Answers
) -> None:
    """The default that the worker describes is sent and said; an algorithm without one is refused."""
    answers["/api/v1/workers/cleanrl"] = CLEANRL
    answers["/api/v1/runs"] = RUN
    code, _, err = mosaic("run", "cleanrl", "ppo", "-d")
    assert code == 0
    assert "CartPole-v1" in err
    assert answers.last("POST").body["environment"] == "CartPole-v1"
    for algorithm, words in (("own", "has none of its own"), ("pp", "Did you mean ppo?")):
        code, _, err = mosaic("run", "cleanrl", algorithm, "-d")
        assert code == 2
        assert words in err


def test_without_an_algorithm_the_only_one_is_taken(mosaic: Mosaic, answers: Answers) -> None:
    """A worker with one algorithm needs no other word; one with several lists them; a broken one says why."""
    described = CLEANRL["description"]
    assert isinstance(described, dict)
    only = {**described, "algorithms": described["algorithms"][:1]}
    answers["/api/v1/workers/mine"] = {**CLEANRL, "description": only}
    answers["/api/v1/workers/cleanrl"] = CLEANRL
    answers["/api/v1/runs"] = RUN
    assert mosaic("run", "mine", "-d")[0] == 0
    assert answers.last("POST").body["algorithm"] == "ppo"
    for environments in ([{"id": "CartPole-v1"}], []):
        known = {**only, "environments": environments}
        answers["/api/v1/workers/mine"] = {**CLEANRL, "description": known}
        code, _, err = mosaic("run", "mine", "CartPole-v1", "-d")
        assert (code, "Did you mean `mine ppo CartPole-v1`?" in err) == (2, True)
    finding = {"level": "blocking", "where": "worker", "message": "No module named 'scipy'."}
    answers["/api/v1/workers/mine"] = {**CLEANRL, "description": None, "findings": [finding]}
    code, _, err = mosaic("run", "mine", "-d")
    assert (code, "cannot be used now: No module named 'scipy'." in err) == (2, True)
    code, _, err = mosaic("run", "cleanrl", "-d")
    assert (code, "It has ppo, own." in err) == (2, True)


def test_a_forgotten_worker_is_found_by_its_algorithm(mosaic: Mosaic, answers: Answers) -> None:
    """`run ppo CartPole-v1` is answered with the whole command; what nobody has stays an unknown worker."""
    unknown = {"code": "worker_unknown", "title": "There is no such worker", "status": 404}
    answers["/api/v1/workers"] = {"workers": [CLEANRL]}
    answers["/api/v1/workers/ppo"] = answers["/api/v1/workers/other"] = unknown
    code, _, err = mosaic("run", "ppo", "CartPole-v1")
    assert (code, "Did you mean `cleanrl ppo CartPole-v1`?" in err) == (2, True)
    code, _, err = mosaic("run", "other", "CartPole-v1")
    assert (code, "There is no such worker" in err) == (2, True)


def test_what_the_worker_refuses_is_not_started(mosaic: Mosaic, answers: Answers) -> None:
    """`run` asks the worker's check first: a blocking plan is reported as a refused spec, and nothing is sent."""
    finding = {"level": "blocking", "where": "steps", "message": "too few", "nearest": ["512"]}
    answers["/api/v1/runs/check"] = {"ok": False, "findings": [finding]}
    code, out, err = mosaic("run", "cleanrl", "ppo", "X", "--steps", "10", "-d")
    assert (code, out) == (2, "")
    assert "steps: too few Did you mean 512?" in err
    assert answers.last("POST").path.endswith("/check")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("parameters: {script: .nan}", "parameters.script: must be a finite number"),
        ("parameters: {script: -.inf}", "parameters.script: must be a finite number"),
        ("seed: true", "seed: must be a number (given: True)"),
        ('note: "a\\0b"', "note: must not contain a NUL character"),
    ],
)
def test_a_value_of_another_kind_is_refused(
    line: str, said: str, mosaic: Mosaic, answers: Answers, tmp_path: Path
) -> None:
    """It would be sent as something else, e.g. NaN as the text "NaN", and run so."""
    file = tmp_path / "spec.yaml"
    file.write_text(f"worker: cleanrl\nalgorithm: ppo\nenvironment: CartPole-v1\n{line}\n")
    code, _, err = mosaic("run", "-f", str(file), "-d")
    assert (code, said in err) == (2, True), err
    assert not answers.asked


def test_a_named_pipe_is_refused_and_an_open_one_is_read(
    mosaic: Mosaic, answers: Answers, tmp_path: Path
) -> None:
    """A pipe that nobody writes to would be waited for without end; `-f <(program)` names one that ends."""
    os.mkfifo(tmp_path / "pipe")
    code, _, err = mosaic("run", "-f", str(tmp_path / "pipe"), "-d")
    assert (code, "no regular file" in err) == (2, True)
    assert "no regular file" in mosaic("check", "-f", "/dev/zero")[2]
    assert not answers.asked
    answers["/api/v1/runs"] = RUN
    reader, writer = os.pipe()
    os.write(writer, b"worker: cleanrl\nalgorithm: ppo\nenvironment: CartPole-v1\n")
    os.close(writer)
    assert mosaic("run", "-f", f"/dev/fd/{reader}", "-d")[0] == 0
    os.close(reader)
