from tests.specimen import machine_sample as sample
from tests.specimen import worker

from mosaic_contracts.machine import GpuSample, RunUse
from mosaic_gui.state.draft import SpecDraft
from mosaic_gui.state.limits import Limits
from mosaic_gui.viewmodels.launch import preflight_basis

ENTRY = worker()
PPO = ENTRY.description.algorithms[0]  # type: ignore[union-attr]


def gpu(gib: int) -> GpuSample:
    """A GPU with so much memory."""
    return GpuSample(uuid=f"GPU-{gib}", index=0, name="G", memory_total_bytes=gib * 2**30)


def test_more_than_there_is_is_refused_while_it_is_typed() -> None:
    """Cores, memory and GPUs of this machine are the bounds, and each field says so."""
    draft = SpecDraft.of(ENTRY, PPO, Limits.of(sample(gpus=[gpu(24), gpu(12)]), cpu_limit=6))
    draft.run.texts.update(cpus="7", memory_mb="16385", gpus="3", gpu_memory_mb="12289")
    assert draft.faults() == {
        "cpus": "this machine has 6",
        "memory_mb": "this machine has 16,384",
        "gpus": "this machine has 2",
        "gpu_memory_mb": "this machine has 12,288",
    }
    draft.run.texts.update(cpus="6", memory_mb="16384", gpus="2", gpu_memory_mb="12288")
    assert draft.faults() == {}
    assert "This machine has 6." in draft.run.fields["cpus"].help


def test_a_machine_without_gpus_says_none() -> None:
    """Not `at most 0`: what is said is what is meant."""
    draft = SpecDraft.of(ENTRY, PPO, Limits.of(sample(), None))
    draft.run.texts.update(gpus="1")
    assert draft.faults() == {"gpus": "this machine has none"}


def test_unknown_limits_refuse_nothing() -> None:
    """Before the machine was looked at, only the contract's own bounds hold."""
    draft = SpecDraft.of(ENTRY, PPO)
    draft.run.texts.update(cpus="64", gpus="8")
    assert draft.faults() == {}
    assert draft.limit(Limits(cores=2, gpus=0))
    assert set(draft.faults()) == {"cpus", "gpus"}
    assert not draft.limit(Limits(cores=2, gpus=0))


def test_a_machine_stands_differently_when_a_preflight_might() -> None:
    """Runs, GPUs and a disk that fills count; load and time do not."""
    before = preflight_basis(sample())
    assert preflight_basis(sample(t=9.0, cpu_percent=90.0, disk_free_bytes=90 * 2**30)) == before
    run = RunUse(run_id="r", cpu_percent=1, rss_bytes=1, processes=1)
    for other in (sample(runs=[run]), sample(gpus=[gpu(8)]), sample(disk_free_bytes=2**30)):
        assert preflight_basis(other) != before
