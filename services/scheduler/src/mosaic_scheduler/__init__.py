"""Run states, queue, placement, preflight."""
