"""Q-learning on a transition table: the numbers, the loop, and what is kept of them."""
