"""AgentSpeak agents: their plans, how they reason, what they can do, and which events report it."""
