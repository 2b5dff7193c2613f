"""External trackers (W&B): their fields in the form, and their part of a spec."""

from typing import Any

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.tracking import WANDB, WANDB_SECRET, TrackingRole, is_offline
from mosaic_gui.state.form_field import FormField, FormGroup, Value
from mosaic_gui.state.language import tr

GROUP = "tracking"
ORDER = {role.value: n for n, role in enumerate(TrackingRole)}


def part_tracking(
    worker: WorkerEntry, groups: list[FormGroup]
) -> tuple[list[FormGroup], FormGroup | None]:
    """The groups without the fields of trackers, and those in a group of their own."""
    rest, found = [], list[FormField]()
    for group in groups:
        found += [f for f in group.fields if f.role in ORDER]
        others = tuple(f for f in group.fields if f.role not in ORDER)
        if others:
            rest.append(FormGroup(group.name, others, group.hindrance))
    if not found:
        return rest, None
    found.sort(key=lambda f: ORDER[f.role])
    return rest, FormGroup(GROUP, tuple(found), hindrance(worker))


def hindrance(worker: WorkerEntry) -> str:
    """Why runs of this worker cannot be tracked; empty when they can."""
    offered = worker.description.tracking if worker.description else []
    if WANDB in offered:
        return ""
    return tr(
        "{worker} does not offer W&B yet; curves, files and videos are kept by MOSAIC itself.",
        worker=worker.manifest.title,
    )


def write_tracking(spec: dict[str, Any], group: FormGroup | None) -> dict[str, Any]:
    """The spec with what tracking asks of it: the key as a secret's name, the way out; or with nothing of it.

    The key's value is in no spec: the stack keeps it and hands it to the run as a file.
    """
    if group is None:
        return spec
    given: dict[str, Value] = dict(spec.get("parameters", {}))
    names = {f.role: f.name for f in group.fields}
    is_on = not group.hindrance and bool(given.get(names.get(TrackingRole.TRACK, "")))
    if not is_on:
        return spec | {"parameters": {k: v for k, v in given.items() if k not in names.values()}}
    if is_offline(given, names):
        return spec
    return spec | {
        "secrets": [*spec.get("secrets", []), WANDB_SECRET],
        "internet": True,
    }
