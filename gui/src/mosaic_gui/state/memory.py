"""What the client remembers without being told: the mode, and for each agent its way and both of its presets."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mosaic_gui.state.roster import AgentKey, Mode, Way


class AgentMemory(BaseModel):
    """One agent."""

    model_config = ConfigDict(extra="allow")

    way: Way = Way.NEW
    new: dict[str, Any] = Field(default_factory=dict)
    """The spec that was last put together for training."""
    trained: dict[str, Any] = Field(default_factory=dict)
    """Which checkpoint was chosen last, and how it was to act."""


class Memory(BaseModel):
    """Stored when the client ends."""

    model_config = ConfigDict(extra="allow")

    mode: Mode | None = None
    agents: dict[str, AgentMemory] = Field(default_factory=dict)

    def of(self, key: AgentKey) -> AgentMemory:
        """What is remembered of an agent; made where there is nothing yet."""
        return self.agents.setdefault("/".join(key), AgentMemory())
