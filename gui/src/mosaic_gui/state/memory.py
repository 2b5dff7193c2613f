"""What the client remembers by itself: the mode, each agent's way and presets, stacks, and consents."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mosaic_gui.state.agents import AgentKey, Mode, Way
from mosaic_gui.state.chart_page import ChartPage
from mosaic_gui.state.play_memory import PlayMemory

MOST_STACKS = 8


class AgentMemory(BaseModel):
    """One agent."""

    model_config = ConfigDict(extra="allow")

    way: Way = Way.NEW
    new: dict[str, Any] = Field(default_factory=dict)
    """The spec that was last put together for training."""
    trained: dict[str, Any] = Field(default_factory=dict)
    """Which checkpoint was chosen last, and how it was to act."""


class KnownStack(BaseModel):
    """A stack elsewhere. The client saves the path of its token file, never the token."""

    model_config = ConfigDict(frozen=True)

    url: str
    token_file: str = ""
    """Path of the token file; empty: the one of this machine's data root."""
    ca_file: str = ""


class Memory(BaseModel):
    """Stored when the client ends."""

    model_config = ConfigDict(extra="allow")

    mode: Mode | None = None
    agents: dict[str, AgentMemory] = Field(default_factory=dict)
    stacks: list[KnownStack] = Field(default_factory=list)
    """Stacks that were connected to, the newest first."""
    consents: list[str] = Field(default_factory=list)
    """Kinds of access, as `worker: need`, that are not asked for again."""
    found: list[str] = Field(default_factory=list)
    """What was chosen last in the palette, the newest first: names of entries."""
    watched: list[str] = Field(default_factory=list)
    """Ids of the runs that were watched last."""
    plays: dict[str, PlayMemory] = Field(default_factory=dict)
    """Plays by environment, the newest last."""
    charts: dict[str, ChartPage] = Field(default_factory=dict)
    """Arrangement of the charts of each page: `run` for one run, `compare` for several."""

    def of(self, key: AgentKey) -> AgentMemory:
        """The memory of an agent; a new one where there is none."""
        return self.agents.setdefault("/".join(key), AgentMemory())

    def use_stack(self, stack: KnownStack) -> None:
        """Put a stack at the front of the list, once."""
        others = [known for known in self.stacks if known.url != stack.url]
        self.stacks = [stack, *others][:MOST_STACKS]

    def forget_stack(self, url: str) -> None:
        """Remove a stack from the list."""
        self.stacks = [known for known in self.stacks if known.url != url]
