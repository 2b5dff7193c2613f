"""What is remembered of plays, for each environment: who acted last, how it was set, and the keys."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

PERSON, AGENT = "person", "agent"


class PlayMemory(BaseModel):
    """One environment."""

    model_config = ConfigDict(extra="allow")

    actor: str = PERSON
    """PERSON or AGENT."""
    run: str = ""
    """Run of the agent that acted last."""
    agent: dict[str, Any] = Field(default_factory=dict)
    """Its `checkpoint`, and fields of the spec of its play."""
    texts: dict[str, dict[str, str]] = Field(default_factory=dict)
    """What was typed into the form of a play by a person, by part."""
    keys: dict[str, str] = Field(default_factory=dict)
    """The user's key map as JSON, by the options that it was made for (as JSON; empty: none)."""

    def keys_for(self, options: str) -> str:
        """The key map for these options, else the newest one; empty: the default."""
        if options in self.keys:
            return self.keys[options]
        return next(reversed(self.keys.values()), "")

    def keep_keys(self, options: str, text: str) -> None:
        """Remember a key map as the newest; an empty one: the default is wanted."""
        self.keys.pop(options, None)
        self.keys[options] = text
