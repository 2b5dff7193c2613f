"""`up`, `down`: the stack of this machine."""

import os
import time
from contextlib import suppress
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.text import Text

from mosaic_cli import option, stopping
from mosaic_cli.command_name import with_command_name
from mosaic_cli.errors import (
    SchedulerAway,
    StackAlreadyUp,
    StackEnded,
    StackStartProblem,
    ValueRefused,
)
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lone_run import going_on_text, lone_runs, stop_lone_runs
from mosaic_cli.stack.start_options import StartOptions
from mosaic_cli.stack.state import running_stack, set_aside_damaged
from mosaic_cli.target import connection_here, elsewhere_url, is_elsewhere, open_stack
from mosaic_cli.verbs.status import services_table
from mosaic_cli.wording import duration, plural
from mosaic_client import light
from mosaic_client.errors import ClientError

LOOK_EVERY_S = 0.3
PATIENCE_S = 30.0
"""For an answer of a stack whose runs are to be stopped: with a hundred of them it may be slow."""

Port = Annotated[
    int | None,
    typer.Option(
        "--port",
        min=1,
        max=65535,
        envvar="MOSAIC_GATEWAY_PORT",
        help="Port of the gateway; default: that of the last start, else a free one.",
    ),
]
BrokerPort = Annotated[
    int | None,
    typer.Option(
        "--broker-port",
        min=1,
        max=65535,
        help="Port of the broker; default: that of the last start, else a free one.",
    ),
]


BrokerBind = Annotated[
    str | None,
    typer.Option(
        "--broker-bind",
        metavar="ADDRESS",
        envvar="MOSAIC_BROKER_BIND",
        help="Address that the broker listens on, with TLS only, for runs on other machines (0.0.0.0: every address); "
        "default: loopback.",
    ),
]
BrokerRunsUrl = Annotated[
    str | None,
    typer.Option(
        "--broker-runs-url",
        metavar="URL",
        envvar="MOSAIC_BROKER_RUNS_URL",
        help="How runs on other machines reach the broker: tls://HOST:PORT; default: jobs of a cluster by this "
        "machine's name, others as on this machine.",
    ),
]


def _address(bind: str | None) -> str | None:
    if not bind:
        return None
    try:
        return str(ip_address(bind))
    except ValueError:
        raise ValueRefused(
            f"--broker-bind {bind}: an address of this machine is needed, such as 0.0.0.0 or 192.168.1.5."
        ) from None


def _runs_url(url: str | None, bind: str | None) -> str | None:
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme != "tls" or not parts.hostname:
        raise ValueRefused(
            f"--broker-runs-url {url}: tls://HOST:PORT is needed. Runs on other machines speak TLS."
        )
    if not bind:
        raise ValueRefused(
            "--broker-runs-url needs --broker-bind: on loopback no other machine reaches the broker."
        )
    return url


class Placement(StrEnum):
    """Where runs are started."""

    PROCESS = "process"
    DOCKER = "docker"
    SLURM = "slurm"
    RAY = "ray"


_CLUSTERS = (Placement.SLURM, Placement.RAY)


def up(
    detach: Annotated[
        bool,
        typer.Option(
            "--detach", "-d", help="Run in the background; return when the stack is ready."
        ),
    ] = False,
    port: Port = None,
    broker_port: BrokerPort = None,
    broker_bind: BrokerBind = None,
    broker_runs_url: BrokerRunsUrl = None,
    placement: Annotated[
        Placement | None,
        typer.Option(
            "--placement",
            envvar="MOSAIC_PLACEMENT",
            help="Where runs are started: processes of this machine, containers (docker), or jobs of a cluster.",
        ),
    ] = None,
    partition: Annotated[
        str | None,
        typer.Option(
            "--partition",
            envvar="MOSAIC_SLURM_PARTITION",
            help="Partition of the jobs, with --placement slurm; default: the cluster's own.",
        ),
    ] = None,
    ray_address: Annotated[
        str | None,
        typer.Option(
            "--ray-address",
            envvar="MOSAIC_RAY_ADDRESS",
            help="Dashboard of the cluster, with --placement ray; default: http://127.0.0.1:8265.",
        ),
    ] = None,
    node_home: Annotated[
        str | None,
        typer.Option(
            "--node-home",
            metavar="FOLDER",
            envvar="MOSAIC_NODE_HOME",
            help="Folder for runs on nodes that share none with this machine, with --placement slurm or ray, e.g. "
            "/tmp/mosaic-$USER; default: MOSAIC_HOME is shared.",
        ),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            "--images",
            metavar="FOLDER",
            envvar="MOSAIC_SLURM_IMAGES",
            help="Folder of Apptainer images that all nodes see, with --placement slurm: jobs run in them "
            "(`./mosaic images export`); default: in the nodes' environments.",
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Start the stack: broker, recorder, scheduler and gateway.

    Without -d it stays in the foreground, shows the state of the services, and ends with Ctrl-C. A stack that is
    already up is not changed. One that starts or ends at the moment is waited for.
    """
    layout = Layout.of_environment()
    _choose_placement(placement, partition, ray_address)
    _choose_node_home(node_home, placement, broker_bind)
    _choose_images(images, placement)
    options = StartOptions(
        port=port,
        broker_port=broker_port,
        broker_bind=_address(broker_bind),
        broker_runs_url=_runs_url(broker_runs_url, broker_bind),
    )
    running = present_stack(layout)
    if running is not None:
        _say_already_up(running, json)
        return
    if placement is Placement.SLURM:
        from mosaic_cli.cluster_check import start_fault

        if fault := start_fault(partition or ""):
            raise StackStartProblem(f"--placement slurm: {fault}")
    if detach:
        stack = start_and_wait(layout, options)
        emit(stack) if json else _print_ready(stack)
        return
    _run_in_foreground(layout, options, json)


def _choose_node_home(
    node_home: str | None, placement: Placement | None, broker_bind: str | None
) -> None:
    """Hand to the scheduler where runs are on nodes that share nothing with this machine."""
    if not node_home:
        return
    if placement not in _CLUSTERS:
        raise ValueRefused(
            "--node-home is for jobs of a cluster: add `--placement slurm` or `--placement ray`."
        )
    if not node_home.startswith("/"):
        raise ValueRefused(f"--node-home {node_home}: a path that begins with / is needed.")
    if not broker_bind:
        raise ValueRefused(
            "--node-home needs --broker-bind, e.g. `--broker-bind 0.0.0.0`: all that comes from a node comes over "
            "the broker, and on loopback no node reaches it."
        )
    os.environ["MOSAIC_NODE_HOME"] = node_home


def _choose_images(images: Path | None, placement: Placement | None) -> None:
    """Hand to the scheduler where the images of jobs are."""
    if images is None:
        return
    if placement is not Placement.SLURM:
        raise ValueRefused("--images is for jobs of Slurm: add `--placement slurm`.")
    if not images.is_dir():
        raise ValueRefused(
            f"--images {images}: there is no such folder. Make it where all nodes see it, and put images in it: "
            f"`./mosaic images export cleanrl -o {images / 'worker_cleanrl.sif'}`."
        )
    os.environ["MOSAIC_SLURM_IMAGES"] = str(images.absolute())


def _choose_placement(
    placement: Placement | None, partition: str | None, ray_address: str | None
) -> None:
    """Hand to the services of the stack where runs are started."""
    if ray_address is not None and placement is not Placement.RAY:
        raise ValueRefused("--ray-address is for jobs of Ray: add `--placement ray`.")
    if partition is not None and placement is not Placement.SLURM:
        raise ValueRefused("--partition is for jobs of Slurm: add `--placement slurm`.")
    if placement is not None:
        os.environ["MOSAIC_PLACEMENT"] = placement
    if partition is not None:
        os.environ["MOSAIC_SLURM_PARTITION"] = partition
    if ray_address is not None:
        os.environ["MOSAIC_RAY_ADDRESS"] = ray_address


def down(
    stop_runs: Annotated[
        bool, typer.Option("--stop-runs", help="Stop live runs first and wait for their end.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Take the stack down. Live runs continue unless --stop-runs is given; replays, TensorBoards and syncs end.

    With --stop-runs, the exit code is 6 if a run did not end in time. If no stack is up, live runs are asked to
    stop too; their events wait for the next stack.

    If MOSAIC_URL names a stack, --stop-runs stops the runs of that stack, which stays up.
    """
    if is_elsewhere():
        _down_elsewhere(json, stop_runs=stop_runs)
        return
    layout = Layout.of_environment()
    running = running_stack(layout.home, layout.lock_file)
    live = _live_runs(PATIENCE_S if stop_runs else 0.0) if running else None
    to_stop = [run for run in live or [] if stop_runs or run.spec.kind.is_derived]
    asked = [run.run_id for run in to_stop] if stop_runs else []
    if live and to_stop:
        with connection_here() as stack:
            left = {run.run_id for run in stopping.stop_all(stack, to_stop)}
        done = {run.run_id for run in to_stop} - left
        live = [run for run in live if run.run_id not in done]
    from mosaic_cli.stack.launch import take_down

    with err.status("Taking the stack down ..."):
        was_up = take_down(layout)
    waiting = [run.run_id for run in live or [] if not run.state.has_process]
    lone = lone_runs(layout.home) if live is None else []
    if lone and stop_runs:
        asked = [run.run_id for run in lone]
        with err.status(f"Stopping {plural(len(lone), 'run')} that no stack watches ..."):
            lone = stop_lone_runs(lone, stopping.STOP_RUNS_TIMEOUT_S)
    going_on = [run.run_id for run in lone or live or [] if run.run_id not in waiting]
    stopped = [run_id for run_id in asked if run_id not in (*going_on, *waiting)]
    if json:
        emit({"was_up": was_up, "live_runs": going_on, "stopped_runs": stopped})
    else:
        _say_down(was_up, stopped, going_on, waiting)
    if going_on and stop_runs:
        raise typer.Exit(ExitCode.NOT_NOW)


def _down_elsewhere(json: bool, *, stop_runs: bool) -> None:
    """Refuse to end more than the runs of a stack that a person named."""
    url = elsewhere_url()
    goes_on = (
        f"The stack at {url} (MOSAIC_URL) goes on: take it down where it was started, in containers with "
        "`docker compose down`. Without MOSAIC_URL this verb is for the stack of this machine."
    )
    if not stop_runs:
        raise ValueRefused(f"{goes_on} `./mosaic stop --all` stops all its runs.")
    with open_stack() as stack:
        live = stopping.live_runs(stack)
        left = [run.run_id for run in stopping.stop_all(stack, live)] if live else []
    stopped = [run.run_id for run in live if run.run_id not in left]
    if json:
        emit({"was_up": True, "live_runs": left, "stopped_runs": stopped})
    else:
        say(stopping.stop_message(stopped, left))
        say(goes_on)
    if left:
        raise typer.Exit(ExitCode.NOT_NOW)


def _say_down(was_up: bool, stopped: list[str], going_on: list[str], waiting: list[str]) -> None:
    say("The stack is down." if was_up else "No stack was up.")
    if stopped:
        say(f"Stopped {plural(len(stopped), 'run')}: {', '.join(stopped)}")
    if going_on:
        say(going_on_text(going_on))
    if waiting:
        say(f"{plural(len(waiting), 'run')} in the queue will start with the next stack.")


def present_stack(layout: Layout) -> light.StackFileFields | None:
    """The stack of this machine, once it is ready; None when there is none, or when it was just being taken down.

    Raises:
        StackStartProblem: it does not become ready.
    """
    running = running_stack(layout.home, layout.lock_file)
    if running is not None and running.ready:
        return running
    from mosaic_cli.stack.launch import await_present_stack
    from mosaic_cli.stack.start_display import StartDisplay

    with StartDisplay(err) as display:
        return await_present_stack(layout, display.show)


def start_and_wait(
    layout: Layout, options: StartOptions, *, tied: bool = False
) -> light.StackFileFields:
    """Start a detached stack and show on stderr how it comes up.

    Raises:
        StackStartProblem: it does not.
    """
    from mosaic_cli.stack.launch import start_detached, wait_until_ready
    from mosaic_cli.stack.start_display import StartDisplay

    _set_aside_damaged(layout)
    began_s = time.monotonic()
    stack: light.StackFileFields | None = None
    with StartDisplay(err) as display:
        while stack is None:
            supervisor = start_detached(layout, options, tied=tied)
            with suppress(StackEnded):  # another one had the lock, and let go of it
                stack = wait_until_ready(layout, supervisor, display.show)
    say(f"The stack is ready after {duration(time.monotonic() - began_s)}.")
    return stack


def _set_aside_damaged(layout: Layout) -> None:
    if (message := set_aside_damaged(layout.home, layout.lock_file)) is not None:
        say(message)


def _run_in_foreground(layout: Layout, options: StartOptions, json: bool) -> None:
    from rich.console import Group
    from rich.live import Live

    from mosaic_cli.stack.supervisor import supervise

    _set_aside_damaged(layout)
    with Live(Text("Starting the stack ..."), console=err, refresh_per_second=4) as live:
        shown_restarts: dict[str, int] = {}

        def watch(stack: light.StackFileFields) -> None:
            for service in stack.services:
                if service.restarts > shown_restarts.get(service.name, 0):
                    live.console.print(
                        f"{service.name} ended ({service.last_exit}) and is started again; "
                        f"see {layout.home / service.log}"
                    )
                shown_restarts[service.name] = service.restarts
            hint = "Ctrl-C takes it down; live runs go on by themselves." if stack.ready else ""
            live.update(Group(services_table(stack), Text(hint, "dim")))

        try:
            supervise(layout, options, watch)
        except StackAlreadyUp as error:
            say(str(error))
            raise typer.Exit(1) from error
    if json:
        emit({"was_up": True})
    say("The stack is down.")


def _print_ready(stack: light.StackFileFields) -> None:
    out.print(Text.assemble("MOSAIC is up at ", (stack.gateway_url, "bold")))
    for command, words in (
        ("./mosaic run cleanrl ppo CartPole-v1", "train an agent"),
        ("./mosaic ps", "list the runs"),
        ("./mosaic down", "take the stack down"),
    ):
        out.print(f"  {with_command_name(command):<36}   {words}")
    _say_what_is_named()


def _say_what_is_named() -> None:
    if is_elsewhere():
        say(f"MOSAIC_URL is set: the other verbs talk to {elsewhere_url()} and not to this stack.")


def _say_already_up(stack: light.StackFileFields, json: bool) -> None:
    if json:
        emit(stack)
    say(f"A stack is up already at {stack.gateway_url} (supervisor {stack.supervisor_pid}).")
    _say_what_is_named()


def _live_runs(patience_s: float) -> list[light.RunFields] | None:
    """The runs that live; None when the stack does not say within `patience_s`: it is broken, or very busy."""
    deadline_s = time.monotonic() + patience_s
    while True:
        try:
            with connection_here() as stack:
                return stopping.live_runs(stack)
        except (ClientError, SchedulerAway):
            if time.monotonic() >= deadline_s:
                return None
        time.sleep(LOOK_EVERY_S)  # there is no event for it
