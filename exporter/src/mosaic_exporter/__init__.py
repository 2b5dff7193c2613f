"""Encodes episodes as videos and writes them as Minari datasets."""
