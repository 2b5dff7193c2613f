"""CleanRL's own scripts, unmodified, as a MOSAIC worker."""
