"""How learning is set up: rates, and how exploration falls."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Numbers of Q-learning."""

    alpha: float = 0.1
    """Step size."""
    gamma: float = 0.99
    """Discount."""
    epsilon_start: float = 1.0
    """Share of random actions in the first episode."""
    epsilon_end: float = 0.01
    """It falls no lower."""
    epsilon_decay: float = 0.995
    """Factor from episode to episode."""

    def lowered(self, epsilon: float) -> float:
        """Epsilon of the next episode."""
        return max(self.epsilon_end, epsilon * self.epsilon_decay)
