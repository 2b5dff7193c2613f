"""Bad input from end to end: each ends with a clear word or a recorded cause, nothing lost, nothing left running."""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit import audit_synthetic, stored_events
from hardship.absence import service_away
from nats.errors import Error as NatsError
from stack_under_test import StackUnderTest, last_json, until

from mosaic_client import Client, MosaicProblem, SpecRefused
from mosaic_contracts.launch import CREDS_FILE, SHIPPER_LOG
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_servicekit.creds_file import CredsFile
from mosaic_servicekit.jwt import is_refusal
from mosaic_servicekit.visit import visit

pytestmark = pytest.mark.timeout(180)

SPEC = RunSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0", steps=200)

PROGRAM_WORKER = """
id = "{id}"
title = "Bad output"
room = "tests"
command = ["{{python}}", "-m", "mosaic_workerkit.pipe", "{{here}}/program.toml"]
"""
PROGRAM = """
id = "{id}"
title = "Bad output"
environments = ["Corridor-v0"]

[algorithms.walk]
title = "Prints what it was told"
command = ["python3", "{{here}}/program.py", "--seed={{seed}}", "--learning-rate={{learning_rate}}"]
steps = 100

[algorithms.walk.parameters.learning_rate]
type = "number"
exclusiveMinimum = 0
default = 0.1
description = "How far one reward moves the estimate."
"""
WORKER = """
id = "{id}"
title = "Bad worker"
room = "tests"
command = ["{{python}}", "{{here}}/worker.py"]
"""
WORKER_PROGRAM = """
import sys
import time

if sys.argv[1] == "train":
{train}

from mosaic_workerkit.entry import main
from mosaic_workerkit.testing.synthetic import SyntheticWorker

sys.exit(main(SyntheticWorker()))
"""


def add_worker(stack: StackUnderTest, name: str, train: str) -> str:
    """A worker that describes itself as the synthetic one, and whose training begins with `train`."""
    folder = stack.home / "workers.d" / name
    folder.mkdir()
    (folder / "worker.toml").write_text(WORKER.format(id=name))
    (folder / "worker.py").write_text(WORKER_PROGRAM.format(train=f"    {train}"))
    return name


def run_program(stack: StackUnderTest, name: str, program: str) -> RunView:
    """Run a program that knows nothing of MOSAIC to its end."""
    add_program(stack, name, program)
    return ended(stack, stack.submit(name, "walk", "Corridor-v0"))


def add_program(stack: StackUnderTest, name: str, program: str) -> None:
    """Register a program through the pipe."""
    folder = stack.home / "workers.d" / name
    folder.mkdir()
    (folder / "worker.toml").write_text(PROGRAM_WORKER.format(id=name))
    (folder / "program.toml").write_text(PROGRAM.format(id=name))
    (folder / "program.py").write_text(program)


def ended(stack: StackUnderTest, view: RunView) -> RunView:
    """The run at its end: without gaps and quarantine, and without a process."""
    view = stack.wait_final(view.run_id)
    assert stack.processes_of(view.run_id) == []
    assert view.summary is None or (view.summary.gaps, view.summary.quarantined) == (0, 0)
    return view


def end_of(view: RunView) -> RunEnd:
    """How it ended."""
    assert view.end is not None
    return view.end


def metrics(stack: StackUnderTest, run_id: str) -> dict[str, Any]:
    """Last value of each metric, from the store."""
    return {
        event["name"]: event["value"]
        for event in stored_events(stack.home, run_id)
        if event["type"] == "metric"
    }


def test_a_worker_that_hangs_at_import_meets_its_deadline(stack: StackUnderTest) -> None:
    """A worker that prints nothing is ended at the start deadline, and the run says so."""
    worker = add_worker(stack, "hangs", "time.sleep(3600)")
    view = stack.submit(worker, "synthetic", "Synthetic-v0", start_deadline_s=2, grace_s=2)
    view = ended(stack, view)
    assert view.state is RunState.TIMED_OUT
    assert end_of(view).cause is EndCause.START_DEADLINE
    assert "start_deadline_s" in end_of(view).message


def test_a_worker_without_events_has_failed(stack: StackUnderTest) -> None:
    """Exit code 0 with nothing recorded is no success."""
    worker = add_worker(stack, "silent", "sys.exit(0)")
    view = ended(stack, stack.submit(worker, "synthetic", "Synthetic-v0"))
    assert view.state is RunState.FAILED
    assert end_of(view).cause is EndCause.NO_EVENTS
    assert end_of(view).exit_code == 0
    assert "recorded nothing" in end_of(view).message


def test_an_exit_code_after_done_counts(stack: StackUnderTest) -> None:
    """A worker that says `done` and exits with 3 has failed with 3; what it recorded is stored whole."""
    view = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=300, parameters={"exit_code": 3}
    )
    view = ended(stack, view)
    assert view.state is RunState.FAILED
    assert (end_of(view).cause, end_of(view).exit_code) == (EndCause.EXIT_CODE, 3)
    assert "exit code 3" in end_of(view).message
    assert audit_synthetic(stack.home, view.run_id, view.spec) == 303
    assert [e["phase"] for e in stored_events(stack.home, view.run_id) if e["type"] == "lifecycle"][
        -1
    ] == "done"


def test_two_runs_at_once_are_two(stack: StackUnderTest) -> None:
    """Two equal runs of the same second both end well, each in a folder and under a name of its own."""
    stack.wait_ready()
    with stack.client() as client:
        pair = [client.submit(SPEC), client.submit(SPEC)]
    assert abs((pair[0].created_at - pair[1].created_at).total_seconds()) < 1
    done = [ended(stack, view) for view in pair]
    assert [view.state for view in done] == [RunState.SUCCEEDED] * 2
    assert len({view.run_dir for view in done}) == 2
    for view in done:
        assert audit_synthetic(stack.home, view.run_id, view.spec) == 203


def test_numbers_that_are_none_are_kept_or_refused_by_name(stack: StackUnderTest) -> None:
    """NaN, infinities and 2**63 are kept; what no float holds is refused in an event; the rest of its line stays."""
    lines = [
        '{"global_step": 1, "nan": NaN, "inf": Infinity, "minus": -Infinity, "word": "NaN"}',
        '{"global_step": 2, "big": 9223372036854775808, "least": -9223372036854775809}',
        '{"global_step": 3, "over": 1e400, "beside_over": 1.5}',
        '{"global_step": 4, "digits": 1' + "0" * 400 + ', "beside_digits": 2.5}',
        '{"global_step": 9223372036854775808, "late": 3.5}',
    ]
    program = "".join(f"print({line!r})\n" for line in lines)
    view = run_program(stack, "numbers", program)
    assert view.state is RunState.SUCCEEDED, view.end
    seen = metrics(stack, view.run_id)
    assert math.isnan(float(seen.pop("nan"))), seen
    assert {name: float(value) for name, value in seen.items() if name != "word"} == {
        "inf": math.inf,
        "minus": -math.inf,
        "big": 2.0**63,
        "least": -(2.0**63),
        "beside_over": 1.5,
        "beside_digits": 2.5,
        "late": 3.5,
    }
    said = [e for e in stored_events(stack.home, view.run_id) if e["type"] == "log"]
    words = json.dumps(said)
    for name in ("over", "digits", "step"):
        assert name in words, words
    with stack.client() as client:
        assert math.isnan(client.series(view.run_id, "nan").values[-1])
        assert client.series(view.run_id, "minus").values[-1] == -math.inf
        assert {m.name for m in client.metrics(view.run_id)} >= {"nan", "inf", "big"}


METRIC_NAMES = ["🦊/win rate", "../../etc/passwd", "/absolute", "a//b", "é" * 127 + "x", "n" * 255]
FILE_NAMES = ["🦊 model.bin", "deep/er/model.bin", "..hidden", "a%2fb#?&.bin", "n" * 255]


def test_names_of_any_shape_are_served(stack: StackUnderTest, tmp_path: Path) -> None:
    """Metrics and files with emoji, slashes, dots and 255 bytes come back by their names; a file outside is refused."""
    program = (
        "import json, pathlib\n"
        f"for place, name in enumerate({METRIC_NAMES!r}):\n"
        "    print(json.dumps({'type': 'metric', 'name': name, 'value': place, 'step': 1}))\n"
        f"for name in {FILE_NAMES!r}:\n"
        "    path = pathlib.Path(name)\n"
        "    path.parent.mkdir(parents=True, exist_ok=True)\n"
        "    path.write_text(name)\n"
        "    print(json.dumps({'type': 'artifact', 'path': name, 'kind': 'model'}))\n"
        "print(json.dumps({'type': 'artifact', 'path': '../../stack.json', 'kind': 'model'}))\n"
    )
    view = run_program(stack, "names", program)
    assert view.state is RunState.SUCCEEDED, view.end
    with stack.client() as client:
        assert {m.name for m in client.metrics(view.run_id)} == set(METRIC_NAMES)
        for place, name in enumerate(METRIC_NAMES):
            assert list(client.series(view.run_id, name).values) == [place], name
        assert {a.path for a in client.artifacts(view.run_id)} == set(FILE_NAMES)
        for name in FILE_NAMES:
            client.download(view.run_id, name, tmp_path / "got")
            assert (tmp_path / "got").read_text() == name
    refused = [e for e in stored_events(stack.home, view.run_id) if e["type"] == "log"]
    assert "not inside the run folder" in json.dumps(refused)


def test_a_line_of_5_mib_is_in_the_log(stack: StackUnderTest) -> None:
    """A line of 5 MiB harms nothing: what stands before and after is recorded, and the log's tail is served."""
    program = (
        'print(\'{"global_step": 1, "before": 1}\')\n'
        "print('{\"x\": \"' + 'x' * (5 * 2**20) + '\"}')\n"
        'print(\'{"global_step": 2, "after": 2}\')\n'
        "print('the end')\n"
    )
    view = run_program(stack, "long_line", program)
    assert view.state is RunState.SUCCEEDED, view.end
    assert metrics(stack, view.run_id) == {"before": 1.0, "after": 2.0}
    with stack.client() as client:
        assert client.log_tail(view.run_id, 1).text.strip() == "the end"
        assert "xxx" in client.log_tail(view.run_id, 3).text
        assert (stack.run_dir(view.run_id) / "logs" / "worker.log").stat().st_size > 5 * 2**20


def refusal(ask: Callable[[], object]) -> MosaicProblem:
    """What the client raises for a spec that cannot be had."""
    with pytest.raises(SpecRefused) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize(
    ("overrides", "code", "where", "nearest"),
    [
        ({"stepz": 5}, ProblemCode.SPEC_INVALID, "stepz", "steps"),
        ({"steps": 0}, ProblemCode.SPEC_INVALID, "steps", None),
        ({"steps": 2**64}, ProblemCode.SPEC_INVALID, "steps", None),
        ({"seed": -1}, ProblemCode.SPEC_INVALID, "seed", None),
        ({"seed": 2**32}, ProblemCode.SPEC_INVALID, "seed", None),
        ({"worker": "synthetik"}, ProblemCode.WORKER_UNKNOWN, "worker", "synthetic"),
        ({"algorithm": "synthetical"}, ProblemCode.ALGORITHM_UNKNOWN, "algorithm", "synthetic"),
        (
            {"parameters": {"rat": 5}},
            ProblemCode.PARAMETER_UNKNOWN,
            "parameters.rat",
            "rate",
        ),
        ({"parameters": {"rate": "fast"}}, ProblemCode.PARAMETER_INVALID, "parameters.rate", None),
    ],
    ids=str,
)
def test_a_spec_that_cannot_be_had_is_refused(
    stack: StackUnderTest,
    overrides: dict[str, Any],
    code: ProblemCode,
    where: str,
    nearest: str | None,
) -> None:
    """The refusal says by code, place and nearest name what is wrong, and there is no run of it."""
    stack.wait_ready()
    with stack.client() as client:
        base = held(client)
        before = {run.run_id for run in client.each_run()}
        problem = refusal(lambda: client.clone(base.run_id, **overrides)).problem
        assert {run.run_id for run in client.each_run()} == before
        client.stop(base.run_id)
    assert problem.code is code, problem
    found = {field["where"]: field for field in problem.fields}
    assert where in found, problem
    assert found[where]["message"]
    if nearest is not None:
        assert nearest in found[where]["nearest"], problem


def held(client: Client) -> RunView:
    """A run that waits, to make others of."""
    return client.submit(SPEC.model_copy(update={"hold": True}))


@pytest.mark.kill
def test_wrong_credentials_lose_nothing(stack: StackUnderTest) -> None:
    """With another run's credentials a run is refused, gets its own again, and all is stored."""
    view = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=4_000, parameters={"rate": 400}
    )
    other = stack.submit(
        "synthetic", "synthetic", "Synthetic-v0", steps=10**9, parameters={"rate": 100}
    )
    for run in (view, other):
        stack.wait_stored(run.run_id, 100)
    creds = stack.run_dir(view.run_id) / CREDS_FILE
    wrong = (stack.run_dir(other.run_id) / CREDS_FILE).read_text()
    with service_away(stack, "broker"):
        creds.write_text(wrong)
    log = stack.run_dir(view.run_id) / SHIPPER_LOG
    # The run has a note of it until it is mended, which may be before the gateway has found the broker again.
    until(lambda: "permissions violation" in log.read_text(), "the run is refused", 90)
    view = ended(stack, view)
    assert view.state is RunState.SUCCEEDED, view.end
    assert not view.notes
    assert creds.read_text() != wrong
    assert audit_synthetic(stack.home, view.run_id, view.spec) == 4_003
    said = log.read_text().splitlines()
    assert sum("permissions violation" in line for line in said) == 1, said
    assert is_admitted(stack, other), "a live run's credentials are good"
    until(lambda: not is_admitted(stack, view), "an ended run's credentials are useless", 60)
    with stack.client() as client:
        client.stop(other.run_id)
    other = ended(stack, other)
    assert end_of(other).stop_step is StopStep.ASKED
    until(lambda: not is_admitted(stack, other), "so are those of one that was stopped", 60)
    # Its supervisor starts the broker again as it is, without writing its configuration.
    stack.kill_service("broker")
    stack.wait_ready()
    assert not is_admitted(stack, view)
    assert not is_admitted(stack, other)


def is_admitted(stack: StackUnderTest, run: RunView) -> bool:
    """Whether the broker takes the credentials that lie in a run's folder."""
    creds = CredsFile(stack.run_dir(run.run_id) / CREDS_FILE)

    async def ask() -> bool:
        try:
            async with visit(stack.stack_file().broker_url, run.run_id, "test", creds):
                return True
        except NatsError as error:
            if not is_refusal(str(error)):
                raise
            return False

    return asyncio.run(ask())


@pytest.mark.kill
@pytest.mark.parametrize("service", ["scheduler", "gateway"])
def test_a_service_that_is_refused_is_told(stack: StackUnderTest, service: str) -> None:
    """`doctor` names it and what to do, a submit says so or where to look; its own credentials end it."""
    stack.wait_ready()
    creds = stack.home / "secrets" / "broker" / f"{service}.creds"
    own = creds.read_text()
    with service_away(stack, "broker"):
        creds.write_text(own[:200])
    try:
        until(lambda: not stack.is_ready(), "the stack is not ready", 60)
        told = stack.cli("doctor", "--json")
        assert told.returncode == 1
        findings: Any = last_json(told.stdout)["findings"]
        found = {f["where"]: f for f in findings}
        assert found[f"service {service}"]["level"] == "blocking"
        assert "./mosaic up -d" in found[f"service {service}"]["message"]
        words = "refuses the credentials" if service == "gateway" else "./mosaic doctor"

        def is_told() -> bool:
            refused = stack.cli("run", "synthetic", "synthetic", "Synthetic-v0", "-d")
            assert refused.returncode == 6, refused
            return words in " ".join(refused.stderr.split())

        # until its first try with these credentials, a service knows only that the broker was away
        until(is_told, f"the submit says {words!r}", 60)
    finally:
        creds.write_text(own)
    stack.wait_ready()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("changes", "where", "word"),
    [
        ({"environment": "CartPol-v1"}, "environment", "CartPole-v1"),
        ({"environment": "CartPole-v9"}, "environment", "CartPole-v1"),
        ({"algorithm": "pppo"}, "algorithm", "ppo"),
        ({"parameters": {"gama": 0.9}}, "parameters.gama", "gamma"),
        ({"parameters": {"gamma": "much"}}, "parameters.gamma", "number"),
        ({"parameters": {"num_envs": 0}}, "parameters.num_envs", "1"),
        ({"steps": 10}, "steps", "512"),
    ],
    ids=str,
)
def test_a_real_worker_names_what_is_wrong_before_anything_starts(
    stack: StackUnderTest, changes: dict[str, Any], where: str, word: str
) -> None:
    """CleanRL's own plan is asked through the API: the field, and the nearest name or the bound that it breaks."""
    spec = {"worker": "cleanrl", "algorithm": "ppo", "environment": "CartPole-v1", **changes}
    with stack.client() as client:
        before = len(client.runs().runs)
        try:
            report = client.check(RunSpec.model_validate(spec))
            findings = [
                (f.where, f"{f.message} {' '.join(f.nearest)}")
                for f in report.findings
                if f.level == "blocking"
            ]
        except SpecRefused as refused:
            findings = [
                (f["where"], f"{f['message']} {' '.join(f.get('nearest') or [])}")
                for f in refused.problem.fields
            ]
        assert [text for place, text in findings if place == where and word in text], findings
        assert len(client.runs().runs) == before
