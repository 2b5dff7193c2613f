"""A person plays Gymnasium environments, as a MOSAIC worker."""

VERSION = "0.1.0"
