"""Worlds with a transition table: which there are, how they lie on a grid, and the table itself."""
