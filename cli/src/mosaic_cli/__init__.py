"""The verbs of ./mosaic and the embedded stack's supervisor."""
