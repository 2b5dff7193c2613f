"""Settings of a Slurm site that matter to a run, as `scontrol show config` prints them."""

import re
from dataclasses import dataclass, field

CONFIG_COMMAND = ("scontrol", "show", "config")
"""The command that prints them."""
NODES_COMMAND = ("sinfo", "-h", "-N", "-o", "%o")
"""The command that prints the address of each node, one a line."""
_SETTING = re.compile(r"^(\w+)\s*=\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class SlurmSettings:
    """Settings by their names."""

    values: dict[str, str] = field(default_factory=dict)

    @property
    def holds_memory(self) -> bool:
        """Whether a job is held to its memory."""
        return "cgroup" in self._text("TaskPlugin") and self._is("ConstrainRAMSpace", "yes")

    @property
    def ends_all(self) -> bool:
        """Whether no process of a job outlives it."""
        return "cgroup" in self._text("ProctrackType")

    @property
    def kill_wait_s(self) -> int:
        """Seconds between Slurm's SIGTERM and SIGKILL."""
        return self._seconds("KillWait")

    @property
    def remembers_s(self) -> int:
        """Seconds for which Slurm knows a job that has ended."""
        return self._seconds("MinJobAge")

    @property
    def version(self) -> str:
        """Slurm's version."""
        return self._text("SLURM_VERSION")

    def _text(self, name: str) -> str:
        return self.values.get(name, "")

    def _is(self, name: str, value: str) -> bool:
        return self._text(name).casefold() == value

    def _seconds(self, name: str) -> int:
        found = re.match(r"\d+", self._text(name))
        return int(found.group()) if found else 0


def parse_settings(text: str) -> SlurmSettings:
    """Read what `CONFIG_COMMAND` printed.

    Args:
        text: its output.

    Returns:
        The settings; what it does not name is empty.
    """
    return SlurmSettings({name: value.strip() for name, value in _SETTING.findall(text)})
