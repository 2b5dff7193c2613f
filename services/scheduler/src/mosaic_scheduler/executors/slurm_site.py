"""What the cluster has and how its site has set it up: nodes, limits, and settings that matter to a run."""

import re
import time
from dataclasses import dataclass, field

from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.slurm_commands import SlurmCommands

_KNOWN_S = 300.0
"""So long an answer is good: nodes come and go in days."""
_SETTING = re.compile(r"^(\w+)\s*=\s*(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class SlurmNode:
    """The most that one node of the partition has, each on its own."""

    cpus: int = 1
    memory_mb: int = 0
    gpus: int = 0


@dataclass(frozen=True)
class SiteSettings:
    """`scontrol show config`, as far as it concerns a run."""

    values: dict[str, str] = field(default_factory=dict)

    @property
    def holds_memory(self) -> bool:
        """Whether a job is held to its memory."""
        return "cgroup" in self._text("TaskPlugin") and self._is("ConstrainRAMSpace", "yes")

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

    @property
    def ends_all(self) -> bool:
        """Whether no process of a job outlives it."""
        return "cgroup" in self._text("ProctrackType")

    def _text(self, name: str) -> str:
        return self.values.get(name, "")

    def _is(self, name: str, value: str) -> bool:
        return self._text(name).casefold() == value

    def _seconds(self, name: str) -> int:
        found = re.match(r"\d+", self._text(name))
        return int(found.group()) if found else 0


def parse_settings(text: str) -> SiteSettings:
    """The settings in what `scontrol show config` printed."""
    return SiteSettings({name: value.strip() for name, value in _SETTING.findall(text)})


def parse_nodes(text: str) -> SlurmNode:
    """The most of each in lines `cpus|memory|gres` of `sinfo`."""
    node = SlurmNode()
    for line in text.splitlines():
        cpus, memory, gres, *_ = [*line.split("|", 2), "", ""]
        node = SlurmNode(
            max(node.cpus, _number(cpus)),
            max(node.memory_mb, _number(memory)),
            max(node.gpus, _gpus(gres)),
        )
    return node


def _number(text: str) -> int:
    found = re.match(r"\d+", text.strip())
    return int(found.group()) if found else 0


def _gpus(gres: str) -> int:
    """GPUs in `gpu:a100:4(S:0-1),tmpdisk:100`."""
    entries = (re.sub(r"\(.*?\)", "", entry) for entry in re.split(r",(?![^(]*\))", gres))
    return sum(_number(e.rpartition(":")[2]) for e in entries if e.split(":")[0] == "gpu")


class SlurmSite:
    """Asks the cluster, rarely."""

    def __init__(self, commands: SlurmCommands, partition: str) -> None:
        self._commands = commands
        self._partition = partition
        self._node: tuple[float, SlurmNode] | None = None
        self._settings: SiteSettings | None = None

    @property
    def holds_memory(self) -> bool:
        """Whether jobs are held to their memory; False while the cluster was not asked."""
        return self._settings is not None and self._settings.holds_memory

    async def largest_node(self) -> SlurmNode:
        """The most that a node has. Raises EngineUnavailable, SlurmRefused."""
        now = time.monotonic()
        if self._node is None or now - self._node[0] > _KNOWN_S:
            try:
                node = await self._ask_for_nodes()
            except EngineUnavailable:
                if self._node is None:
                    raise
                node = self._node[
                    1
                ]  # the last answer: nodes are the same while the controller is away
            self._node = now, node
        return self._node[1]

    async def _ask_for_nodes(self) -> SlurmNode:
        await self.settings()
        where = [f"--partition={self._partition}"] if self._partition else []
        return parse_nodes(await self._commands.run("sinfo", "-h", "-e", "-o", "%c|%m|%G", *where))

    async def settings(self) -> SiteSettings:
        """The site's settings. Raises EngineUnavailable, SlurmRefused."""
        if self._settings is None:
            self._settings = parse_settings(await self._commands.run("scontrol", "show", "config"))
        return self._settings
