"""What the Slurm executor makes of commands that are refused or cannot be started; no Slurm is needed."""

from collections.abc import Callable

import pytest

from mosaic_contracts.slurm_settings import CONFIG_COMMAND
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.slurm_commands import SlurmCommands, SlurmRefused
from mosaic_scheduler.executors.slurm_site import SlurmNode, SlurmSite

CONFIG = "KillWait = 30 sec\nMinJobAge = 300 sec\n"


class FakeSlurm(SlurmCommands):
    """Answers as a test says, by the command's name."""

    def __init__(self) -> None:
        self.answers: dict[str, Callable[[], str]] = {
            "scontrol": lambda: CONFIG,
            "sinfo": lambda: "4|4000|(null)\n",
            "squeue": lambda: "",
            "scancel": lambda: "",
        }
        self.asked: list[tuple[str, ...]] = []

    async def run(self, *argv: str) -> str:
        """What the test says."""
        self.asked.append(argv)
        return self.answers[argv[0]]()

    def refuse(self, command: str, said: str) -> None:
        """From now on Slurm refuses this command."""

        def refused() -> str:
            raise SlurmRefused(f"{command}: {said}")

        self.answers[command] = refused

    def count(self, command: str) -> int:
        """How often this command was run."""
        return sum(argv[0] == command for argv in self.asked)


@pytest.mark.parametrize("command", ["sinfo", CONFIG_COMMAND[0]])
async def test_a_refused_question_for_the_nodes(command: str) -> None:
    """The engine does not answer then, as every pass expects it; the last answer holds."""
    slurm = FakeSlurm()
    slurm.refuse(command, "Invalid user id")
    site = SlurmSite(slurm, "")
    with pytest.raises(EngineUnavailable, match="does not say what it has: .*Invalid user id"):
        await site.largest_node()
    slurm.answers = FakeSlurm().answers
    assert await site.largest_node() == SlurmNode(4, 4000, 0)
