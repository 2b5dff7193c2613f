"""Trains nothing."""

ANSWER = 42
