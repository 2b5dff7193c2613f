"""Secrets: no value gets into the log or the events, in the forms in which programs write values."""

import base64
import json
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pipe.program_run import PIPE
from tests.run_folder import RUN_ID, make_run_folder

from mosaic_contracts.wire import event_type
from mosaic_workerkit.masking import MaskedStream, SecretMask, read_secrets, unmasked_words
from mosaic_workerkit.outbox.unshipped import read_unshipped

VALUE = 'sk-t0p/"hush"+éÿ-Zk9'
IDLE = [sys.executable, "-m", "mosaic_workerkit.check_worker.idle_shipper"]
_mask = SecretMask({"KEY": VALUE})


@pytest.mark.parametrize(
    "written",
    [
        *(VALUE, json.dumps(VALUE), json.dumps(VALUE, ensure_ascii=False), repr(VALUE)),
        *(quote(VALUE), quote(VALUE, safe=""), VALUE.encode().hex()),
        *(ascii(VALUE), repr(VALUE.encode())),
        *(f"Bearer {VALUE}", f"a{VALUE}{VALUE}b"),
    ],
)
def test_a_value_is_masked_however_it_is_written(written: str) -> None:
    """The value is masked plain, in JSON, in a URL, as repr and in hexadecimal; the text around it stays."""
    masked = _mask.in_text(f"x {written} y")
    assert "[secret KEY]" in masked
    assert masked.startswith("x ")
    assert masked.endswith(" y")
    assert "t0p" not in masked
    assert VALUE.encode().hex()[10:20] not in masked


@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("before", range(5))
@pytest.mark.parametrize("after", range(4))
def test_a_value_inside_base64_is_masked(encode: object, before: int, after: int) -> None:
    """Base64 of the value, alone or with other bytes around it, leaves at most its outermost characters."""
    encoded = encode(b"u" * before + VALUE.encode() + b"v" * after)  # type: ignore[operator]
    masked = _mask.in_bytes(encoded)
    assert b"[secret KEY]" in masked
    assert len(masked.replace(b"[secret KEY]", b"")) <= len(base64.b64encode(b"u" * before)) + 8


def test_a_value_of_many_lines() -> None:
    """A key of many lines is masked line by line and in wrapped Base64; what every key begins with is not."""
    lines = [base64.b64encode(bytes([i] * 48)).decode() for i in range(20)]
    value = "\n".join(["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"])
    mask = SecretMask({"PEM": value + "\n"})
    assert mask.in_text(f"cat: {value}") == "cat: [secret PEM]"
    assert mask.in_text(lines[7]) == "[secret PEM]"
    wrapped = base64.encodebytes(value.encode())
    assert all(line == b"[secret PEM]" for line in mask.in_bytes(wrapped).splitlines()[:-1])
    assert mask.in_text("-----BEGIN PRIVATE KEY-----") == "-----BEGIN PRIVATE KEY-----"


def test_a_password_in_a_url() -> None:
    """The password of a proxy's URL is masked by itself, too."""
    mask = SecretMask({"HTTPS_PROXY": "http://me:pa%20ss@proxy:3128"})
    for written in ("http://me:pa%20ss@proxy:3128", "me:pa%20ss", "pa%20ss", "pa ss"):
        assert mask.in_text(written) == "[secret HTTPS_PROXY]"
    assert mask.in_text("http://proxy:3128") == "http://proxy:3128"


_pieces = st.sampled_from(
    [
        *(VALUE.encode(), base64.b64encode(VALUE.encode()), b"aab-aab-aac", b"aab-", b"a", b"\n"),
        *(VALUE.encode()[:7], VALUE.encode()[3:], b"text"),
    ]
)


@given(st.lists(_pieces, max_size=12), st.lists(st.integers(1, 20), min_size=1, max_size=30))
def test_a_stream_is_masked_wherever_chunks_end(pieces: list[bytes], sizes: list[int]) -> None:
    """The same bytes give the same masked bytes, however they come."""
    mask = SecretMask({"KEY": VALUE, "OTHER": "aab-aab-aac"})
    data, at = b"".join(pieces), 0
    out: list[bytes] = []
    stream = MaskedStream(mask, out.append)
    for size in sizes:
        stream.feed(data[at : at + size])
        at += size
    stream.feed(data[at:])
    stream.finish()
    assert b"".join(out) == mask.in_bytes(data)
    assert VALUE.encode() not in b"".join(out)


def test_text_is_not_held_back() -> None:
    """Only what may be the beginning of a value waits for more output."""
    out: list[bytes] = []
    stream = MaskedStream(_mask, out.append)
    stream.feed(b"Password: ")
    stream.feed(b"please say sk")
    assert out == [b"Password: ", b"please say "]


def test_secrets_of_a_run(tmp_path: Path) -> None:
    """Values come from the files that the environment names, XMPP passwords too; what cannot be masked is said."""
    (tmp_path / "api_key").write_text(VALUE)
    (tmp_path / "short").write_text("abc\n")
    accounts = [{"name": "agent-1", "password": "0123456789"}]
    (tmp_path / "access.json").write_text(json.dumps({"accounts": accounts}))
    environment = {
        "MOSAIC_SECRET_API_KEY_FILE": str(tmp_path / "api_key"),
        "MOSAIC_SECRET_SHORT_FILE": str(tmp_path / "short"),
        "MOSAIC_SECRET_GONE_FILE": str(tmp_path / "gone"),
        "MOSAIC_XMPP_FILE": str(tmp_path / "access.json"),
        "MOSAIC_HOME": "/x",
    }
    values = read_secrets(environment)
    assert values == {
        "api_key": VALUE,
        "short": "abc\n",
        "gone": None,
        "XMPP password agent-1": "0123456789",
    }
    assert [words.split(" is ")[0] for words in unmasked_words(values)] == [
        "The secret gone could not be read and",
        "The secret short",
    ]
    assert not SecretMask({"short": "abc", "empty": "", "gone": None})


TELLS = """
import base64, json, pathlib, sys
value = pathlib.Path(sys.argv[1]).read_text()
print("plain", value)
print(json.dumps({"step": 1, "m": 2, "key": value, value: 3.0}))
print(json.dumps({"type": "log", "message": "got " + base64.b64encode(value.encode()).decode()}))
print(json.dumps({"type": "test.tells", "list": [value, {value: 1}]}))
print("step=1 loss=2 " + value)
print(value[:5], end="", flush=True); print(value[5:])
pathlib.Path("a.txt").write_text("x")
print(json.dumps({"type": "artifact", "path": "a.txt", "kind": value}))
print("err", value, file=sys.stderr)
sys.exit(value)
"""
PYTHON_WORKER = """
import os, pathlib, sys
from mosaic_workerkit.entry import main
class Worker:
    def describe(self): ...
    def check(self, spec): ...
    def train(self, context):
        value = pathlib.Path(os.environ["MOSAIC_SECRET_API_KEY_FILE"]).read_text()
        tell = context.telemetry
        tell.config({"arguments": {"key": value}})
        tell.metric("m", 1, 2.0)
        tell.metric(value, 1, 2.0)
        tell.hashed_step(0, 0, 1, value, 1.0, 0, b"12345678")
        tell.note("n", "uses " + value)
        print("plain", value, flush=True)
        raise ValueError(value)
sys.exit(main(Worker(), sys.argv[1:]))
"""


@pytest.mark.parametrize("way", ["pipe", "python"])
def test_a_secret_stands_nowhere(tmp_path: Path, way: str) -> None:
    """A run that prints and records its secret has it in no file but its own, and says so once for each secret."""
    folder = tmp_path / "run"
    secret = tmp_path / "api_key"
    secret.write_text(VALUE)
    (tmp_path / "program.py").write_text(TELLS if way == "pipe" else PYTHON_WORKER)
    program = [sys.executable, str(tmp_path / "program.py")]
    argv = [*PIPE, "--run-dir", str(folder), "--", *program, str(secret)]
    argv = argv if way == "pipe" else [*program, "train", "--run-dir", str(folder)]
    make_run_folder(folder, worker_argv=argv, shipper_argv=IDLE, drain_s=2)
    launch = json.loads((folder / "control/launch.json").read_text())
    launch["env"] = {"MOSAIC_SECRET_API_KEY_FILE": str(secret)}
    (folder / "control/launch.json").write_text(json.dumps(launch))
    runner = [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)]
    done = subprocess.run(runner, capture_output=True, check=True, timeout=60)
    shown = [*VALUE.split('"'), base64.b64encode(VALUE.encode()).decode()[8:20]]
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    for piece in (part for part in shown if len(part) > 3):
        assert piece.encode() not in done.stderr
        assert [path for path, data in files.items() if piece.encode() in data] == []
    log = (folder / "logs/worker.log").read_text()
    assert "plain [secret api_key]\n" in log
    report = json.loads((folder / "control/exit.json").read_text())
    assert report["code"] == 1
    assert len([note for note in report["notes"] if "api_key was printed or recorded" in note]) == 1
    kinds = [event_type(record) for _, record in read_unshipped(folder, RUN_ID)]
    assert kinds.count("metric") == 2
    if way == "python":
        assert report["last_words"] == "ValueError: [secret api_key]"
    else:
        assert log.count("\n") == 9
        assert '"key": "[secret api_key]"' in log


def test_a_captured_worker_behaves_as_any(tmp_path: Path) -> None:
    """With secrets the log has every byte in order, a stop reaches the worker, and its end is its own."""
    folder = tmp_path / "run"
    secret = tmp_path / "api_key"
    secret.write_text(VALUE)
    code = "import os, sys\nfor i in range(60000): print(i, 'x' * 60)\nsys.stdout.flush(); os.kill(os.getpid(), 11)"
    argv = [*PIPE, "--run-dir", str(folder), "--", sys.executable, "-c", code]
    make_run_folder(folder, worker_argv=argv, shipper_argv=IDLE, drain_s=2)
    launch = json.loads((folder / "control/launch.json").read_text())
    launch["env"] = {"MOSAIC_SECRET_API_KEY_FILE": str(secret)}
    (folder / "control/launch.json").write_text(json.dumps(launch))
    runner = [sys.executable, "-m", "mosaic_workerkit.runner", "--run-dir", str(folder)]
    subprocess.run(runner, capture_output=True, check=True, timeout=60)
    lines = (folder / "logs/worker.log").read_text().splitlines()
    assert [int(line.split()[0]) for line in lines] == list(range(60000))
    report = json.loads((folder / "control/exit.json").read_text())
    assert (report["signal"], report["notes"][1:]) == (11, [])
