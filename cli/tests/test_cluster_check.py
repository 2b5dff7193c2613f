"""What `doctor` says of a Slurm cluster."""

from pathlib import Path

import pytest
from tests.gateway_double import Mosaic

from mosaic_cli.cluster_check import settings_findings, slurm_findings, start_fault
from mosaic_contracts.slurm_settings import parse_settings

GOOD = """\
KillWait                = 60 sec
MinJobAge               = 300 sec
ProctrackType           = proctrack/cgroup
SLURM_VERSION           = 22.05.8
TaskPlugin              = task/affinity,task/cgroup
ConstrainRAMSpace       = yes
"""


def test_a_site_that_is_set_up_well() -> None:
    """One line, with the version."""
    (found,) = settings_findings(parse_settings(GOOD))
    assert (found.level, found.message) == ("ok", "Slurm 22.05.8 answers")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("KillWait                = 60", "KillWait = 10", "KillWait is 10 s"),
        ("MinJobAge               = 300", "MinJobAge = 30", "MOSAIC_SLURM_POLL_S"),
        ("task/affinity,task/cgroup", "task/none", "no job is held to its memory"),
        ("proctrack/cgroup", "proctrack/linuxproc", "can outlive its job"),
    ],
)
def test_each_setting_that_costs_something(before: str, after: str, words: str) -> None:
    """What it costs, and what can be done."""
    _, found = settings_findings(parse_settings(GOOD.replace(before, after)))
    assert found.level == "warning"
    assert words in found.message


def test_no_slurm_is_no_finding(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Only a stack that is to use one needs its programs."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert slurm_findings(is_wanted=False, partition="", is_broker_open=False) == []
    (found,) = slurm_findings(is_wanted=True, partition="", is_broker_open=False)
    assert found.level == "blocking"
    assert "login node" in found.message


def test_a_controller_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Slurm's own words are shown."""
    program = tmp_path / "scontrol"
    program.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    (found,) = slurm_findings(is_wanted=True, partition="gpu", is_broker_open=False)
    assert (found.level, "Unable to contact" in found.message) == ("blocking", True)


@pytest.mark.parametrize(
    ("nodes", "is_open", "is_warned"),
    [
        (["127.0.0.1", "203.0.113.1"], False, True),  # an address for documentation
        (["127.0.0.1", "203.0.113.1"], True, False),
        (["127.0.0.1"], False, False),
    ],
)
def test_a_broker_that_nodes_do_not_reach(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    nodes: list[str],
    is_open: bool,
    is_warned: bool,
) -> None:
    """The warning names a node and the option; one machine that is its own cluster is well."""
    for name, printed in {"scontrol": GOOD, "sinfo": "\n".join(nodes)}.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{printed}\nEND\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    findings = slurm_findings(is_wanted=True, partition="", is_broker_open=is_open)
    said = [found.message for found in findings]
    assert ["--broker-bind" in words for words in said] == [False, *([True] if is_warned else [])]
    assert all("203.0.113.1" in words for words in said[1:])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--images", "."], "add `--placement slurm`"),
        (["--images", "gone", "--placement", "slurm"], "./mosaic images export cleanrl -o gone/"),
    ],
)
def test_a_folder_of_images_that_cannot_be_used_is_refused(
    mosaic: Mosaic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], says: str
) -> None:
    """Before anything starts: another kind of placement, and a folder that is not there."""
    monkeypatch.chdir(tmp_path)
    code, out, err = mosaic("up", "-d", *options)
    assert (code, out) == (2, "")
    assert says in err


@pytest.mark.parametrize(
    ("partition", "words"),
    [
        ("", ""),
        ("low", ""),
        ("main,low", ""),
        ("gpu", "the cluster has no partition gpu. It has main, low (`--partition`)."),
        ("main,gpu", "the cluster has no partition gpu"),
    ],
)
def test_a_partition_that_the_cluster_does_not_have(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, partition: str, words: str
) -> None:
    """Refused before the stack starts, and by `doctor`, with those that there are."""
    answers = {"scontrol": GOOD, "sinfo": "main\nlow\nmain\n"}
    for name in ("sbatch", "squeue", "scancel", *answers):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\ncat <<'END'\n{answers.get(name, '')}\nEND\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert words in start_fault(partition)
    assert bool(words) is bool(start_fault(partition))
    found = slurm_findings(is_wanted=True, partition=partition, is_broker_open=True)
    assert ["blocking" for one in found if one.level == "blocking"] == (["blocking"] * bool(words))


def test_a_controller_that_is_away_does_not_keep_a_stack_from_starting(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Live runs are to be taken up. Only programs that are missing are a fault then."""
    for name in ("sbatch", "squeue", "scancel", "scontrol", "sinfo"):
        program = tmp_path / name
        program.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert start_fault("gpu") == ""
    (tmp_path / "squeue").unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "Missing: squeue." in start_fault("gpu")
