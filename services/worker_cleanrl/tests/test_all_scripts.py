"""Each script of CleanRL runs for a few hundred steps or says why it cannot, and the table of the docs agrees.

The default suite runs those that cost a second. `--all-scripts` runs every one, JAX and Atari included, and
`--cleanrl-checkout FOLDER` those of a checkout of CleanRL too:

    var/venvs/worker_cleanrl/bin/python -m pytest tests/test_all_scripts.py --all-scripts --cleanrl-checkout FOLDER
"""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.real_run import FinishedTraining, finish_child, last_checkpoint, start_child
from tests.script_cases import SCRIPT_CASES, ScriptCase

from mosaic_contracts.spec import RunSpec
from mosaic_worker_cleanrl.algorithm import SCRIPTS
from mosaic_worker_cleanrl.checkout import scripts_of, use_checkout
from mosaic_worker_cleanrl.plan import check_run
from mosaic_worker_cleanrl.schema.document import parameter_schema
from mosaic_worker_cleanrl.table import LATER, TABLE
from mosaic_workerkit.testing.recorded import of_type

pytestmark = pytest.mark.timeout(600)
PAGE = Path(__file__).resolve().parents[3] / "docs/cleanrl.md"
RUNNABLE = sorted(name for name, script in TABLE.items() if not script.unavailable)


def test_each_script_of_the_package_is_offered() -> None:
    """All 28 files are there with their arguments, and what cannot run says why."""
    folder = TABLE["ppo"].source().parent
    files = {path.stem for path in (*folder.glob("*.py"), *folder.glob("*isaacgym/*.py"))}
    assert {script.source().stem for script in SCRIPTS.values()} == files
    assert len(SCRIPTS) == 28
    for name, script in SCRIPTS.items():
        assert {"seed", "env_id", "total_timesteps"} <= set(
            parameter_schema(script.source())["properties"]
        )
        assert (name in SCRIPT_CASES) == (not script.unavailable)


@pytest.mark.parametrize("name", sorted(set(TABLE) - set(RUNNABLE)))
def test_a_script_that_cannot_run_is_refused_with_the_reason(name: str, make_spec: Any) -> None:
    """`check`, which preflight and start ask, says why and what to do instead."""
    report = check_run(make_spec(algorithm=name))
    (why,) = [finding for finding in report.findings if finding.where == "algorithm"]
    assert why.level == "blocking"
    assert "cannot run in this worker" in why.message
    assert "./mosaic run" in why.message
    assert all(nearest in RUNNABLE for nearest in why.nearest)


@pytest.mark.nightly(by_day=["ppo", "dqn", "ppo_continuous_action"])
@pytest.mark.parametrize("name", RUNNABLE)
def test_a_script_runs(
    name: str, tmp_path: Path, make_spec: Any, request: pytest.FixtureRequest
) -> None:
    """It ends well, with metrics, losses, episodes' environments and a checkpoint."""
    case = SCRIPT_CASES[name]
    if not case.is_quick and not request.config.getoption("--all-scripts"):
        pytest.skip("--all-scripts runs it")
    _expect_learned(_run(tmp_path / "run", make_spec(**case.spec(name))), case)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each script of the checkout that is given, and one that is skipped where none is."""
    if "checkout_script" in metafunc.fixturenames:
        folder = metafunc.config.getoption("--cleanrl-checkout")
        scripts = scripts_of(Path(folder).absolute()) if folder else {}
        names = [name for name, script in scripts.items() if not script.unavailable]
        metafunc.parametrize("checkout_script", names or [None])


def test_a_script_of_a_checkout_runs(
    checkout_script: str | None, tmp_path: Path, make_spec: Any, request: pytest.FixtureRequest
) -> None:
    """As one of the package, with the id of the worker for the checkout and the digest of the script."""
    if checkout_script is None:
        pytest.skip("--cleanrl-checkout FOLDER runs those of a checkout")
    folder = Path(request.config.getoption("--cleanrl-checkout")).absolute()
    case = SCRIPT_CASES[checkout_script]
    fields = {**case.spec(checkout_script), "worker": "mine"}
    if checkout_script == "ppo_atari_multigpu":  # its later version counts games of one process
        given = dict(case.parameters)
        given["local_num_envs"] = given.pop("num_envs")
        fields["parameters"] = given
    spec = make_spec(**fields)
    done = _run(tmp_path / "run", spec, partial(use_checkout, "mine", folder))
    _expect_learned(done, case)
    config = done.events[0]["data"]
    kept = done.folder / config["script_file"]["path"]
    assert kept.read_bytes() == scripts_of(folder)[checkout_script].source().read_bytes()
    if "num_steps" in config["arguments"]:  # computed by the script; no argument that can be set
        assert config["arguments"]["batch_size"] == math.prod(
            config["arguments"][name] for name in ("num_envs", "num_steps")
        )


def _run(
    folder: Path, spec: RunSpec, prepare: Callable[[], None] | None = None
) -> FinishedTraining:
    """Run to the end; a compilation by JAX, or Rainbow's network, takes long on a busy machine."""
    return finish_child(start_child(folder, spec, prepare), folder, timeout_s=500)


def _expect_learned(done: FinishedTraining, case: ScriptCase) -> None:
    assert done.code == 0, done.stderr[-3000:]
    names = {metric["name"] for metric in of_type(done.events, "metric")}
    assert any(name.startswith("losses/") for name in names), names
    state = torch.load(last_checkpoint(done), weights_only=True)
    assert state["global_step"] >= case.steps - 1
    assert all(state["networks"].values())
    assert state["optimizers"]


def test_the_table_of_the_docs_is_what_describe_says() -> None:
    """The page has a row for each script, of the package and of current CleanRL, with what becomes of it."""
    rows = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            rows[cells[0].strip("`")] = cells[2]
    expected = {}
    for name, script in TABLE.items():
        extra = script.bundle
        runs = "runs" if extra is None else f"needs the bundle `{extra}`"
        if script.takes == "atari" and not script.unavailable:
            runs = f"needs {'the bundles `jax`, `atari`' if extra else 'the bundle `atari`'}"
        expected[name] = "cannot run" if script.unavailable else runs
    listed = {name: rows[name] for name in rows if name not in LATER}
    assert listed == expected
    assert {name for name in rows if rows[name].startswith("current CleanRL only")} == set(LATER)
