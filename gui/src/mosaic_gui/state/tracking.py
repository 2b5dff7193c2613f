"""External trackers (W&B): their fields in the form, and their part of a spec."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from mosaic_contracts.services import WorkerEntry
from mosaic_contracts.tracking import PROXY_ROLES, WANDB, WANDB_SECRET, TrackingRole, is_offline
from mosaic_gui.state.form_field import FieldKind, FormField, FormGroup, Value
from mosaic_gui.state.language import mark, tr, tr_mark

GROUP = "tracking"
ORDER = {role.value: n for n, role in enumerate(TrackingRole)}
OFF, OFFLINE, ONLINE = "off", "offline", "online"
_LABELS = {
    TrackingRole.TRACK: mark("mode"),
    TrackingRole.PROJECT: mark("project"),
    TrackingRole.ENTITY: mark("entity"),
    TrackingRole.GROUP: mark("group"),
    TrackingRole.NAME: mark("run name"),
    TrackingRole.TAGS: mark("tags"),
    TrackingRole.NOTES: mark("notes"),
    TrackingRole.REQUIRED: mark("required"),
    TrackingRole.BASE_URL: mark("server"),
    TrackingRole.HTTP_PROXY: mark("HTTP proxy"),
    TrackingRole.HTTPS_PROXY: mark("HTTPS proxy"),
}
"""Labels in the section of the tracker, which need not name it once more, as a worker's titles do."""
_MODES = (TrackingRole.MODE.value, TrackingRole.OFFLINE.value)
_ONLINE_ONLY = frozenset({TrackingRole.REQUIRED, TrackingRole.BASE_URL, *PROXY_ROLES})


@dataclass(frozen=True)
class TrackerForm:
    """Fields of a tracker. Whether it is off, offline or online is one field, whatever parameters the worker has."""

    group: FormGroup
    fields: Mapping[str, FormField]
    """The worker's own field of each role."""

    @property
    def mode_name(self) -> str:
        """Name of the field that says off, offline or online; empty: there is none."""
        track = self.fields.get(TrackingRole.TRACK)
        return track.name if track is not None else ""

    def unused(self, texts: Mapping[str, str]) -> frozenset[str]:
        """Names of fields without a meaning in the mode that was typed."""
        mode = self.mode_in(texts)
        others = (f for f in self.group.fields if f.role != TrackingRole.TRACK)
        if mode == OFF:
            return frozenset(f.name for f in others)
        return frozenset(f.name for f in others if mode == OFFLINE and f.role in _ONLINE_ONLY)

    def mode_in(self, texts: Mapping[str, str]) -> str:
        """The mode that was typed."""
        if self.group.hindrance or not self.mode_name:
            return OFF
        default = next(f.default for f in self.group.fields if f.name == self.mode_name)
        return texts.get(self.mode_name, str(default))

    def read(self, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Parameters of a run with the mode in place of those that steer it."""
        names = {role: f.name for role, f in self.fields.items()}
        rest = {k: v for k, v in parameters.items() if k not in (names.get(m) for m in _MODES)}
        if self.mode_name not in rest:
            return rest
        mode = OFFLINE if is_offline(parameters, names) else ONLINE
        return rest | {self.mode_name: mode if rest[self.mode_name] else OFF}

    def write(self, spec: dict[str, Any]) -> dict[str, Any]:
        """The spec with what tracking needs: the key as a secret's name, the internet; or with nothing of it.

        The key's value is in no spec: the stack keeps it and hands it to the run as a file.
        """
        given: dict[str, Value] = dict(spec.get("parameters", {}))
        texts = {self.mode_name: str(given[self.mode_name])} if self.mode_name in given else {}
        mode, unused = self.mode_in(texts), self.unused(texts)
        given = {k: v for k, v in given.items() if k not in unused and k != self.mode_name}
        if mode == OFF:
            is_default = not self.mode_name or not self.fields[TrackingRole.TRACK].default
            return spec | {"parameters": given if is_default else given | {self.mode_name: False}}
        written = spec | {"parameters": given | {self.mode_name: True} | self._steering(mode)}
        if mode == OFFLINE:
            return written
        return written | {
            "secrets": [*spec.get("secrets", []), WANDB_SECRET],
            "internet": True,
        }

    def _steering(self, mode: str) -> dict[str, Value]:
        """The worker's own parameter of the mode, unless its default is meant."""
        wanted: dict[str, Value] = {
            TrackingRole.MODE: mode,
            TrackingRole.OFFLINE: mode == OFFLINE,
        }
        found = (
            (self.fields[role], value) for role, value in wanted.items() if role in self.fields
        )
        return {f.name: value for f, value in found if f.default != value}


def part_tracking(
    worker: WorkerEntry, groups: list[FormGroup]
) -> tuple[list[FormGroup], TrackerForm | None]:
    """The groups without the fields of trackers, and those in a form of their own."""
    rest, found = [], list[FormField]()
    for group in groups:
        found += [f for f in group.fields if f.role in ORDER]
        others = tuple(f for f in group.fields if f.role not in ORDER)
        if others:
            rest.append(FormGroup(group.name, others, group.hindrance))
    if not found:
        return rest, None
    found.sort(key=lambda f: ORDER[f.role])
    fields = {f.role: f for f in found}
    shown = tuple(
        _mode_field(f, fields)
        if f.role == TrackingRole.TRACK
        else replace(f, label=tr_mark(_LABELS[TrackingRole(f.role)]))
        for f in found
        if f.role not in _MODES
    )
    return rest, TrackerForm(FormGroup(GROUP, shown, hindrance(worker)), fields)


def hindrance(worker: WorkerEntry) -> str:
    """Why runs of this worker cannot be tracked; empty when they can."""
    offered = worker.description.tracking if worker.description else []
    if WANDB in offered:
        return ""
    manifest = worker.manifest
    if WANDB in manifest.bundles and manifest.room:
        return tr(
            "{worker} has no W&B here; {command} adds it. Curves, files and videos are kept by MOSAIC itself.",
            worker=manifest.title,
            command=f"./mosaic sync {manifest.room} --bundle {WANDB}",  # unsaid: a command
        )
    return tr(
        "{worker} does not offer W&B yet; curves, files and videos are kept by MOSAIC itself.",
        worker=worker.manifest.title,
    )


def _mode_field(track: FormField, fields: Mapping[str, FormField]) -> FormField:
    """Off, offline or online, as one choice."""
    can_be_offline = any(role in fields for role in _MODES)
    names = {role: f.name for role, f in fields.items()}
    defaults = {f.name: f.default for f in fields.values()}
    mode = OFFLINE if is_offline(defaults, names) else ONLINE
    return replace(
        track,
        label=tr_mark(_LABELS[TrackingRole.TRACK]),
        kind=FieldKind.CHOICE,
        default=mode if track.default else OFF,
        choices=(OFF, OFFLINE, ONLINE) if can_be_offline else (OFF, ONLINE),
        help=tr(
            "online sends the run to W&B while it trains, offline writes W&B's files to send later"
        )
        if can_be_offline
        else tr("online sends the run to W&B while it trains"),
    )
