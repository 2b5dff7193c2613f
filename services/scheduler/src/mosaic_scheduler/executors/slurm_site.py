"""What the cluster has and how its site has set it up: nodes, limits, and settings that matter to a run."""

import asyncio
import re
import time
from dataclasses import dataclass, replace

from mosaic_base.own_machine import first_elsewhere
from mosaic_contracts.slurm_settings import (
    CONFIG_COMMAND,
    NODES_COMMAND,
    SlurmSettings,
    parse_settings,
)
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused

_KNOWN_S = 300.0
"""So long an answer is good: nodes come and go in days."""


@dataclass(frozen=True)
class SlurmNode:
    """The most that one node of the partition has, each on its own."""

    cpus: int = 1
    memory_mb: int = 0
    gpus: int = 0
    minutes: float | None = 0.0
    """The longest time limit of a job; None: there is none."""
    elsewhere: str = ""
    """A node that is not this machine; empty: none."""


def parse_nodes(text: str) -> SlurmNode:
    """The most of each in lines `cpus|memory|time limit|gres` of `sinfo`."""
    node = SlurmNode()
    for line in text.splitlines():
        cpus, memory, limit, gres, *_ = [*line.split("|", 3), "", "", ""]
        most = _minutes(limit)
        node = SlurmNode(
            max(node.cpus, _number(cpus)),
            max(node.memory_mb, _number(memory)),
            max(node.gpus, _gpus(gres)),
            None if most is None or node.minutes is None else max(node.minutes, most),
        )
    return node


def _minutes(limit: str) -> float | None:
    """Minutes of `3-12:00:00`, `12:00:00` or `30:00`; None: `infinite`, or no time."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit.strip())
    if found is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return days * 1440 + hours * 60 + minutes + seconds / 60


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
        self._settings: SlurmSettings | None = None

    @property
    def holds_memory(self) -> bool:
        """Whether jobs are held to their memory; False while the cluster was not asked."""
        return self._settings is not None and self._settings.holds_memory

    async def largest_node(self) -> SlurmNode:
        """The most that a node has. Raises EngineUnavailable."""
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
        node = parse_nodes(await self._ask("sinfo", "-h", "-e", "-o", "%c|%m|%l|%G", *where))
        addresses = (await self._ask(*NODES_COMMAND, *where)).split()
        elsewhere = await asyncio.to_thread(first_elsewhere, dict.fromkeys(addresses))
        return replace(node, elsewhere=elsewhere)

    async def settings(self) -> SlurmSettings:
        """The site's settings. Raises EngineUnavailable."""
        if self._settings is None:
            self._settings = parse_settings(await self._ask(*CONFIG_COMMAND))
        return self._settings

    async def _ask(self, *argv: str) -> str:
        """What a command printed. A refusal concerns no single run: nothing is known of the cluster then."""
        try:
            return await self._commands.run(*argv)
        except SlurmRefused as error:
            raise EngineUnavailable(f"Slurm does not say what it has: {error}") from error
