"""What crosses a MOSAIC boundary: models, names, the wire codec. No I/O."""
