"""The checks find what they are for, and pass what is right."""

from pathlib import Path

import pytest

from checks.addresses import find_addresses
from checks.language import find_language
from checks.locks import find_lock_faults
from checks.subjects import find_subjects
from checks.texts import find_fixed_texts
from checks.third_party import find_foreign_imports


def write(root: Path, name: str, text: str) -> list[str]:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return [name]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('topic = f"mosaic.v1.events.{run}"\n', [1]),
        ('x = 1\ny = b"mosaic.v1.live.>"\n', [2]),
        ('everything = "mosaic.v1" + ".>"\n', [1]),
        ('"""Sends on the subject mosaic.v1.events.<run>."""\n', []),
        ('protocol = "mosaic.json.v1"\n', []),
    ],
)
def test_a_subject_spelled_in_shipped_code_is_found(
    tmp_path: Path, text: str, lines: list[int]
) -> None:
    """Only a string that is a subject counts, also in parts of an f-string; prose may name one."""
    names = write(tmp_path, "services/recorder/src/mosaic_recorder/consumer.py", text)
    found = [int(finding.split(":")[1]) for finding in find_subjects(tmp_path, names)]
    assert found == lines


@pytest.mark.parametrize(
    "name",
    ["packages/contracts/src/mosaic_contracts/subjects.py", "services/recorder/tests/test_it.py"],
)
def test_subjects_may_be_spelled_at_home_and_in_tests(tmp_path: Path, name: str) -> None:
    """The builder itself and a test's expected value are no findings."""
    assert find_subjects(tmp_path, write(tmp_path, name, 'x = "mosaic.v1.events.>"\n')) == []


@pytest.mark.parametrize(
    ("name", "text", "package"),
    [
        (
            "services/gateway/src/mosaic_gateway/api/app.py",
            "import sys\nimport torch.nn\n",
            "torch",
        ),
        ("services/recorder/src/mosaic_recorder/x.py", "def f():\n    import httpx\n", "httpx"),
        ("packages/store/src/mosaic_store/x.py", "from nats.js import api\n", "nats"),
        ("services/recorder/src/mosaic_recorder/x.py", "from nats.js import api\n", ""),
        ("services/recorder/src/mosaic_recorder/x.py", "import mosaic_store, sqlite3\n", ""),
        ("services/worker_cleanrl/src/mosaic_worker_cleanrl/x.py", "import torch\n", ""),
        ("services/gateway/tests/test_app.py", "import torch\n", ""),
    ],
)
def test_a_room_imports_only_what_the_table_gives_it(
    tmp_path: Path, name: str, text: str, package: str
) -> None:
    """A package of others is found wherever it is imported; the standard library and ours pass."""
    found = find_foreign_imports(tmp_path, write(tmp_path, name, text))
    assert len(found) == bool(package)
    assert all(f"imports {package}," in finding for finding in found)


@pytest.mark.parametrize(
    ("name", "line", "fault"),
    [
        ("services/worker_cleanrl/requirements.lock", "torch==2.13.0 \\", "names torch"),
        ("services/worker_cleanrl/requirements.dev.lock", "nvidia-cublas==1.0 \\", "names nvidia"),
        ("services/worker_cleanrl/requirements.lock", "triton==3.0 ; x \\", "names triton"),
        ("services/gateway/requirements.lock", "docker==7.0 \\", "must not import"),
        ("cli/requirements.lock", "rich==15.0.0", "without a hash"),
        ("services/worker_cleanrl/requirements.cuda.lock", "torch==2.13.0 \\", ""),
        ("services/worker_cleanrl/requirements.cpu.lock", "torch==2.13.0+cpu \\", ""),
        ("services/worker_cleanrl/requirements.cpu.lock", "torch==2.13.0+cpu", "without a hash"),
        ("services/worker_cleanrl/requirements.cpu.lock", "nvidia-cublas==1.0 \\", "names nvidia"),
        ("services/worker_cleanrl/requirements.cpu.lock", "triton==3.0 \\", "names triton"),
        ("services/scheduler/requirements.lock", "docker==7.0 \\", ""),
        ("cli/requirements.lock", "rich==15.0.0 \\", ""),
    ],
)
def test_a_lock_names_only_what_its_room_may_have(
    tmp_path: Path, name: str, line: str, fault: str
) -> None:
    """Torch and CUDA, a forbidden package and a missing hash are each said; the rest passes."""
    found = find_lock_faults(tmp_path, write(tmp_path, name, f"{line}\n    --hash=sha256:00\n"))
    assert len(found) == bool(fault)
    assert all(fault in finding for finding in found)


def test_registry_addresses_and_machine_paths_are_found(tmp_path: Path) -> None:
    """Each kind of address is named with its line; other addresses and general paths pass."""
    registry = "https://" + "pypi" + ".org/simple"  # in parts, for this file is checked too
    root = tmp_path / "checkout"
    names = write(
        root,
        "notes.md",
        f"https://nats.io\n{registry}\n{root}/var\n{tmp_path}/wheels\n/home/ann/.ssh\n/usr/bin\n",
    )
    found = find_addresses(root, names, home=Path("/home/ann"))
    assert sorted({int(finding.split(":")[1]) for finding in found}) == [2, 3, 4, 5]


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ('label.setText("Nothing ran")', "setText shows"),
        ('menu.addAction("Stop")', "addAction shows"),
        ('made = QLabel("Stop")', "QLabel shows"),
        ('label.setText(f"{count} runs")', "setText shows"),
        ('REASON = "Nothing listens there."', "words for the user"),
        ('return f"The worker {name} is gone."', "words for the user"),
        ('label.setText(tr(f"{count} runs"))', "takes a literal"),
        ("label.setText(tr(words))", "takes a literal"),
        ('label.setText(tr("{0} runs").format(count))', "by name"),
        ("label.setText(f\"{tr('Undo')}: {what}\")", "within an f-string"),
        ('label.setText(self.tr("Stop"))', "not Qt's"),
        ('label.setText(tr("Stop"))', ""),
        ('label.setText(tr_n("{n} run", "{n} runs", count))', ""),
        ('WORDS = {1: mark("It has ended.")}', ""),
        ("label.setText(tr_mark(WORDS[state]))", ""),
        ('label.setText("  ·  ")', ""),
        ('label.setText(f"<b>{name}</b>")', ""),
        ('made.setStyleSheet("color: red; font-weight: 600;")', ""),
        ('raise RuntimeError("there is no window yet")', ""),
        ('"""Words on the module."""', ""),
        ('COMMAND = "wandb sync it"  # unsaid: a command', ""),
    ],
)
def test_a_text_of_the_window_that_cannot_be_translated_is_found(
    tmp_path: Path, code: str, fault: str
) -> None:
    """Whatever is shown goes through a translating function, as a literal of its own."""
    names = write(tmp_path, "gui/src/mosaic_gui/views/page.py", f"{code}\n")
    found = find_fixed_texts(tmp_path, names)
    assert (fault in found[0]) if fault else found == []


def test_what_a_terminal_is_told_is_english(tmp_path: Path) -> None:
    """Help of the command line and errors before there is a window are no texts of the window."""
    code = 'print("Qt cannot be loaded here.")\n'
    assert find_fixed_texts(tmp_path, write(tmp_path, "gui/src/mosaic_gui/__main__.py", code)) == []
    assert find_fixed_texts(tmp_path, write(tmp_path, "cli/src/mosaic_cli/x.py", code)) == []


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cli/src/x.py", 'out("It was told so.")\n', ["told"]),
        ("packages/client/src/x.py", 'def f():\n    """Of the next request."""\n', ["Of"]),
        ("docs/x.md", "It lies beside it.\n```\ntold\n```\n`tells`\n", ["beside"]),
        ("gui/src/x.py", 'x = "Whoever asks"  # told\n', ["Whoever"]),
        ("docs/x.md", "Of course it is recorded.\n", []),
    ],
)
def test_words_to_decode_are_found_where_people_read(
    tmp_path: Path, name: str, text: str, words: list[str]
) -> None:
    """Texts, public docstrings and prose; neither code nor names in it."""
    limits = tmp_path / "limits.toml"
    limits.write_text("users = 0\npublic = 0\n")
    findings = find_language(tmp_path, write(tmp_path, name, text), limits)
    assert [finding.split("'")[1] for finding in findings] == words


def test_a_limit_of_words_can_only_fall(tmp_path: Path) -> None:
    """Fewer uses than allowed are a finding until the limit is lowered to them."""
    limits = tmp_path / "limits.toml"
    limits.write_text("users = 2\n")
    names = write(tmp_path, "docs/x.md", "It is told.\n")
    assert "lower its limit from 2" in find_language(tmp_path, names, limits)[0]
    limits.write_text("users = 1\n")
    assert find_language(tmp_path, names, limits) == []
