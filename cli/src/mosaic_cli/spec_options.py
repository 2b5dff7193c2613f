"""A run's spec as arguments and options of a command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mosaic_cli.alerting import read_alert
from mosaic_cli.errors import ValueRefused
from mosaic_cli.reference import parse_duration, parse_parameters
from mosaic_cli.run_axes import RunAxes, read_axes
from mosaic_contracts.choices import RecordLevel, RestartPolicy

Worker = Annotated[
    str | None,
    typer.Argument(
        metavar="WORKER",
        help="Id of a worker, e.g. cleanrl (`./mosaic workers`).",
    ),
]
Algorithm = Annotated[
    str | None, typer.Argument(metavar="ALGORITHM", help="One of its algorithms, e.g. ppo.")
]
Environment = Annotated[
    str | None,
    typer.Argument(
        metavar="[ENVIRONMENT]",
        help="Environment id, e.g. CartPole-v1; default: the algorithm's. `run` takes several: A,B.",
    ),
]
SpecFile = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="SPEC.yaml",
        help="Spec of the run as YAML or JSON, - for stdin; options on the command line win. "
        "`./mosaic show RUN --json` has one in its `spec`.",
    ),
]


@dataclass(frozen=True)
class SpecOptions:
    """Fields of a spec as options; None is what was not given."""

    seed: Annotated[
        str | None,
        typer.Option(
            "--seed", "-s", metavar="N", help="Seed; default 1. `run` takes several: 1-5 or 1,2,3."
        ),
    ] = None
    steps: Annotated[
        int | None, typer.Option("--steps", help="Environment steps; default: the algorithm's.")
    ] = None
    param: Annotated[
        list[str] | None,
        typer.Option(
            "--param",
            "-p",
            metavar="KEY=VALUE",
            help="An argument of the algorithm; may be repeated. `run` takes several values, "
            'e.g. learning_rate=1e-4,1e-3 or \'optimizer=["adam","sgd"]\'.',
        ),
    ] = None
    record: Annotated[
        RecordLevel | None,
        typer.Option(
            "--record",
            help="How much is recorded. metrics: curves only; episodes: also each episode's "
            "return and length; replay (default): also every step's action, reward and "
            "hash, so that episodes can be replayed; full: also every observation. "
            "Configuration, checkpoints and the log are always recorded.",
        ),
    ] = None
    wall_time: Annotated[
        str | None,
        typer.Option("--wall-time", metavar="TIME", help="Stop after this long, e.g. 30m or 2h."),
    ] = None
    restart: Annotated[
        RestartPolicy | None,
        typer.Option(
            "--restart",
            help="What follows a shutdown, a power cut or `docker stop`. never (default): the "
            "run has ended; on_interrupt: it continues as another attempt, from its newest "
            "checkpoint if its algorithm takes one.",
        ),
    ] = None
    name: Annotated[str | None, typer.Option("--name", help="Display name.")] = None
    cpus: Annotated[int | None, typer.Option("--cpus", help="Cores to reserve; default 1.")] = None
    gpus: Annotated[int | None, typer.Option("--gpus", help="GPUs to lease; default 0.")] = None
    memory_mb: Annotated[
        int | None,
        typer.Option(
            "--memory-mb",
            metavar="MIB",
            help="MiB of memory that the run may use; a cluster is asked for them. Default: no limit, on a cluster "
            "what its site gives a job.",
        ),
    ] = None
    gpu_memory_mb: Annotated[
        int | None,
        typer.Option(
            "--gpu-memory-mb",
            metavar="MIB",
            help="MiB that the run needs on each GPU, which it then shares with other runs; "
            "default: it has its GPUs to itself.",
        ),
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="A word to find the run by; may be repeated."),
    ] = None
    note: Annotated[str | None, typer.Option("--note", help="Your note on the run.")] = None
    priority: Annotated[
        int | None, typer.Option("--priority", help="Higher starts earlier; default 0.")
    ] = None
    hold: Annotated[
        bool | None, typer.Option("--hold", help="Keep the run in the queue until you release it.")
    ] = None
    alert: Annotated[
        list[str] | None,
        typer.Option(
            "--alert",
            metavar="RULE",
            help="Raise an alert when this holds, e.g. 'return<50 for 50k steps' or 'nan or inf' "
            "(`./mosaic alerts --help`); may be repeated.",
        ),
    ] = None
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret",
            metavar="NAME",
            help="A secret that the run receives as a file (`./mosaic secret`); may be repeated.",
        ),
    ] = None
    consent: Annotated[
        str | None,
        typer.Option(
            "--consent",
            metavar="DIGEST",
            help="Digest that `./mosaic preflight` printed: you agree to the needs that it listed.",
        ),
    ] = None
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="FIELD=VALUE", help="Any other field of a spec, e.g. --set grace_s=60."
        ),
    ] = None

    def axes(self) -> RunAxes:
        """Seeds and parameters that were given. Raises ValueRefused: they cannot be read."""
        return read_axes(self.seed, self.param or [])

    def fields(self, axes: RunAxes | None = None) -> dict[str, Any]:
        """Fields of a spec that were given. `axes`: what of them makes several runs; None: nothing may.

        Raises:
            ValueRefused: an option that cannot be read, or that names several values where there is one run.
        """
        if axes is None:
            axes = self.axes().as_text()
            if not axes.is_one:
                raise ValueRefused(
                    "This verb takes one seed and one value of each parameter; `./mosaic run` takes several."
                )
        given: dict[str, Any] = dict(parse_parameters(self.field or []))
        options = {
            "seed": axes.seeds[0] if len(axes.seeds) == 1 else None,
            "steps": self.steps,
            "parameters": axes.fixed or None,
            "record": self.record,
            "wall_time_s": None if self.wall_time is None else parse_duration(self.wall_time),
            "restart": self.restart,
            "name": self.name,
            "cpus": self.cpus,
            "gpus": self.gpus,
            "memory_mb": self.memory_mb,
            "gpu_memory_mb": self.gpu_memory_mb,
            "tags": self.tag or None,
            "note": self.note,
            "priority": self.priority,
            "hold": self.hold,
            "alerts": self._alerts() or None,
            "secrets": self.secret or None,
            "consent": self.consent,
        }
        return given | {key: value for key, value in options.items() if value is not None}

    def _alerts(self) -> list[str]:
        return [read_alert(text).text for text in self.alert or []]
