"""Statistics, tables and pictures of comparisons."""
