"""`gpus`: what there is, who has leased it, and who else uses it."""

from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.output import emit, out, say
from mosaic_cli.target import open_client
from mosaic_cli.wording import number, size

if TYPE_CHECKING:
    from mosaic_contracts.gpus import ForeignUser, GpuDevice, GpuLease, GpuReport

_STYLE = {  # by `DeviceState`, whose module imports pydantic
    "free": "green",
    "leased": "blue",
    "shared": "blue",
    "ending": "cyan",
    "foreign": "yellow",
    "lost": "red",
}


def gpus(json: option.Json = False) -> None:
    """Show the GPUs, the runs that have leased them, and other users.

    `--gpus N` of a run leases GPUs; with `--gpu-memory-mb M` it shares them with other runs that set it.
    """
    from mosaic_contracts.machine import GpuState

    with open_client() as client:
        report = client.gpus()
    if json:
        emit(report)
        return
    if report.devices:
        out.print(_table(report))
    if report.note:
        say(report.note)
    elif report.state is GpuState.UNKNOWN:
        say("The stack has not looked at its GPUs yet. Try again in a second.")


def _table(report: "GpuReport") -> Table:
    from mosaic_contracts.machine import GpuState

    table = Table(box=None, pad_edge=False)
    table.add_column("GPU", justify="right")
    table.add_column("NAME", overflow="ellipsis", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    table.add_column("MEMORY USED", justify="right", no_wrap=True)
    table.add_column("USE", justify="right", no_wrap=True)
    table.add_column("BY", overflow="fold")
    for device in report.devices:
        held = [_lease(lease) for lease in device.leases] + [_user(u) for u in device.foreign]
        is_stale = report.state is GpuState.SILENT
        state = Text(device.state, "dim" if is_stale else _STYLE[device.state])
        table.add_row(
            "?" if device.index < 0 else str(device.index),
            Text(device.name if device.card is None else f"{device.name} ({device.uuid})"),
            state,
            _memory(device),
            "-"
            if device.utilization_percent is None
            else f"{number(device.utilization_percent, 0)} %",
            Text("\n".join([*held, device.detail] if device.detail else held) or "-"),
        )
    return table


def _memory(device: "GpuDevice") -> str:
    if device.memory_total_bytes is None:
        return "-"
    used = "-" if device.memory_used_bytes is None else size(device.memory_used_bytes)
    return f"{used} of {size(device.memory_total_bytes)}"


def _lease(lease: "GpuLease") -> str:
    share = "" if lease.memory_mb is None else f", {lease.memory_mb:,} MiB"
    ending = " has ended; its memory is not free yet" if lease.ending else ""
    return f"run {lease.run_id}{share}{ending}"


def _user(user: "ForeignUser") -> str:
    """Somebody outside MOSAIC; runs wait for them."""
    held = "" if user.memory_bytes is None else size(user.memory_bytes)
    if user.kind == "memory":
        return f"somebody whom the driver does not name ({held})"
    facts = [f"pid {user.pid}", user.user, "graphics" if user.kind == "graphics" else "", held]
    stray = f", of run {user.run_id} without a lease" if user.run_id else ""
    return f"{user.name or 'a process'} ({', '.join(fact for fact in facts if fact)}{stray})"
