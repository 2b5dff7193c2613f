"""Sends ended runs to W&B, by runs of kind `sync`."""
