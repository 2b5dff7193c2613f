"""Run states, queue, placement: the one service that decides what becomes of a run."""
