"""Files with the specification of a run or a group, as `run -f`, `POST /groups` and `show --json` have them."""

from pathlib import Path
from typing import Any

from mosaic_gui.state.language import tr
from mosaic_gui.state.sweep_file import read_yaml

_OF_GROUP = frozenset({"run", "seeds", "environments", "parameters", "name"})


def is_sweep(found: Any) -> bool:
    """Whether a file's content is the specification of a sweep, and not of a group."""
    if not isinstance(found, dict) or not isinstance(found.get("run"), dict):
        return False
    parameters = found.get("parameters")
    lists = parameters.values() if isinstance(parameters, dict) else ()
    return not (set(found) <= _OF_GROUP and all(isinstance(one, list) for one in lists))


def read_spec(path: Path) -> dict[str, Any]:
    """Read the specification of a run, or of a group with lists in place of values.

    Args:
        path: the file.

    Returns:
        A spec for the form.

    Raises:
        OSError: it cannot be read.
        ValueError: why it is no specification, in words for the user.
    """
    return spec_of(read_yaml(path))


def spec_of(found: Any) -> dict[str, Any]:
    """Read the specification of a run or a group from the content of a file. Raises ValueError: why it is none."""
    if isinstance(found, dict) and isinstance(found.get("spec"), dict):
        found = found["spec"]  # a run as `./mosaic show RUN --json` prints it
    if isinstance(found, dict) and isinstance(found.get("run"), dict):
        found = _of_group(found)
    if not isinstance(found, dict) or not found.get("worker") or not found.get("algorithm"):
        raise ValueError(tr("it names no worker and algorithm, as the specification of a run does"))
    if not isinstance(found.get("parameters", {}), dict):
        raise ValueError(tr("its parameters are no names with values"))
    return found


def _of_group(group: dict[str, Any]) -> dict[str, Any]:
    run = dict(group["run"])
    parameters = {**(run.get("parameters") or {}), **(group.get("parameters") or {})}
    found = {**run, "parameters": parameters}
    if group.get("seeds"):
        found["seed"] = list(group["seeds"])
    if group.get("environments"):
        found["environment"] = ", ".join(map(str, group["environments"]))
    return found
