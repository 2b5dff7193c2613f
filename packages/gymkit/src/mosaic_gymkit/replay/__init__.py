"""Rebuilding of recorded episodes: read the record, compare each step, draw on request."""
