"""The verbs as a person or a script meets them, against a small HTTP server in the gateway's place."""

import json
import math
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import pytest
import zstandard
from tests.gateway_double import OF_RUN, RUN, RUN_ID, Answers, Mosaic, strict

from mosaic_cli.exit_code import ExitCode
from mosaic_cli.stack.lone_run import unknown_runs, unknown_text
from mosaic_cli.stopping import stop_all
from mosaic_client import connect, light
from mosaic_contracts.stored import BatchPage, encode_page
from mosaic_contracts.wire import BatchHead, Metric, encode_record, join_batch


@pytest.mark.parametrize(
    "verb", ["ps", "status", "run x y z", "show last", "stop last", "describe"]
)
def test_without_a_stack_the_exit_code_is_3(
    verb: str, mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says how to start one; stdout stays empty and no traceback is shown."""
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    code, out, err = mosaic(*verb.split())
    assert (code, out) == (3, "")
    assert "./mosaic up -d" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("verb", ["ps", "show last", "status"])
def test_the_installed_console_script_ends_as_the_checkouts_does(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a stack `mosaic` ends with exit code 3 and one line, and names itself `mosaic`, not `./mosaic`."""
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    script = Path(sys.executable).with_name("mosaic")
    done = subprocess.run([script, *verb.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (ExitCode.NO_STACK, "")
    assert "mosaic up -d" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "./mosaic" not in done.stderr


def test_an_empty_list_says_how_to_begin(mosaic: Mosaic, answers: Answers) -> None:
    """A person reads what to try, a script reads an empty array."""
    answers["/api/v1/runs"] = {"runs": []}
    code, out, err = mosaic("ps")
    assert (code, out) == (0, "")
    assert err.endswith("has no runs yet. Try: ./mosaic run cleanrl ppo CartPole-v1\n")
    code, out, err = mosaic("ps", "--json")
    assert (code, strict(out), err) == (0, [], "")


def test_json_is_the_only_thing_on_stdout(mosaic: Mosaic, answers: Answers) -> None:
    """`--json` gives the models as they are, found by prefix or by `last`."""
    for reference in ("last", RUN_ID[:8].lower(), RUN_ID):
        code, out, _ = mosaic("show", reference, "--json")
        assert (code, strict(out)["run_id"]) == (0, RUN_ID)


def test_numbers_that_are_none_are_strict_json(mosaic: Mosaic, answers: Answers) -> None:
    """NaN and infinities are words in JSON and visible in the table."""
    answers[f"{OF_RUN}/metrics"] = [
        {"name": "loss", "points": 2, "last_step": 1, "last_value": "NaN"},
        {"name": "other", "points": 2, "last_step": None, "last_value": "-Infinity"},
    ]
    _, out, _ = mosaic("metrics", "last", "--json")
    assert [row["last_value"] for row in strict(out)] == ["NaN", "-Infinity"]
    _, out, _ = mosaic("metrics", "last")
    assert "NaN" in out
    assert "-Infinity" in out


def test_a_curve_marks_what_is_not_finite(mosaic: Mosaic, answers: Answers) -> None:
    """A bucket with NaN has a mark in the line and a count in the table."""
    answers[f"{OF_RUN}/metrics"] = [{"name": "loss", "points": 3, "last_step": 3, "last_value": 1}]
    bucket = {"n": 1, "min": 1.0, "max": 1.0, "mean": 1.0, "last": 1.0}
    lost = {"n": 1, "min": None, "max": None, "mean": None, "last": "NaN", "nan": 1}
    answers[f"{OF_RUN}/curve"] = {
        "run_id": RUN_ID,
        "name": "loss",
        "points": 2,
        "buckets": [bucket | {"step0": 1, "step1": 1}, lost | {"step0": 2, "step1": 2}],
    }
    _, out, _ = mosaic("metrics", "last", "loss")
    assert "▄×" in out
    assert "1 NaN" in out


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("spec_invalid", 422, ExitCode.USAGE),
        ("algorithm_unknown", 422, ExitCode.USAGE),
        ("unauthorized", 401, ExitCode.NO_STACK),
        ("run_unknown", 404, ExitCode.UNKNOWN),
        ("artifact_unknown", 404, ExitCode.UNKNOWN),
        ("broker_unavailable", 503, ExitCode.NOT_NOW),
        ("disk_low", 507, ExitCode.NOT_NOW),
        ("worker_not_ready", 409, ExitCode.NOT_NOW),
    ],
)
def test_a_problem_has_its_exit_code(
    code: str, status: int, exit_code: ExitCode, mosaic: Mosaic, answers: Answers
) -> None:
    """What the stack refuses ends with the documented code and its own words."""
    answers["/api/v1/runs"] = {
        "code": code,
        "status": status,
        "title": "No",
        "detail": "Because of it.",
    }
    assert mosaic("run", "cleanrl", "ppo", "CartPole-v1") == (
        exit_code,
        "",
        "mosaic: No. Because of it.\n",
    )


def test_findings_name_the_nearest(mosaic: Mosaic, answers: Answers) -> None:
    """The field, the message and the nearest known names are all there."""
    fields = [{"where": "parameters.gama", "message": "unknown", "nearest": ["gamma", "gae"]}]
    answers["/api/v1/runs"] = {
        "code": "parameter_unknown",
        "status": 422,
        "title": "No",
        "fields": fields,
    }
    _, _, err = mosaic("run", "cleanrl", "ppo", "CartPole-v1", "-p", "gama=1")
    assert "parameters.gama: unknown Did you mean gamma or gae?" in err


@pytest.mark.parametrize(
    "arguments",
    [["statsu"], ["run"], ["ps", "--limit", "0"], ["ps", "--state", "x"],
     ["run", "cleanrl", "ppo", "X", "--wall-time", "soon"], ["run", "cleanrl", "ppo", "X", "--seed", "-1"]],
)  # fmt: skip
def test_wrong_usage_is_2(arguments: list[str], mosaic: Mosaic, answers: Answers) -> None:
    """Whatever is wrong with the command line, one code says so and stdout stays empty."""
    code, out, err = mosaic(*arguments)
    assert (code, out) == (2, "")
    assert err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--node-home", "/scratch/m"], "--placement slurm` or `--placement ray`"),
        (["--placement", "docker", "--node-home", "/scratch/m"], "for jobs of a cluster"),
        (["--placement", "ray", "--node-home", "here"], "begins with /"),
        (["--placement", "ray", "--node-home", "/scratch/m"], "needs --broker-bind"),
        (["--placement", "slurm", "--ray-address", "http://head:8265"], "--placement ray"),
    ],
)
def test_options_of_a_cluster_that_do_not_fit_are_refused(
    arguments: list[str], words: str, mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything starts, with the option that is missing."""
    monkeypatch.setenv("MOSAIC_PLACEMENT", "")  # the option is handed on in it
    code, _, said = mosaic("up", *arguments)
    assert code == 2
    assert words in " ".join(said.split())


def test_slurm_without_its_programs_is_refused_before_anything_starts(
    mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stack that came up all the same would fail each run."""
    monkeypatch.setenv("MOSAIC_PLACEMENT", "")
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, said = mosaic("up", "-d", "--placement", "slurm")
    assert code == 6
    assert "login node" in " ".join(said.split())
    assert not (tmp_path / "home" / "stack").exists()


def test_a_limit_may_be_of_any_size(mosaic: Mosaic, answers: Answers) -> None:
    """A number beyond what Python counts to means all of them."""
    answers[f"{OF_RUN}/events"] = {"events": [], "cursor": "x", "has_more": False}
    for verb in (["ps"], ["events", "last"]):
        assert mosaic(*verb, "--limit", "9" * 20)[0] == 0


def test_an_unknown_verb_names_the_nearest(mosaic: Mosaic) -> None:
    """A slip is answered with the verb that was meant."""
    assert "status" in mosaic("statsu")[2]


def test_the_help_lists_every_exit_code(mosaic: Mosaic) -> None:
    """Scripts can be written from `--help` alone."""
    for arguments in (["--help"], ["run", "--help"]):
        _, out, _ = mosaic(*arguments)
        assert all(code.meaning in out for code in ExitCode)


def test_a_check_that_blocks_is_1(mosaic: Mosaic, answers: Answers) -> None:
    """`check` and `run --dry-run` give the report and its verdict."""
    finding = {"level": "blocking", "where": "environment", "message": "missing"}
    answers["/api/v1/runs/check"] = {"ok": False, "findings": [finding]}
    code, out, _ = mosaic("check", "cleanrl", "ppo", "X", "--json")
    assert (code, strict(out)["ok"]) == (1, False)
    assert mosaic("run", "cleanrl", "ppo", "X", "--dry-run")[0] == 1
    answers["/api/v1/runs/check"] = {"ok": True, "findings": []}
    assert mosaic("check", "cleanrl", "ppo", "X")[0] == 0


def test_stopping_what_has_ended_is_done(mosaic: Mosaic, answers: Answers) -> None:
    """The wish is fulfilled already, and the state is said."""
    code, _, err = mosaic("stop", "last")
    assert code == 0
    assert "had ended already: succeeded" in err


def test_an_unknown_metric_is_4_and_names_the_nearest(mosaic: Mosaic, answers: Answers) -> None:
    """Tags are long; a slip in one is met with the tag."""
    answers[f"{OF_RUN}/metrics"] = [
        {"name": "charts/SPS", "points": 1, "last_step": 1, "last_value": 1}
    ]
    for slip in ("charts/SPs", "sps"):
        code, _, err = mosaic("metrics", "last", slip)
        assert code == 4
        assert "Did you mean charts/SPS?" in err


def test_a_metric_of_a_run_that_is_starting_is_not_stored_yet(
    mosaic: Mosaic, answers: Answers
) -> None:
    """Asked too early, a person hears that, and not that the tag is wrong."""
    answers["/api/v1/runs"] = {"runs": [RUN | {"state": "starting"}]}
    answers[f"{OF_RUN}/metrics"] = []
    code, _, err = mosaic("metrics", "last", "charts/SPS")
    assert code == 4
    assert "no metric stored yet (the run is starting)" in err


def test_episodes_say_that_they_are_not_all(mosaic: Mosaic, answers: Answers) -> None:
    """The newest come last, and how many there are and how to see them is said."""
    answers["/api/v1/runs"] = {"runs": [RUN | {"summary": {"run_id": RUN_ID, "episodes": 478}}]}
    rows = [
        {"attempt": 1, "env": 0, "episode": n, "length": 9, "return": n, "terminated": True}
        for n in (477, 476)
    ]
    answers[f"{OF_RUN}/episodes"] = {"episodes": rows}
    _, out, err = mosaic("episodes", "last")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["476", "477"]
    assert "The last 2 of 478 episodes, newest last; more with --limit, all with --all." in err


def test_a_name_that_no_run_has_is_unknown(mosaic: Mosaic, answers: Answers) -> None:
    """Ill-formed or not, what no run is called ends with 4."""
    code, out, err = mosaic("show", "nosuchrun")
    assert (code, out) == (4, "")
    assert f"{RUN_ID}  a run" in mosaic("show", "run")[2]
    assert "no run 'nosuchrun'" in err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_has_enough_ends_it_quietly(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    """`events | head` is no fault, whatever the form: exit code 0 and not a word."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    event = {"attempt": 1, "source": "worker", "seq": 1, "type": "metric", "name": "x" * 5000}
    answers[f"{OF_RUN}/events"] = {
        "events": [event] * 90,
        "cursor": "1.worker.90",
        "has_more": False,
    }
    answers[f"{OF_RUN}/batches"] = stored(90, "x" * 5000)
    for arguments in (["events", "last"], ["events", "last", "--json"], ["export", "last"]):
        with subprocess.Popen(
            [sys.executable, "-m", "mosaic_cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as program:
            assert program.stdout is not None
            assert program.stderr is not None
            program.stdout.readline()
            program.stdout.close()
            said = program.stderr.read()
        assert (program.returncode, said) == (0, b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_under_its_output_is_said(
    answers: Answers, monkeypatch: pytest.MonkeyPatch, unbuffered: str
) -> None:
    """`export last > events.jsonl` where there is no room: one line and exit code 6, no traceback."""
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    event = {"attempt": 1, "source": "worker", "seq": 1, "type": "metric", "name": "x" * 5000}
    answers[f"{OF_RUN}/events"] = {"events": [event], "cursor": "1.worker.1", "has_more": False}
    answers[f"{OF_RUN}/batches"] = stored(90, "x" * 5000)
    for arguments in (["events", "last"], ["events", "last", "--json"], ["export", "last"]):
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                [sys.executable, "-m", "mosaic_cli", *arguments],
                stdout=full,
                stderr=subprocess.PIPE,
            )
        assert ended.returncode == 6
        assert ended.stderr == b"mosaic: The output cannot be written (No space left on device).\n"


def test_a_refused_check_shows_no_plan(mosaic: Mosaic, answers: Answers) -> None:
    """Only obstacles and their next steps are shown; a plan that will not be carried out is not shown."""
    findings = [
        {"level": "blocking", "where": "steps", "message": "too few"},
        {"level": "ok", "where": "worker", "message": "ready"},
    ]
    report = {"ok": False, "findings": findings, "plan": {"script": "ppo.py"}}
    answers["/api/v1/runs/check"] = report
    _, out, _ = mosaic("check", "cleanrl", "ppo", "X")
    assert "too few" in out
    assert "ppo.py" not in out
    assert "ready" not in out


def stored(count: int, name: str = "loss") -> bytes:
    """A page of stored batches: so many points of a metric, none of them a number."""
    raw = b"".join(
        encode_record(Metric(seq, 0, name, seq, math.nan)) for seq in range(1, count + 1)
    )
    body = join_batch(BatchHead(RUN_ID, 1, "worker", 1, count), 0, raw)
    frame = zstandard.ZstdCompressor().compress(body)
    return encode_page(BatchPage({}, [frame], f"1.worker.{count}", False))


def test_an_export_as_parquet_is_a_folder(mosaic: Mosaic, answers: Answers, tmp_path: Path) -> None:
    """It needs a name, refuses one that holds files, and takes one form at a time."""
    answers[f"{OF_RUN}/batches"] = stored(3)
    target = tmp_path / "events"
    assert mosaic("export", "last", "--parquet", "-o", str(target))[0] == 0
    assert [path.name for path in target.iterdir()] == ["metric.parquet"]
    for arguments, said in (
        (["--parquet"], "--output"),
        (["--parquet", "-o", str(target)], "new or empty"),
        (["--parquet", "--jsonl"], "either"),
    ):
        code, _, err = mosaic("export", "last", *arguments)
        assert (code, said in err) == (2, True)


def test_an_export_is_whole_or_absent(mosaic: Mosaic, answers: Answers, tmp_path: Path) -> None:
    """The file has every event as a line; a folder that does not take it is named and nothing is left there."""
    answers[f"{OF_RUN}/batches"] = stored(2)
    target = tmp_path / "all.jsonl"
    code, out, err = mosaic("export", "last", "--jsonl", "-o", str(target))
    assert (code, out) == (0, "")
    assert "2 events" in err
    lines = [strict(line) for line in target.read_text().splitlines()]
    assert [(line["seq"], line["value"]) for line in lines] == [(1, "NaN"), (2, "NaN")]
    code, _, err = mosaic("export", "last", "-o", str(tmp_path / "missing" / "x"))
    assert code == 2
    assert "cannot be written" in err
    assert not list(tmp_path.glob(".*"))


def test_down_tells_of_a_run_that_no_stack_watches_and_stops_it(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a stack a live run is named with how to stop it; --stop-runs says which it stopped and which go on."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.setattr("mosaic_cli.stopping.STOP_RUNS_TIMEOUT_S", 0.5)
    other_id = RUN_ID[:-1] + "Z"
    with _runner(tmp_path, RUN_ID) as polite, _runner(tmp_path, other_id, deaf=True) as deaf:
        code, _, said = mosaic("down")
        assert (code, RUN_ID in said, "./mosaic down --stop-runs" in said) == (0, True, True)
        code, out, _ = mosaic("down", "--stop-runs", "--json")
        told = strict(out)
        assert (code, told["stopped_runs"], told["live_runs"]) == (6, [RUN_ID], [other_id])
        assert polite.wait() == -signal.SIGTERM
        assert deaf.poll() is None
        deaf.kill()
    assert strict(mosaic("down", "--json")[1])["live_runs"] == []


@contextmanager
def _runner(home: Path, run_id: str, *, deaf: bool = False) -> Iterator[subprocess.Popen[bytes]]:
    """What looks like a run's runner, and says when it is ready."""
    program = "import signal, sys\n"
    if deaf:
        program += "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    program += "print('ready', flush=True)\nsys.stdin.read()"
    folder = home / "runs" / run_id
    command = [sys.executable, "-c", program, "mosaic_workerkit.runner", "--run-dir", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        try:
            yield runner
        finally:
            runner.kill()


def test_down_ends_what_only_shows_runs(
    mosaic: Mosaic, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A TensorBoard that nobody can reach any more ends with the stack, and a training goes on."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    kinds = {RUN_ID: "train", RUN_ID[:-1] + "Z": "dashboard"}
    specs = {run_id: RUN["spec"] | {"kind": kind} for run_id, kind in kinds.items()}
    live = [
        light.RunFields.read(
            json.dumps(RUN | {"run_id": run_id, "spec": spec, "state": "running"}).encode()
        )
        for run_id, spec in specs.items()
    ]
    stopped: list[str] = []

    def stop(_stack: object, runs: list[light.RunFields]) -> list[light.RunFields]:
        stopped.extend(run.run_id for run in runs)
        return []

    monkeypatch.setattr("mosaic_cli.verbs.stack.running_stack", lambda *_: object())
    monkeypatch.setattr("mosaic_cli.verbs.stack._live_runs", lambda _patience_s: live)
    monkeypatch.setattr("mosaic_cli.verbs.stack.connection_here", nullcontext)
    monkeypatch.setattr("mosaic_cli.stopping.stop_all", stop)
    monkeypatch.setattr("mosaic_cli.stack.launch.take_down", lambda _layout: True)
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    code, out, _ = mosaic("down", "--json")
    assert (code, stopped) == (0, [RUN_ID[:-1] + "Z"])
    assert strict(out)["live_runs"] == [RUN_ID]


def test_down_without_a_stack_is_done(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is down already needs no error."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    code, out, _ = mosaic("down", "--json")
    assert (code, strict(out)["was_up"]) == (0, False)


def test_doctor_says_what_to_do(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Missing environments block and come with the command that makes them."""
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.setenv("MOSAIC_VENVS", str(tmp_path / "venvs"))
    code, out, _ = mosaic("doctor", "--json")
    report = strict(out)
    assert (code, report["ok"]) == (1, False)
    assert any("./mosaic sync gateway" in finding["message"] for finding in report["findings"])


def test_status_without_a_stack_tells_of_runs_that_go_on(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner that outlives its stack is named by `status`, as `down` names it."""
    monkeypatch.setenv("MOSAIC_HOME", str(tmp_path))
    monkeypatch.delenv("MOSAIC_URL", raising=False)
    folder = tmp_path / "runs" / RUN_ID
    command = [sys.executable, "-c", "print(flush=True); input()", "mosaic_workerkit.runner"]
    with subprocess.Popen(
        [*command, "--run-dir", str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as runner:
        assert runner.stdout is not None
        runner.stdout.readline()
        code, _, talk = mosaic("status")
        runner.communicate(b"\n")
    assert code == ExitCode.NO_STACK
    assert RUN_ID in talk


def test_status_of_a_stack_elsewhere_says_nothing_of_this_machine(
    mosaic: Mosaic, answers: Answers
) -> None:
    """With a stack named by its address only that one is asked, and its files are not said to lie here."""
    answers["/api/v1/stack"] = {"version": "1", "ready": True, "broker": True}
    code, out, _ = mosaic("status", "--json")
    assert (code, strict(out)["stack"]) == (0, None)
    assert f"MOSAIC_HOME of its stack/runs/{RUN_ID}" in mosaic("show", "last")[1]


def test_a_run_that_the_stack_does_not_know_is_named(
    answers: Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A runner left by a deleted database is found next to a living stack, with how to stop it."""
    lost = RUN_ID[:-1] + "W"
    program = [sys.executable, "-c", "print(flush=True); input()", "mosaic_workerkit.runner"]
    with connect() as client, ExitStack() as living:
        monkeypatch.delenv("MOSAIC_URL")
        runners = []
        for run_id in (RUN_ID, lost):
            argv = [*program, "--run-dir", str(tmp_path / "runs" / run_id)]
            runner = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            living.enter_context(runner)
            living.callback(runner.communicate, b"\n")
            assert runner.stdout is not None
            runner.stdout.readline()
            runners.append(runner)
        found = unknown_runs(client, tmp_path)
    assert [(run.run_id, run.runner.pid) for run in found] == [(lost, runners[1].pid)]
    assert f"`kill {runners[1].pid}` stops it" in unknown_text(found)


def test_stopping_a_run_that_has_just_ended_is_no_fault(answers: Answers) -> None:
    """A stop refused because the run ended meanwhile counts as stopped."""
    answers[f"{OF_RUN}/stop"] = {"status": 409, "code": "run_final", "title": "It ended"}
    with connect() as client:
        assert stop_all(client, [light.RunFields.read(json.dumps(RUN).encode())]) == []


@pytest.mark.parametrize(
    ("types", "says"), [("episde", "Did you mean 'episode'?"), ("metric,zz", "There are step, ")]
)
@pytest.mark.parametrize("verb", ["export last", "events last"])
def test_an_unknown_event_type_is_refused(mosaic: Mosaic, verb: str, types: str, says: str) -> None:
    """A misspelt type would select nothing, and nothing is what a run without such events gives."""
    code, out, err = mosaic(*verb.split(), "--types", types)
    assert (code, out) == (ExitCode.USAGE, "")
    assert says in err
