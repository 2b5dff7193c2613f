"""The machine's figures: of the host and of each run, with a past, with GPUs or an honest word that there are none."""

from typing import Any

from tests.specimen import machine_sample, run, run_id

from mosaic_contracts.machine import GpuSample, GpuState, MachineHistory, MachineSample
from mosaic_contracts.states import RunState
from mosaic_gui.state.hardware import KEPT, OLD_S, MachineLog, Meter

GIB = 2**30
A100 = GpuSample(
    uuid="GPU-a",
    index=0,
    name="A100",
    utilization_percent=41.0,
    memory_used_bytes=3 * GIB,
    memory_total_bytes=24 * GIB,
    temperature_c=61.0,
)


def reported(*samples: MachineSample, **fields: Any) -> MachineHistory:
    """An answer of the stack."""
    known: dict[str, Any] = {"interval_s": 2.0, "gpu_state": GpuState.OK, "age_s": 1.0}
    return MachineHistory(samples=list(samples), **(known | fields))


def log(*samples: MachineSample, **fields: Any) -> MachineLog:
    """A log that took these samples at second 100."""
    made = MachineLog()
    made.take(reported(*samples, **fields), 100.0)
    return made


def named(meters: list[Meter]) -> dict[str, Meter]:
    """By their names."""
    return {meter.name: meter for meter in meters}


def test_the_host_has_figures_with_a_past() -> None:
    """CPU, RAM, GPU and disk of the whole machine; the past of each is drawn from the same samples."""
    host = named(
        log(
            *(machine_sample(t=float(n), cpu_percent=10.0 * n, gpus=[A100]) for n in range(4))
        ).host()
    )
    assert list(host) == ["CPU", "RAM", "GPU 0", "Disk"]
    assert (host["CPU"].value, host["CPU"].past) == ("30 %", (0.0, 10.0, 20.0, 30.0))
    assert host["RAM"].value == "1.0 of 16.0 GiB"
    assert host["GPU 0"].value == "41 % · 3.0 of 24.0 GiB"
    assert "A100" in host["GPU 0"].hint
    assert "61 °C" in host["GPU 0"].hint


def test_without_a_gpu_it_says_why() -> None:
    """A machine without one, a driver that is silent and one not looked at yet are three different things."""
    for state, words in (
        (GpuState.ABSENT, "none"),
        (GpuState.SILENT, "does not answer"),
        (GpuState.UNKNOWN, "–"),
    ):
        gpu = named(log(machine_sample(), gpu_state=state, gpu_note="because").host())["GPU"]
        assert (gpu.value, gpu.hint) == (words, "because")


def test_many_gpus_are_one_figure_that_names_each() -> None:
    """Eight devices do not push everything else out of the bar."""
    gpus = [
        A100.model_copy(update={"uuid": f"GPU-{n}", "index": n, "utilization_percent": 10.0 * n})
        for n in range(8)
    ]
    host = named(log(machine_sample(gpus=gpus)).host())
    assert host["8 GPUs"].value == "35 %"
    assert host["8 GPUs"].hint.count("\n") == 7


def test_a_run_has_its_own_figures() -> None:
    """CPU, memory and what its own processes hold of the device; where the driver does not tell, it says so."""
    use = {"run_id": run_id(0), "cpu_percent": 180.0, "rss_bytes": GIB, "processes": 3}
    held = {"gpus": [{"uuid": "GPU-a", "memory_bytes": GIB // 2}]}
    known = run(spec={"cpus": 2, "gpus": 1, "memory_mb": 2048})
    mine = named(log(machine_sample(runs=[use | held], gpus=[A100])).of_run(known))
    assert (mine["CPU"].value, mine["CPU"].top) == ("180 %", 200.0)
    assert (mine["RAM"].value, mine["RAM"].top) == ("1.0 GiB", 2.0 * GIB)
    assert mine["GPU 0"].value == "41 % · 512.0 MiB"
    hidden = {"gpus": [{"uuid": "GPU-a"}]}
    mine = named(log(machine_sample(runs=[use | hidden], gpus=[A100])).of_run(known))
    assert mine["GPU 0"].value == "41 %"
    assert "does not report" in mine["GPU 0"].hint
    lost = named(log(machine_sample(runs=[use | held])).of_run(known))
    assert "GPU-a cannot be read" in lost["GPU"].hint


def test_a_run_without_a_gpu_says_none() -> None:
    """It asked for none; one that was not seen yet has no figures; one that has ended has nothing to show."""
    use = {"run_id": run_id(0), "cpu_percent": 1.0, "rss_bytes": GIB, "processes": 1}
    seen = log(machine_sample(runs=[use]))
    assert named(seen.of_run(run()))["GPU"].value == "none"
    assert [meter.value for meter in seen.of_run(run(1))] == ["–", "–"]
    assert seen.of_run(run(0, RunState.SUCCEEDED)) == []
    assert seen.of_run(run(0, RunState.QUEUED)) == []


def test_old_figures_are_known_to_be_old() -> None:
    """Age is what the stack said of its sample and the time since then; a new sample makes it young again."""
    made = log(machine_sample(t=5.0))
    assert made.age_s(103.0) == 4.0
    assert not made.is_old(100.0 + OLD_S - 1.0)
    assert made.is_old(100.0 + OLD_S)
    made.take(reported(machine_sample(t=5.0), age_s=60.0), 200.0)
    assert made.is_old(200.0)  # the stack answers and its look at the machine stands still
    made.take(reported(machine_sample(t=7.0)), 201.0)
    assert not made.is_old(201.0)


def test_answers_overlap_without_doubles_and_the_past_is_bounded() -> None:
    """Each answer repeats samples of the one before; a clock that is set back begins a new past."""
    made = log(machine_sample(t=1.0), machine_sample(t=2.0))
    made.take(reported(machine_sample(t=2.0), machine_sample(t=3.0)), 101.0)
    assert len(made.host()[0].past) == 3
    made.take(reported(*(machine_sample(t=10.0 + n) for n in range(2 * KEPT))), 102.0)
    assert len(made.host()[0].past) == KEPT
    made.take(reported(machine_sample(t=4.0)), 103.0)
    assert len(made.host()[0].past) == 1
