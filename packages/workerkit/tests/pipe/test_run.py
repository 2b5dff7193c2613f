"""A program becomes a run: real programs under a real mosaic-pipe."""

import json
import math
import os
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.pipe.program_run import PIPE, ProgramRun, finish, python, run, start
from tests.run_folder import make_run_folder

from mosaic_workerkit.artifacts import read_manifest


def test_lines_become_events(tmp_path: Path) -> None:
    """CleanRL's lines and JSON lines are metrics and episodes, with their values; unknown keys are kept."""
    made = run(
        tmp_path / "run",
        python(
            "import json\n"
            "print('Using cpu device')\n"
            "print('global_step=120, episodic_return=[17.]')\n"
            "print(json.dumps({'global_step': 200, 'loss': 0.25, 'phase': 'warm', 'ok': True}))\n"
            "print(json.dumps({'type': 'episode', 'return': 9.5, 'length': 40, 'terminated': True, 'who': 'me'}))\n"
            "print(json.dumps({'type': 'bdi.intention', 'goal': 'left'}))\n"
        ),
    )
    assert made.code == 0
    kinds = [type(record).__name__ for record in made.records]
    assert kinds[:2] == ["Config", "Lifecycle"]
    assert made.records[-1].phase == "done"  # type: ignore[union-attr]
    assert made.metrics == [("charts/episodic_return", 120, 17.0), ("loss", 200, 0.25)]
    ends = [(e.episode, e.length, e.episode_return, e.flags) for e in made.of("episode")]
    assert ends == [(0, 0, 17.0, 0), (1, 40, 9.5, 1)]
    assert [extra.data for extra in made.of("program.fields")] == [
        {"step": 200, "fields": {"phase": "warm", "ok": True}},
        {"of": "episode", "fields": {"who": "me"}},
    ]
    assert made.of("bdi.intention")[0].data == {"goal": "left"}
    assert not made.refused


def test_steps_and_spaces(tmp_path: Path) -> None:
    """A program that prints its config, resets and steps has them recorded like a worker's own."""
    made = run(
        tmp_path / "run",
        python(
            "import json\n"
            "say = lambda **line: print(json.dumps(line))\n"
            "box = {'kind': 'box', 'dtype': '<f4', 'shape': [2]}\n"
            "say(type='config', spaces={'observation': box, 'action': {'kind': 'discrete', 'n': 2}}, lib='mine')\n"
            "say(type='episode_start', seed=3, observation=[0, 1])\n"
            "say(type='step', action=1, reward=1.5, observation=[0.5, 1])\n"
            "say(type='step', action=0, reward=1, terminated=True, observation=[0.5, 2])\n"
            "say(type='episode', **{'return': 2.5}, terminated=True)\n"
            "say(type='config', late=1)\n"
        ),
    )
    config = made.of("config")[0].data
    assert config["lib"] == "mine"
    assert config["spaces"]["action"] == {"kind": "discrete", "n": 2}
    assert made.of("episode_start")[0].reset == {"way": "seed", "seed": 3}
    steps = [(s.episode, s.step, s.action, s.reward, s.flags) for s in made.of("step")]
    assert steps == [(0, 1, 1, 1.5, 0), (0, 2, 0, 1.0, 1)]
    assert len({s.hash for s in made.of("step")}) == 2
    assert made.of("episode")[0].length == 2
    assert made.of("program.config")[0].data == {"late": 1}
    assert made.refused == ["config_late"]


def test_bad_numbers_are_kept_or_counted(tmp_path: Path) -> None:
    """NaN, infinities and 2**63 are kept; 1e400 is refused and reported; nothing else of the line is lost."""
    made = run(
        tmp_path / "run",
        python(
            'print(\'{"global_step": 1, "a": NaN, "b": Infinity, "c": 9223372036854775808, "d": 1e400}\')\n'
            'print(\'{"global_step": 9223372036854775808, "e": 1}\')\n'
            'print(\'{"type": "metric", "name": "f", "value": 1e400}\')\n'
            'print(\'{"type": "metric", "name": "g", "value": "NaN"}\')\n'
            'print(\'{"type": "metric", "name": "h"}\')\n'
        ),
    )
    assert made.code == 0
    assert [(name, step) for name, step, _ in made.metrics] == [
        *(("a", 1), ("b", 1), ("c", 1), ("e", None), ("g", None)),
    ]
    values = [value for _, _, value in made.metrics]
    assert math.isnan(values[0])
    assert math.isnan(values[4])
    assert values[1:4] == [math.inf, 2.0**63, 1.0]
    assert made.refused == [
        *("number_too_large", "step_invalid", "number_too_large", "fields_invalid"),
    ]


def test_integers_that_the_store_cannot_hold_cost_their_own_line(tmp_path: Path) -> None:
    """The recorder would set aside the whole batch with every event in it; numbers count on up to the limit only."""
    made = run(
        tmp_path / "run",
        python(
            "import json\n"
            "def say(**line): print(json.dumps(line))\n"
            "most = 2**62 - 1\n"
            "say(global_step=most + 1, a=1)\n"
            "say(type='metric', name='b', value=2, step=most + 1)\n"
            "say(type='step', action=0, reward=1, env=most + 1)\n"
            "say(type='mosaic.thinned', steps=-5)\n"
            "say(type='step', action=0, reward=1, episode=most, step=most)\n"
            "say(type='step', action=0, reward=1)\n"
            "print('global_step=7, episodic_return=1.0')\n"
            "say(global_step=8, episodic_return=2)\n"
        ),
    )
    assert made.code == 0
    assert made.refused == ["step_invalid", "fields_invalid", "fields_invalid", "event_invalid"]
    assert [(name, step) for name, step, _ in made.metrics] == [
        *(("a", None), ("charts/episodic_return", 7), ("charts/episodic_return", 8)),
    ]
    most = 2**62 - 1
    assert [(step.episode, step.step) for step in made.of("step")] == [(most, most)] * 2
    assert [(end.episode, end.length) for end in made.of("episode")] == [(most, most), (most, 0)]


@pytest.mark.nightly(by_day=['"box"-2', '{"kind": "dict"}-0'])
@pytest.mark.parametrize(
    ("space", "kept"),
    [
        ("5", 2),
        ('"box"', 2),
        ('{"kind": "box", "dtype": "<f4"}', 0),
        ('{"kind": "dict"}', 0),
        ('{"kind": "dict", "spaces": [1]}', 0),
        ('{"kind": "dict", "spaces": {"a": {"kind": "discrete"}, "b": {"kind": "discrete"}}}', 1),
    ],
)
def test_a_space_that_explains_no_value_ends_no_program(
    tmp_path: Path, space: str, kept: int
) -> None:
    """A value that is no space, or lacks a part of one, makes the steps with observations refused, and nothing else."""
    made = run(
        tmp_path / "run",
        python(
            f'print(\'{{"type": "config", "spaces": {{"observation": {space}}}}}\')\n'
            'for seen in (\'{"a": 1}\', \'{"a": 1, "b": 2}\'):\n'
            '    print(f\'{{"type": "step", "action": 0, "reward": 1, "observation": {seen}}}\')\n'
            'print(\'{"step": 7, "loss": 1}\')\n'
        ),
    )
    assert made.code == 0
    assert len(made.of("step")) == kept
    assert made.refused == ["event_invalid"] * (2 - kept)
    assert made.metrics == [("loss", 7, 1.0)]


def test_a_line_behind_marks_and_nul_bytes_is_taken_or_refused(tmp_path: Path) -> None:
    """A byte order mark costs nothing; NUL bytes and an empty key are refused in words, and cost no more."""
    lines = [
        b'\xef\xbb\xbf{"step": 1, "a": 1}',
        b"\xef\xbb\xbfstep=2, a=2",
        b'\0\0{"step": 3, "a": 3}',
        b"\0step=3, a=3",
        '{"step": 3, "a": 3}'.encode("utf-16-le"),
        b'{"step": 4, "a": 4, "": 5}',
        b"just text \0",
    ]
    program = f"import sys\nfor line in {lines!r}:\n sys.stdout.buffer.write(line + b'\\n')\n"
    made = run(tmp_path / "run", python(program))
    assert made.metrics == [("a", 1, 1.0), ("a", 2, 2.0), ("a", 4, 4.0)]
    assert Counter(made.refused) == {"nul_bytes": 3, "key_empty": 1}


def test_many_refusals_are_counted_not_repeated(tmp_path: Path) -> None:
    """A program that prints a thousand broken lines gets a few words and a sum."""
    made = run(tmp_path / "run", python("for i in range(1000): print('{\"a\": ')"))
    assert made.refused == ["json_invalid"] * 5
    assert any(log.data.get("refused") == {"json_invalid": 1000} for log in made.of("log"))


def test_a_long_line_is_told_and_stands_in_the_log(tmp_path: Path) -> None:
    """5 MiB without a line's end are in the log to the last byte; the next line is read."""
    made = run(
        tmp_path / "run", python("print('z' * (5 * 2**20)); print('{\"step\": 1, \"after\": 2}')")
    )
    assert made.code == 0
    assert made.refused == ["line_too_long"]
    assert made.of("log")[0].data["line_bytes"] == 5 * 2**20
    assert b"z" * (5 * 2**20) in made.log
    assert made.metrics == [("after", 1, 2.0)]


def test_odd_bytes_survive_in_the_log(tmp_path: Path) -> None:
    """Broken UTF-8, colours and CR LF are in the log as they were printed."""
    odd = b"\xff\xfe \xe9t\xe9 \x1b[31mred\x1b[0m \x00 end\r\n"
    made = run(
        tmp_path / "run",
        python(
            f"import sys; sys.stdout.buffer.write({odd!r}); sys.stderr.buffer.write(b'err\\xff\\n')"
        ),
    )
    assert odd in made.log
    assert b"err\xff\n" in made.log
    assert made.code == 0


def test_bars_are_collapsed_and_hide_no_line(tmp_path: Path) -> None:
    """The log keeps a few states and the last of a bar that redraws itself ten thousand times."""
    made = run(
        tmp_path / "run",
        python(
            "import sys\n"
            "for i in range(10001):\n"
            "    sys.stderr.write(f'\\r{i:5d}/10000 [####]'); sys.stdout.write(f'\\r{i}%')\n"
            '    if i == 5000: sys.stdout.write(\'\\n{"step": 5, "m": 1}\\n\')\n'
            "sys.stderr.write('\\n')\n"
        ),
    )
    assert b"10000/10000 [####]\n" in made.log
    assert made.log.endswith(b"10000%") or b"\r10000%" in made.log
    assert len(made.log) < 2000
    assert made.metrics == [("m", 5, 1.0)]


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_passed_on(tmp_path: Path, code: int) -> None:
    """The pipe ends with the program's code, and the terminal event says the same."""
    made = run(tmp_path / "run", python(f"import sys; sys.exit({code})"))
    assert made.code == code
    last = made.records[-1]
    assert (last.phase, last.data["exit_code"]) == ("error" if code else "done", code)  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT])
def test_a_signal_is_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    """A program that a signal ends makes the pipe end by the same, after all is recorded."""
    made = run(tmp_path / "run", python(f"import os; os.kill(os.getpid(), {int(number)})"))
    assert made.code == -number
    last = made.records[-1]
    assert (last.phase, last.data["signal"]) == ("error", number)  # type: ignore[union-attr]


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    """Exit codes as shells have them, and the run says why."""
    made = run(tmp_path / "run", ["/no/such/program"])
    assert made.code == 127
    assert made.records[-1].phase == "error"  # type: ignore[union-attr]
    assert "/no/such/program" in made.records[-1].data["message"]  # type: ignore[union-attr]
    text = tmp_path / "text"
    text.write_text("no program")
    assert run(tmp_path / "run2", [str(text)]).code == 126


def _wait_for_log(folder: Path, text: bytes) -> None:
    deadline = time.monotonic() + 60
    while text not in (folder / "logs/worker.log").read_bytes():
        assert time.monotonic() < deadline
        time.sleep(0.02)  # a file has no event to wait for


def test_a_stop_reaches_the_program(tmp_path: Path) -> None:
    """SIGTERM is passed on; a program that saves and leaves with 0 has stopped, its checkpoint announced."""
    code = (
        "import json, pathlib, signal, sys, time\n"
        "def leave(*_):\n"
        "    pathlib.Path('model.bin').write_bytes(b'w')\n"
        "    print(json.dumps({'type': 'checkpoint', 'path': 'model.bin', 'step': 7, 'reason': 'stop'}))\n"
        "    sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready')\n"
        "time.sleep(60)\n"
    )
    folder = tmp_path / "run"
    process = start(folder, python(code))
    _wait_for_log(folder, b"ready")
    process.send_signal(signal.SIGTERM)
    made = finish(folder, process)
    assert made.code == 0
    assert made.records[-1].phase == "stopped"  # type: ignore[union-attr]
    assert made.of("checkpoint")[0].path == "model.bin"
    assert read_manifest(folder)[0]["step"] == 7


def test_a_program_without_a_handler_dies_of_the_stop(tmp_path: Path) -> None:
    """The end is recorded as a stop, and the pipe's exit shows the signal to its parent."""
    folder = tmp_path / "run"
    process = start(folder, python("import time; print('ready'); time.sleep(60)"))
    _wait_for_log(folder, b"ready")
    process.send_signal(signal.SIGTERM)
    made = finish(folder, process)
    assert made.code == -signal.SIGTERM
    assert made.records[-1].phase == "stopped"  # type: ignore[union-attr]


def test_a_child_that_keeps_stdout_does_not_hang_the_run(tmp_path: Path) -> None:
    """The program's end is the run's end; a process that holds its output open is reported and not waited for."""
    code = (
        "import subprocess, pathlib\n"
        "helper = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('helper.pid').write_text(str(helper.pid))\n"
        'print(\'{"step": 1, "last": 1}\')\n'
    )
    began = time.monotonic()
    folder = tmp_path / "run"
    made = run(folder, python(code))
    try:
        assert time.monotonic() - began < 120
        assert made.code == 0
        assert made.metrics == [("last", 1, 1.0)]
        assert made.refused == ["output_left_open"]
    finally:
        os.kill(int((folder / "helper.pid").read_text()), signal.SIGKILL)


def test_a_killed_pipe_takes_the_program_with_it(tmp_path: Path) -> None:
    """A program whose output nobody reads any more is asked to end."""
    folder = tmp_path / "run"
    process = start(
        folder, python("import os, time; print('pid', os.getpid(), flush=True); time.sleep(60)")
    )
    _wait_for_log(folder, b"pid ")
    pid = int((folder / "logs/worker.log").read_bytes().split()[1])
    process.kill()
    process.wait()
    with pytest.raises(ProcessLookupError):  # noqa: PT012 - until it is gone
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            os.kill(pid, 0)
            time.sleep(0.02)  # not our child: no event to wait for


def test_a_reader_that_reads_nothing_blocks_nobody(tmp_path: Path) -> None:
    """A full pipe behind mosaic-pipe costs the copy, never the program; the reader learns what it missed."""
    program = python("for i in range(20000): print('line', i, 'x' * 400)\nprint('done')")
    events = tmp_path / "events.jsonl"
    with subprocess.Popen(
        [*PIPE, "--events", str(events), "--", *program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as process:
        assert process.wait(60) == 0
    recorded = [json.loads(line) for line in events.read_text().splitlines()]
    assert recorded[-1]["phase"] == "done"
    assert any(event.get("data", {}).get("reason") == "output_lost" for event in recorded)


def test_a_reader_that_is_gone_blocks_nobody(tmp_path: Path) -> None:
    """With nobody at the other end the program still runs to its end and is recorded."""
    program = python('for i in range(2000): print(\'{"step": %d, "m": 1}\' % i)')
    events = tmp_path / "events.jsonl"
    with subprocess.Popen(
        [*PIPE, "--events", str(events), "--", *program],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(60) == 0
    recorded = [json.loads(line) for line in events.read_text().splitlines()]
    assert sum(event["type"] == "metric" for event in recorded) == 2000


def test_lines_of_several_processes_stay_whole(tmp_path: Path) -> None:
    """Four processes that print at once lose no line, in the log and in the events."""
    code = (
        "import json, multiprocessing as mp\n"
        "def say(i):\n"
        "    for s in range(2000): print(json.dumps({'global_step': s, f'w{i}': s}), flush=True)\n"
        "if __name__ == '__main__':\n"
        "    ps = [mp.Process(target=say, args=(i,)) for i in range(4)]\n"
        "    [p.start() for p in ps]; [p.join() for p in ps]\n"
    )
    (tmp_path / "program.py").write_text(code)
    made = run(tmp_path / "run", [sys.executable, str(tmp_path / "program.py")])
    assert Counter(name for name, _, _ in made.metrics) == {f"w{i}": 2000 for i in range(4)}
    assert made.log.count(b"\n") == 8000
    assert not made.refused


def test_a_python_program_finds_its_own_environment(tmp_path: Path) -> None:
    """Line buffering changes nothing else: search path, sitecustomize and PYTHONUNBUFFERED are as without MOSAIC."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text("import sys; sys.mine = 'seen'")
    code = (
        "import json, os, sys, subprocess\n"
        "here = dict(mine=sys.mine, line=sys.stdout.line_buffering, through=sys.stdout.write_through,"
        " path=[p for p in sys.path if 'line_buffering' in p], module=sys.modules['sitecustomize'].__file__,"
        " unbuffered=os.environ.get('PYTHONUNBUFFERED'))\n"
        "told = subprocess.run([sys.executable, '-c', 'import sys; print(sys.stdout.line_buffering)'],"
        " stdout=open('child', 'w'))\n"
        "print(json.dumps({'type': 'test.environment', **here, 'child': open('child').read().strip()}))\n"
    )
    folder = make_run_folder(tmp_path / "run")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), "PYTHONUNBUFFERED": "1"}
    command = [*PIPE, "--run-dir", str(folder), "--", *python(code)]
    under_runner = environment | {"MOSAIC_RUNNER_PID": "1"}
    subprocess.run(command, cwd=folder, env=under_runner, check=True, capture_output=True)
    assert ProgramRun(folder, 0, b"").of("test.environment")[0].data == {
        "mine": "seen",
        "line": True,
        "through": False,
        "path": [],
        "module": str(tmp_path / "site/sitecustomize.py"),
        "unbuffered": None,
        "child": "False",  # its stdout is a file, which nobody reads line by line
    }


def test_several_returns_are_several_episodes(tmp_path: Path) -> None:
    """Each value of a printed array ends an episode with its length; what is no number is refused and named."""
    lines = [
        "global_step=100, episodic_return=[45. 12.], episodic_length=[9 3]",
        "[12:00:01] global_step=200, episodic_return=tensor([7.], device='cuda:0')",
        '{"global_step": 300, "episodic_return": [[1.5], [2.5]]}',
        '{"global_step": 400, "episodic_return": "tensor(3.)", "episodic_length": 4}',
        "global_step=500, episodic_return=unknown",
        "global_step=600, episodic_return=45.0 was the best",
    ]
    made = run(tmp_path / "run", python(f"print({chr(10).join(lines)!r})"))
    ends = [(e.episode, e.episode_return, e.length, e.global_step) for e in made.of("episode")]
    assert ends == [
        *((0, 45.0, 9, 100), (1, 12.0, 3, 100), (2, 7.0, 0, 200)),
        *((3, 1.5, 0, 300), (4, 2.5, 0, 300), (5, 3.0, 4, 400)),
    ]
    values = [value for name, _, value in made.metrics if name == "charts/episodic_return"]
    assert values == [45.0, 12.0, 7.0, 1.5, 2.5, 3.0]
    assert made.refused == ["return_unread", "pairs_unread"]
    assert "1 return_unread, 1 pairs_unread" in made.notes[0]


SB3_ROWS = "| rollout/ |  |\n|    ep_rew_mean | {0} |\n| time/ |  |\n|    total_timesteps | {1} |"


def test_tables_and_objects_of_stable_baselines3(tmp_path: Path) -> None:
    """Its table and its JSON lines are curves over the environment steps, also the table that the end cuts off."""
    line = "-" * 20
    blocks = [f"{line}\n{SB3_ROWS.format(i + 0.5, 2048 * i)}\n{line}" for i in (1, 2)]
    blocks.append('{"rollout/ep_rew_mean": 9.5, "time/fps": 1, "time/total_timesteps": 8192}')
    blocks.append(SB3_ROWS.format(4, 9000))
    made = run(tmp_path / "run", python(f"print({chr(10).join(blocks)!r})"))
    assert [m for m in made.metrics if m[0] == "rollout/ep_rew_mean"] == [
        *(("rollout/ep_rew_mean", 2048, 1.5), ("rollout/ep_rew_mean", 4096, 2.5)),
        *(("rollout/ep_rew_mean", 8192, 9.5), ("rollout/ep_rew_mean", 9000, 4.0)),
    ]
    assert {name for name, _, _ in made.metrics} == {"rollout/ep_rew_mean", "time/fps"}
    assert made.notes == []


def test_output_that_is_not_understood_is_noted_with_the_run(tmp_path: Path) -> None:
    """A run whose output has no event says so in a note that stays after its end."""
    made = run(tmp_path / "run", python("print('episode 1 was good')"))
    assert made.code == 0
    assert [note for note in made.notes if "no line that is an event" in note] == made.notes
    assert len(made.notes) == 1


@pytest.mark.nightly(by_day=["broken0", '{"type": "step", "reward": 1e400}'])
@pytest.mark.parametrize(
    "broken",
    [
        '{"type": "step", "reward": 1.0, "observation": [' + "0," * 600_000 + "0]}",
        '{"observation": [' + "0," * 600_000 + '0], "reward": 1.0, "type": "step"}',
        '{"type": "step", "action": 1}',
        '{"type": "step", "reward": 1e400}',
        '{"type": "step", "reward": 1.0, "observation": [1, 2, 3]}',
        '{"type": "step", "reward": 1.0, "observation": [1, ',
    ],
)
def test_a_step_that_is_not_kept_leaves_a_hole(tmp_path: Path, broken: str) -> None:
    """A refused step keeps its number: later steps are not renumbered, and episode and run count the hole."""
    config = {
        "type": "config",
        "spaces": {"observation": {"kind": "box", "dtype": "<f4", "shape": [2]}},
    }
    good = '{"type": "step", "reward": 1.0, "observation": [0, 1]}'
    last = '{"type": "step", "reward": 1.0, "observation": [0, 1], "terminated": true}'
    lines = [json.dumps(config), '{"type": "episode_start"}', good, broken, good, last]
    lines += ['{"type": "episode", "return": 4.0, "terminated": true}', good]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    made = run(tmp_path / "run", ["cat", str(tmp_path / "lines")])
    steps = [(step.episode, step.step) for step in made.of("step")]
    assert steps == [(0, 1), (0, 3), (0, 4), (1, 1)]
    assert [episode.length for episode in made.of("episode")] == [4]
    assert [lost.data for lost in made.of("mosaic.thinned")] == [{"steps": 1}]
    assert len(made.refused) == 1


def test_a_step_that_is_not_kept_keeps_the_number_that_it_names(tmp_path: Path) -> None:
    """The program's own numbers hold, for the refused step and for those after it."""
    lines = [
        *('{"type": "step", "env": 2, "episode": 7, "step": 3, "reward": 1.0}',),
        *('{"type": "step", "env": 2, "episode": 7, "step": 4, "reward": "x"}',),
        *('{"type": "step", "env": 2, "reward": 1.0, "episode": 7}',),
    ]
    made = run(tmp_path / "run", python(f"print({chr(10).join(lines)!r})"))
    assert [(s.env, s.episode, s.step) for s in made.of("step")] == [(2, 7, 3), (2, 7, 5)]


def test_silence_is_reported(tmp_path: Path) -> None:
    """A program that prints nothing ends as it ended, with a word on what is missing."""
    made = run(tmp_path / "run", python("pass"))
    assert made.code == 0
    assert "no line that is an event" in made.of("log")[0].message


def test_a_full_outbox_holds_the_program_but_not_its_stop(tmp_path: Path) -> None:
    """While the outbox waits for room the program waits too, and a stop still reaches it at once."""
    folder = tmp_path / "run"
    make_run_folder(folder, outbox_bytes=16 * 2**20)
    code = (
        'i = 0\nwhile True:\n    print(\'{"step": %d, "text": "%s"}\' % (i, \'x\' * 5000)); i += 1'
    )
    process = subprocess.Popen(
        [*PIPE, "--run-dir", str(folder), "--", *python(code)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
    )
    waiting = folder / "outbox/1/worker/waiting"
    deadline = time.monotonic() + 60
    while not waiting.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)  # a file has no event to wait for
    child = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
    end = os.pidfd_open(child)
    process.send_signal(signal.SIGTERM)
    assert select.select([end], [], [], 10)[0]
    os.close(end)
    process.kill()
    process.wait()
