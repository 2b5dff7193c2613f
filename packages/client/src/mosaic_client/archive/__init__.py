"""Archives of runs: one file with all that a stack has of them (docs/archive.md)."""
