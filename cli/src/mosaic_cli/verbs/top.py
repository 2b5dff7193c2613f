"""`top`: how busy the machine and each run's processes are, as it goes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import NothingFound
from mosaic_cli.output import emit, out
from mosaic_cli.sparkline import sparkline
from mosaic_cli.target import open_client
from mosaic_cli.wording import number, size, what
from mosaic_client.errors import MosaicProblem

if TYPE_CHECKING:
    from rich.live import Live

    from mosaic_client import Client
    from mosaic_contracts.machine import GpuSample, MachineHistory, MachineSample, RunUse
    from mosaic_contracts.runs import RunView

HISTORY = 60
"""Samples in the line of the past."""


def top(
    every: Annotated[
        float, typer.Option("--every", min=0.2, max=3600, help="Seconds between samples.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", "-1", help="Print one sample and end.")] = False,
    json: option.Json = False,
) -> None:
    """Show CPU, memory, disk and GPU of the stack's machine, and what each run uses; Ctrl-C ends it.

    With --json, or if stdout is no terminal, it prints one sample and ends.
    """
    with open_client() as client:
        history = _look(client)
        if json:
            emit(history.samples[-1])
            return
        runs = _known_runs(client, history.samples[-1].runs, {})
        if once or not out.is_terminal:
            out.print(screen(history, runs))
            return
        from rich.live import Live

        with Live(screen(history, runs), console=out, screen=True, auto_refresh=False) as live:
            _watch(client, live, every, runs)


def screen(history: MachineHistory, runs: dict[str, RunView]) -> RenderableType:
    """One look: the machine, its GPUs, the runs that use most CPU first."""
    sample = history.samples[-1]
    past = sparkline([one.cpu_percent for one in history.samples])
    parts: list[RenderableType] = [_machine_lines(sample, past)]
    if sample.gpus:
        parts.append(_gpu_table(sample.gpus))
    elif history.gpu_note:
        parts.append(Text(f"GPU: {history.gpu_note}", "dim"))
    if sample.runs:
        parts += [Text(""), _run_table(sample, runs)]
    else:
        parts.append(Text("\nNo run uses the machine now."))
    return Group(*parts)


def _look(client: Client) -> MachineHistory:
    history = client.machine(HISTORY)
    if not history.samples:
        raise NothingFound("The stack has not measured its machine yet. Try again in a second.")
    return history


def _watch(client: Client, live: Live, every_s: float, runs: dict[str, RunView]) -> None:
    try:
        while True:
            time.sleep(every_s)  # samples are taken by the clock; nothing announces one
            history = _look(client)
            runs = _known_runs(client, history.samples[-1].runs, runs)
            live.update(screen(history, runs), refresh=True)
    except KeyboardInterrupt:
        return


def _known_runs(
    client: Client, used: list[RunUse], earlier: dict[str, RunView]
) -> dict[str, RunView]:
    """What the runs are and how far; one that cannot be read keeps its earlier record."""
    known: dict[str, RunView] = {}
    for use in used:
        try:
            known[use.run_id] = client.run(use.run_id)
        except MosaicProblem:
            if use.run_id in earlier:
                known[use.run_id] = earlier[use.run_id]
    return known


def _machine_lines(sample: MachineSample, past: str) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    load = f"{number(sample.cpu_percent, 0)} % of {sample.cores} cores, load {number(sample.load1)}"
    table.add_row("CPU", f"{load}  {past}")
    table.add_row("memory", _of(sample.memory_used_bytes, sample.memory_total_bytes, "used"))
    table.add_row("disk", _of(sample.disk_free_bytes, sample.disk_total_bytes, "free"))
    return table


def _of(part: int, whole: int, word: str) -> str:
    share = f" ({100 * part / whole:.0f} %)" if whole else ""
    return f"{size(part)} of {size(whole)} {word}{share}"


def _gpu_table(gpus: list[GpuSample]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("GPU")
    for heading in ("USE", "MEMORY", "TEMPERATURE", "POWER"):
        table.add_column(heading, justify="right")
    for gpu in gpus:
        known = gpu.memory_used_bytes is not None and gpu.memory_total_bytes is not None
        memory = f"{size(gpu.memory_used_bytes or 0)} of {size(gpu.memory_total_bytes or 0)}"
        table.add_row(
            f"{gpu.index} {gpu.name}",
            _with_unit(gpu.utilization_percent, "%"),
            memory if known else "-",
            _with_unit(gpu.temperature_c, "°C"),
            _with_unit(gpu.power_w, "W"),
        )
    return table


def _with_unit(value: float | None, unit: str) -> str:
    return "-" if value is None else f"{number(value, 0)} {unit}"


def _run_table(sample: MachineSample, runs: dict[str, RunView]) -> Table:
    numbers = {gpu.uuid: str(gpu.index) for gpu in sample.gpus}
    table = Table(box=None, pad_edge=False)
    table.add_column("RUN", no_wrap=True)
    table.add_column("WHAT", overflow="ellipsis", no_wrap=True)
    for heading in ("CPU", "MEMORY", "GPU", "GPU MEMORY", "PROCESSES", "STEPS", "STEPS/S"):
        table.add_column(heading, justify="right", no_wrap=True)
    for use in sorted(sample.runs, key=lambda one: -one.cpu_percent):
        run = runs.get(use.run_id)
        table.add_row(
            use.run_id,
            Text(what(run) if run else "-"),
            f"{number(use.cpu_percent, 0)} %",
            size(use.rss_bytes),
            " ".join(numbers.get(held.uuid, "?") for held in use.gpus) or "-",
            "-" if use.gpu_memory_bytes is None else size(use.gpu_memory_bytes),
            str(use.processes),
            f"{run.step:,}" if run else "-",
            number(run.sps, 0) if run else "-",
        )
    return table
