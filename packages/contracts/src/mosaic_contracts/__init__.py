"""What crosses a MOSAIC boundary: models, names, the wire codec. No I/O, no clock, no numpy."""

VERSION = "0.1.0"
