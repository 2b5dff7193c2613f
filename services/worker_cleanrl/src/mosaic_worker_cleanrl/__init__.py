"""CleanRL's own scripts, unmodified, as a MOSAIC worker."""

VERSION = "0.1.0"
