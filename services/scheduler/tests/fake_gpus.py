"""A machine with GPUs that are not there: `fake_gpus.py STATE` is a helper process.

It is the real helper but for the library below it. STATE is a JSON file that a test writes (`FakeMachine`), read at
each look. Workers that were given one of its devices hold memory on it for as long as they live, as they would.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # a script has its own folder on the path, and not the tests' root
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fake_nvml import GIB, FakeGpu, FakeNvml

from mosaic_scheduler.gpus.nvml import NvmlLooker, serve

WORKER = "mosaic_workerkit.testing.synthetic"


class FakeMachine:
    """What a test says of the GPUs; it may be changed at any time."""

    def __init__(self, path: Path, *gpus: str, **each: Any) -> None:
        self._path = path
        self.state: dict[str, Any] = {"gpus": {uuid: dict(each) for uuid in gpus}, "nvml": {}}
        self.write()

    @property
    def variable(self) -> str:
        """MOSAIC_GPU_HELPER."""
        return json.dumps([sys.executable, __file__, str(self._path)])

    def reset(self, *gpus: str) -> None:
        """Have exactly these GPUs, and a driver that works."""
        self.state = {"gpus": {uuid: {} for uuid in gpus}, "nvml": {}}
        self.write()

    def set(self, uuid: str, **changes: Any) -> None:
        """Change a GPU: fields of FakeGpu."""
        self.state["gpus"].setdefault(uuid, {}).update(changes)
        self.write()

    def remove(self, uuid: str) -> None:
        """Take a GPU away."""
        del self.state["gpus"][uuid]
        self.write()

    def driver(self, **changes: Any) -> None:
        """Change the driver: fields of FakeNvml."""
        self.state["nvml"].update(changes)
        self.write()

    def write(self) -> None:
        """Atomically, for it is read meanwhile."""
        temporary = self._path.with_suffix(".new")
        temporary.write_text(json.dumps(self.state))
        temporary.replace(self._path)


class _Stated(FakeNvml):
    """A library whose state is read from the file at the beginning of each look."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        state = json.loads(self._path.read_text())
        self.hangs = state["nvml"].get("hangs", False)
        visible = _visible_devices(self._path.parent)
        self.gpus = [_gpu(uuid, fields, visible) for uuid, fields in state["gpus"].items()]
        return super().nvmlDeviceGetCount()

    def nvmlInit(self) -> None:  # noqa: N802
        self.init_error = json.loads(self._path.read_text())["nvml"].get("init_error")
        super().nvmlInit()


def _gpu(uuid: str, fields: dict[str, Any], visible: dict[int, str]) -> FakeGpu:
    gpu = FakeGpu(uuid, **{name: value for name, value in fields.items() if name != "processes"})
    gpu.processes = [
        *fields.get("processes", []),
        *((pid, GIB // 2) for pid, devices in visible.items() if uuid in devices),
    ]
    return gpu


def _visible_devices(folder: Path) -> dict[int, str]:
    """What each worker sees, from its environment; but no run of tests that run at the same time elsewhere."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            argv = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if WORKER not in argv:
                continue
            environment = (entry / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        variables = dict(line.partition("=")[::2] for line in environment)
        if variables.get("MOSAIC_RUN_DIR", f"{folder}/").startswith(f"{folder}/"):
            found[int(entry.name)] = variables.get("CUDA_VISIBLE_DEVICES", "")
    return found


if __name__ == "__main__":
    serve(NvmlLooker(_Stated(Path(sys.argv[1]))), sys.stdin, sys.stdout)
