"""Writes the recorded events of a run to files: JSON lines, or Parquet."""
