"""Files of sweeps as `./mosaic sweep` takes them: YAML, of which JSON is a part."""

from io import StringIO
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from mosaic_gui.state.language import tr

MOST_BYTES = 2 * 2**20


def read_sweep(path: Path) -> dict[str, Any]:
    """Read a file. Raises OSError: it cannot be read. Raises ValueError: why it is no specification of a sweep."""
    found = read_yaml(path)
    if not isinstance(found, dict) or not isinstance(found.get("run"), dict):
        raise ValueError(tr("it has no `run`, the specification of each trial's run"))
    if not isinstance(found.get("parameters"), dict):
        raise ValueError(tr("it has no `parameters`, which say what varies"))
    return found


def read_yaml(path: Path) -> Any:
    """Read a file of YAML or JSON. Raises OSError: it cannot be read. Raises ValueError: why it is none."""
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(tr("the file is too large for a specification"))
    try:
        return YAML(typ="safe", pure=True).load(path.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        line = _line(error)
        where = tr("line {n}: ", n=line) if line is not None else ""
        raise ValueError(where + tr("it is no YAML")) from error


def write_sweep(path: Path, spec: dict[str, Any]) -> None:
    """Write a file. Raises OSError: it cannot be written."""
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # its stubs say None
    text = StringIO()
    yaml.dump(spec, text)
    path.write_text(text.getvalue(), "utf-8")


def _line(error: Exception) -> int | None:
    mark = error.problem_mark if isinstance(error, MarkedYAMLError) else None
    return mark.line + 1 if mark is not None else None
