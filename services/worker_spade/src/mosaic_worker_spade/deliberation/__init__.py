"""AgentSpeak agents: their plans, how they reason, what they can do, and what is told of it."""
