"""What every MOSAIC service shares: bus, settings, logging, health, credentials."""
