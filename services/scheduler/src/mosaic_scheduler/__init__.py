"""Run states, queue, executors: the one service that decides what becomes of a run."""
