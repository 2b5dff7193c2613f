"""Fields of a RunSpec that every algorithm has, with what this machine can give."""

from dataclasses import replace

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RecordLevel, RestartPolicy
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup
from mosaic_gui.state.language import Mark, grouped, mark, tr, tr_mark
from mosaic_gui.state.limits import Limits

_WHAT = (
    FormField(
        "seed",
        mark("seed"),
        FieldKind.INTEGER,
        default=1,
        help=mark(
            "Same seed, same result on this kind of machine. Several seeds, such as 1-5 or 1,2,3, start a run each."
        ),
        minimum=0,
        maximum=2**32 - 1,
        many=True,
        ranges=True,
    ),
    FormField(
        "steps",
        mark("steps"),
        FieldKind.INTEGER,
        help=mark("Total environment steps. Empty: the algorithm's own default."),
        nullable=True,
        above=0,
    ),
    FormField(
        "record",
        mark("record"),
        FieldKind.CHOICE,
        default=RecordLevel.REPLAY.value,
        help=mark(
            "metrics: curves only. episodes: and each episode's return. replay: and every action, so that any "
            "episode can be shown again. full: and every observation, which takes the most space."
        ),
    ),
    FormField(
        "checkpoint_every_steps",
        mark("checkpoint every"),
        FieldKind.INTEGER,
        help=mark("Steps between two checkpoints. Empty: about ten in a run."),
        nullable=True,
        above=0,
    ),
    FormField(
        "clip_every",
        mark("clip every"),
        FieldKind.INTEGER,
        help=mark(
            "Episodes between two videos of the first environment, each of at most 200 frames. Drawing slows the run "
            "down: 2 to 4 ms a frame. Empty: none. Every episode can be shown and exported later without it."
        ),
        nullable=True,
        above=0,
    ),
    FormField(
        "name",
        mark("name"),
        FieldKind.TEXT,
        nullable=True,
        help=mark("Empty: made from algorithm, environment and seed."),
    ),
    FormField(
        "tags",
        mark("tags"),
        FieldKind.TEXT,
        default="",
        help=mark("Tags to find it by, separated by commas."),
    ),
    FormField(
        "alerts",
        mark("alerts"),
        FieldKind.TEXT,
        default="",
        help=mark(
            "Rules of this run, separated by semicolons, e.g. return<50 for 50k steps; nan or inf."
        ),
    ),
    FormField("note", mark("note"), FieldKind.TEXT, default="", help=mark("Your own note on it.")),
)
_RESOURCES = (
    FormField(
        "cpus",
        mark("cores"),
        FieldKind.INTEGER,
        default=1,
        help=mark("Cores reserved for the run, and the threads of its numeric libraries."),
        minimum=1,
        maximum=1024,
    ),
    FormField(
        "memory_mb",
        mark("memory"),
        FieldKind.INTEGER,
        help=mark(
            "Limit for all processes of the run; above it the run is ended. Enforced in "
            "containers only. Empty: no limit."
        ),
        nullable=True,
        unit="MiB",
        minimum=64,
    ),
    FormField(
        "gpus",
        mark("GPUs"),
        FieldKind.INTEGER,
        default=0,
        help=mark("Leased to it until it ends; with 0 it sees none."),
        minimum=0,
        maximum=64,
    ),
    FormField(
        "gpu_memory_mb",
        mark("GPU memory"),
        FieldKind.INTEGER,
        help=mark(
            "On each of its GPUs, which it then shares with runs that set this too. Empty: it does not share them."
        ),
        nullable=True,
        unit="MiB",
        minimum=64,
    ),
    FormField(
        "wall_time_s",
        mark("time limit"),
        FieldKind.NUMBER,
        help=mark("Stops the run after this time. Empty: no limit."),
        nullable=True,
        unit=mark("seconds"),
        above=0,
    ),
    FormField(
        "restart",
        mark("restart"),
        FieldKind.CHOICE,
        default=RestartPolicy.NEVER.value,
        choices=tuple(policy.value for policy in RestartPolicy),
        help=mark(
            "What follows a shutdown or a power cut. on_interrupt: the run continues as "
            "another attempt, from its newest checkpoint if its algorithm takes one."
        ),
    ),
    FormField(
        "priority",
        mark("priority"),
        FieldKind.INTEGER,
        default=0,
        help=mark("A run with a higher priority starts earlier."),
        minimum=-1000,
        maximum=1000,
    ),
    FormField(
        "hold",
        mark("hold"),
        FieldKind.BOOLEAN,
        default=False,
        help=mark("Keep the run in the queue until you release it."),
    ),
    FormField(
        "internet",
        mark("internet"),
        FieldKind.BOOLEAN,
        default=False,
        help=mark("It may use the network outside this stack; needs your consent."),
    ),
)


def run_groups(
    worker: WorkerEntry, algorithm: Algorithm, limits: Limits
) -> tuple[FormGroup, FormGroup]:
    """Groups of fields for the run itself and for its resources."""
    levels = worker.description.record_levels if worker.description else []
    known = tuple(levels) or tuple(level.value for level in RecordLevel)
    default = RecordLevel.REPLAY.value if RecordLevel.REPLAY.value in known else known[-1]
    what = []
    for form_field in map(_said, _WHAT):
        if form_field.name == "record":
            form_field = replace(form_field, choices=known, default=default)
        elif form_field.name == "steps":
            form_field = replace(form_field, placeholder=_default_steps(algorithm))
        what.append(form_field)
    taken = tuple(_limited(_said(form_field), limits) for form_field in _RESOURCES)
    return FormGroup("run", tuple(what)), FormGroup("resources", taken)


def _said(form_field: FormField) -> FormField:
    """One of the tables above, whose texts are marked, in the user's language."""
    return replace(
        form_field,
        label=tr_mark(Mark(form_field.label)),
        help=tr_mark(Mark(form_field.help)),
        unit=tr_mark(Mark(form_field.unit)),
    )


def _limited(form_field: FormField, limits: Limits) -> FormField:
    most = {
        "cpus": limits.cores,
        "memory_mb": limits.memory_mb,
        "gpus": limits.gpus,
        "gpu_memory_mb": limits.gpu_memory_mb,
    }.get(form_field.name)
    if form_field.name == "gpu_memory_mb" and limits.gpus == 0:
        most = 0
    if most is None:
        return form_field
    n = grouped(most)
    reported = tr("This machine has {n}.", n=n) if most else tr("This machine has none.")
    fault = tr("this machine has {n}", n=n) if most else tr("this machine has none")
    return replace(form_field, help=f"{form_field.help} {reported}", maximum=most, too_much=fault)


def _default_steps(algorithm: Algorithm) -> str:
    properties = algorithm.parameters.get("properties", {})
    default = properties.get(algorithm.steps_parameter or "", {}).get("default")
    return grouped(default) if isinstance(default, int) else ""
