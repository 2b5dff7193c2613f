"""Comparisons of policies and of trainings: what is compared, its evaluations, and how the result is shown."""
