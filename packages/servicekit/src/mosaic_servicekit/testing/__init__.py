"""A real nats-server for tests. `pytest_plugins = ["mosaic_servicekit.testing.fixtures"]` gives the fixtures."""

from mosaic_servicekit.testing.broker import TestBroker, find_nats_server, free_port

__all__ = ["TestBroker", "find_nats_server", "free_port"]
