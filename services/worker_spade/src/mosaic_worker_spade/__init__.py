"""BDI agents that decide and Q-learning that learns, as a MOSAIC worker."""

VERSION = "0.1.0"
