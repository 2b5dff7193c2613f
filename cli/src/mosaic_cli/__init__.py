"""The verbs of `./mosaic` and the supervisor of the embedded stack."""
