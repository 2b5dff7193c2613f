"""What every service shares: bus, settings, logging, lifecycle, credentials."""
