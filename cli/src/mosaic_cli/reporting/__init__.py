"""Reports: runs as one HTML page that opens without a network (ADR 0036)."""
