"""Fields of a RunSpec that every algorithm has, with what this machine can give."""

from dataclasses import replace

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.spec import RecordLevel
from mosaic_contracts.worker import Algorithm
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup
from mosaic_gui.state.limits import Limits

_WHAT = (
    FormField(
        "seed",
        "seed",
        FieldKind.INTEGER,
        default=1,
        help="Same seed, same result on this kind of machine.",
        minimum=0,
        maximum=2**32 - 1,
    ),
    FormField(
        "steps",
        "steps",
        FieldKind.INTEGER,
        help="Environment steps in all. Empty: the algorithm's own default.",
        nullable=True,
        above=0,
    ),
    FormField(
        "record",
        "record",
        FieldKind.CHOICE,
        default=RecordLevel.REPLAY.value,
        help="metrics: curves only. episodes: and each episode's return. replay: and every action, so that any "
        "episode can be shown again. full: and every observation, which takes most room.",
    ),
    FormField(
        "checkpoint_every_steps",
        "checkpoint every",
        FieldKind.INTEGER,
        help="Steps between two checkpoints. Empty: about ten in a run.",
        nullable=True,
        above=0,
    ),
    FormField("name", "name", FieldKind.TEXT, nullable=True, help="Empty: made of what it trains."),
    FormField(
        "tags",
        "tags",
        FieldKind.TEXT,
        default="",
        help="Words to find it by, with commas between them.",
    ),
    FormField("note", "note", FieldKind.TEXT, default="", help="Your own words on it."),
)
_RESOURCES = (
    FormField(
        "cpus",
        "cores",
        FieldKind.INTEGER,
        default=1,
        help="Reserved for it, and the threads of its numeric libraries.",
        minimum=1,
        maximum=1024,
    ),
    FormField(
        "memory_mb",
        "memory",
        FieldKind.INTEGER,
        help="All its processes together; beyond it the run is ended. A hard limit in containers only. Empty: none.",
        nullable=True,
        unit="MiB",
        minimum=64,
    ),
    FormField(
        "gpus",
        "GPUs",
        FieldKind.INTEGER,
        default=0,
        help="Leased to it for its lifetime; with 0 it sees none.",
        minimum=0,
        maximum=64,
    ),
    FormField(
        "gpu_memory_mb",
        "GPU memory",
        FieldKind.INTEGER,
        help="On each of its GPUs, which it then shares with runs that say so too. Empty: they are its own.",
        nullable=True,
        unit="MiB",
        minimum=64,
    ),
    FormField(
        "wall_time_s",
        "time limit",
        FieldKind.NUMBER,
        help="Stops the run after so long. Empty: no limit.",
        nullable=True,
        unit="seconds",
        above=0,
    ),
    FormField(
        "priority",
        "priority",
        FieldKind.INTEGER,
        default=0,
        help="In the queue: higher starts earlier.",
        minimum=-1000,
        maximum=1000,
    ),
    FormField(
        "hold",
        "hold",
        FieldKind.BOOLEAN,
        default=False,
        help="Queue it, and start it only when you release it.",
    ),
    FormField(
        "internet",
        "internet",
        FieldKind.BOOLEAN,
        default=False,
        help="It may reach beyond this stack; asks for your consent.",
    ),
)


def run_groups(
    worker: WorkerEntry, algorithm: Algorithm, limits: Limits
) -> tuple[FormGroup, FormGroup]:
    """What the run is, and what it takes."""
    levels = worker.description.record_levels if worker.description else []
    known = tuple(levels) or tuple(level.value for level in RecordLevel)
    default = RecordLevel.REPLAY.value if RecordLevel.REPLAY.value in known else known[-1]
    what = []
    for form_field in _WHAT:
        if form_field.name == "record":
            form_field = replace(form_field, choices=known, default=default)
        elif form_field.name == "steps":
            form_field = replace(form_field, placeholder=_default_steps(algorithm))
        what.append(form_field)
    taken = tuple(_limited(form_field, limits) for form_field in _RESOURCES)
    return FormGroup("run", tuple(what)), FormGroup("resources", taken)


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
    has = f"this machine has {most:,}" if most else "this machine has none"
    return replace(
        form_field, help=f"{form_field.help} {has.capitalize()}.", maximum=most, too_much=has
    )


def _default_steps(algorithm: Algorithm) -> str:
    properties = algorithm.parameters.get("properties", {})
    default = properties.get(algorithm.steps_parameter or "", {}).get("default")
    return f"{default:,}" if isinstance(default, int) else ""
